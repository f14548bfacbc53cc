import { v, type Infer } from "convex/values";
import { internalQuery, type QueryCtx } from "../_generated/server";
import { formatUnits } from "../lib/money";
import { depositsOf } from "./depositModel";
import { hintOf } from "./depositHints";

/** What a webhook's caller is told. */

const vAnswer = v.object({
  /** Some of it is being asked at this moment. */
  unsettled: v.boolean(),
  /** `amountUsdc` is an exact decimal of the transfer, `credits` whole credits. */
  credited: v.array(
    v.object({ txHash: v.string(), logIndex: v.number(), amountUsdc: v.string(), credits: v.number() }),
  ),
  pending: v.array(v.object({ txHash: v.string() })),
  ignored: v.array(v.object({ txHash: v.string(), reason: v.string() })),
});
export type DepositAnswer = Infer<typeof vAnswer>;

/**
 * How the named transactions stand, with all their transfers: the same answer for who names them first and for who
 * repeats it.
 */
export const stand = internalQuery({
  args: { hints: v.array(v.object({ txHash: v.string(), logIndex: v.optional(v.number()) })) },
  returns: vAnswer,
  handler: async (ctx, { hints }): Promise<DepositAnswer> => {
    const answer: DepositAnswer = { unsettled: false, credited: [], pending: [], ignored: [] };
    for (const txHash of new Set(hints.map((hint) => hint.txHash))) {
      const named = hints.flatMap((hint) =>
        hint.txHash === txHash && hint.logIndex !== undefined ? [hint.logIndex] : [],
      );
      await add(ctx, answer, txHash, named);
    }
    return answer;
  },
});

async function add(ctx: QueryCtx, answer: DepositAnswer, txHash: string, named: readonly number[]) {
  const hint = await hintOf(ctx, txHash);
  if (hint?.state !== "settled") {
    answer.unsettled ||= hint?.state === "checking";
    answer.pending.push({ txHash });
    return;
  }
  if (hint.reason !== undefined) {
    answer.ignored.push({ txHash, reason: hint.reason });
    return;
  }
  const rows = await depositsOf(ctx, txHash);
  for (const { logIndex, state, amount, credits = 0, reason = "" } of rows) {
    switch (state) {
      case "credited":
        answer.credited.push({ txHash, logIndex, amountUsdc: formatUnits(BigInt(amount), 6), credits });
        break;
      case "ignored":
        answer.ignored.push({ txHash, reason });
        break;
      case "unmatched":
        answer.ignored.push({
          txHash,
          reason: "unmatched: it is credited once its sending address is linked",
        });
        break;
      case "pending":
      case "reversed":
    }
  }
  for (const logIndex of named) {
    if (rows.some((row) => row.logIndex === logIndex && row.state !== "reversed")) continue;
    answer.ignored.push({ txHash, reason: `log ${logIndex} is no USDC transfer to the platform wallet` });
  }
}
