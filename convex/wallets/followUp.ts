import { v } from "convex/values";
import { internal } from "../_generated/api";
import { providerAction } from "../lib/providerCalls";
import { standing } from "../providers/chainTransactions";
import { asAddress, asHex } from "./addresses";
import { endingOf } from "./endings";
import { isOpen } from "./machine";
import { handOut } from "./steps";

/**
 * Asks the chain what became of a signed transaction. One that is neither mined nor pending is handed out again: the
 * same bytes, never new ones.
 */
export const check = providerAction({
  args: { transactionId: v.id("transactions") },
  returns: v.null(),
  handler: async (ctx, { transactionId }) => {
    const row = await ctx.runQuery(internal.wallets.transactions.view, { transactionId });
    if (!isOpen(row.state) || row.nonce === undefined || row.rawTransaction === undefined) return null;
    const { nonce, rawTransaction } = row;
    const ask = () => standing(asAddress(row.address), nonce, asHex(rawTransaction));
    const now = await ask();
    const advance = (to: "failed" | "broadcast", error?: string) =>
      ctx.runMutation(internal.wallets.transactions.advance, {
        transactionId,
        to,
        ...(error === undefined ? {} : { error, errorCode: "upstream" as const }),
      });
    switch (now.kind) {
      case "mined":
        await ctx.runMutation(internal.wallets.transactions.advance, {
          transactionId,
          ...(await endingOf(row, now)),
        });
        break;
      case "replaced":
        if (
          (await ctx.runMutation(internal.wallets.transactions.suspectReplaced, { transactionId })) &&
          (await ask()).kind === "replaced"
        ) {
          await advance("failed", "Another transaction took this one's place");
        }
        break;
      case "pending":
        await advance("broadcast");
        break;
      case "missing":
        await handOut(ctx, row);
    }
    return null;
  },
});
