import { walletOf } from "../../wallets/model";
import { walletCard } from "../cards";
import type { Command } from "./command";

/** The bot's commands about a user's wallet. */

export const walletCommands: readonly Command[] = [
  {
    name: "wallet",
    summary: "Your wallet's address",
    access: "linked",
    run: async (ctx, { userId }) => ({ answer: walletCard(await walletOf(ctx, userId, "custody")) }),
  },
  {
    name: "portfolio",
    summary: "What your wallet holds, at live prices",
    access: "linked",
    // It ends in a picture, which cannot take the place of a notice.
    run: (_ctx, { userId }) => ({ answer: [], later: { kind: "portfolio", userId } }),
  },
];
