import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalQuery, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { optional } from "../../lib/env";
import { charge } from "../../lib/limits/charges";
import { vCaller } from "../../lib/limits/callers";
import { formatUnits } from "../../lib/money/amounts";
import { depositsOf, hintOf, nameTransaction, SPENT, startChecks, worthOf, type Check } from "./model";
import { vDepositAnswer } from "./validators";

/** Hints from webhooks, and their answers. */

/**
 * Stores the transactions that a webhook names, and starts a check of all that are not settled. A settled one is
 * checked again if the chain is said to have dropped it, or if it has brought nothing.
 * @throws AppError `rate_limited` if a caller without signatures names too many new transactions: each costs a row and
 * questions to the chain.
 */
export const receive = change(
  { hints: v.array(v.object({ txHash: v.string(), removed: v.boolean() })), caller: vCaller },
  async (ctx, { hints, caller }) => {
    const checks: Check[] = [];
    let unheardOf = 0;
    for (const hint of hints) {
      const { isNew, check } = await nameTransaction(ctx, hint);
      if (isNew) unheardOf++;
      if (check !== null) checks.push(check);
    }
    if (unheardOf > 0 && optional("DEPOSIT_WEBHOOK_SECRET") === undefined) {
      await charge(ctx, "newDeposit", caller, unheardOf);
    }
    await startChecks(ctx, checks, 0);
  },
);

/** `unsettled`: some of the checks are running. */
export type DepositAnswer = Infer<typeof vDepositAnswer>;

/** The state of the named transactions, with all their transfers: the same answer for the first call and for repeats. */
export const stand = internalQuery({
  args: { hints: v.array(v.object({ txHash: v.string(), logIndex: v.optional(v.number()) })) },
  returns: vDepositAnswer,
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
  for (const row of rows) {
    const { logIndex, state, amount, credits = 0, reason = "" } = row;
    switch (state) {
      case "credited":
        answer.credited.push({ txHash, logIndex, amountUsdc: formatUnits(BigInt(amount), 6), credits });
        break;
      case "ignored":
        answer.ignored.push({ txHash, reason });
        break;
      case "unmatched":
        answer.ignored.push({ txHash, reason: await unmatchedReason(ctx, row) });
        break;
      case "pending":
      case "reversed":
    }
  }
  for (const logIndex of named) {
    if (rows.some((row) => row.logIndex === logIndex && row.state !== "reversed")) continue;
    answer.ignored.push({ txHash, reason: `log ${logIndex} is not a USDC transfer to the platform wallet` });
  }
}

/** A report may have taken its price out of it, before or since. */
async function unmatchedReason(ctx: QueryCtx, row: Doc<"deposits">): Promise<string> {
  const { lessReport, credits } = await worthOf(ctx, row);
  if (!lessReport) return "unmatched: it is credited once its sending address is linked";
  return credits === 0
    ? SPENT
    : "unmatched: the rest that no report has used is credited once its sending address is linked";
}
