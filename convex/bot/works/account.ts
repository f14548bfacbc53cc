import { createFunctionHandle } from "convex/server";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { failureOf } from "../../lib/errors";
import type { Paragraph } from "../../messenger/format";
import { chatUser } from "../../messenger/model";
import { pseudonymOf } from "../../lib/security/pseudonyms";
import { portfolioOf } from "../../wallets/holdings";
import { ensureWallet } from "../../wallets/model";
import { linkedCard, notice, portfolioCard } from "../cards";
import { connectAccount } from "../links";
import type { Sender } from "../tables";
import { answerOf, type Workers } from "./work";

/** The bot's work on a user's account and wallet. */

export const accountWorkers: Workers<"connect" | "portfolio"> = {
  connect: async (ctx, { sender, work: { codeHash, then = "" } }) => ({
    ...answerOf(await connect(ctx, sender, codeHash)),
    ...(then === "" ? {} : { buttons: [[{ text: `Go on: /${then}`, command: then }]] }),
  }),
  portfolio: async (ctx, { work: { userId } }) => {
    const owned = { userId, kind: "custody" as const };
    const { address } = await ensureWallet(ctx, owned);
    const portfolio = await portfolioOf(ctx, address);
    const holdings = portfolio.balances
      .flatMap(({ token, valueUsd }) => (valueUsd === null || valueUsd === 0 ? [] : [{ token, valueUsd }]))
      .toSorted((a, b) => b.valueUsd - a.valueUsd);
    const card = answerOf(portfolioCard({ address, ...portfolio }));
    if (holdings.length === 0) return card;
    const handle = await createFunctionHandle(internal.pictures.desk.portfolio);
    const subject = JSON.stringify({ at: Date.now(), totalUsd: portfolio.totalValueUsd, holdings });
    return { ...card, picture: { handle, subject } };
  },
};

async function connect(ctx: ActionCtx, sender: Sender, codeHash: string): Promise<readonly Paragraph[]> {
  const { messengerId, messengerUsername } = sender;
  try {
    const account = { codeHash, messengerId, messengerUsername, by: "account" as const };
    const { userId, walletAddress } = await connectAccount(ctx, account, null);
    await ctx.runMutation(internal.alerts.proposals.adopt, { from: chatUser(messengerId), to: userId });
    return linkedCard({ account: pseudonymOf(userId), walletAddress });
  } catch (error) {
    if (failureOf(error)?.code !== "rate_limited") throw error;
    return notice("Too many codes were tried. Wait a minute, then try again.");
  }
}
