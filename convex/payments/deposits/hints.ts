import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalQuery, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { optional } from "../../lib/env";
import { charge } from "../../lib/limits/charges";
import { vCaller } from "../../lib/limits/callers";
import { formatUnits } from "../../lib/money/amounts";
import { nameTransaction, SPENT, startChecks, worthOf, type Check } from "./model";
import { depositsOf, hintOf } from "./rows";
import { vDepositAnswer } from "./validators";

/** Hints from webhooks, and their answers. */

/**
 * After this many rows and named logs, a look ends with its transaction, and so many unmatched transfers of one
 * transaction get a reason of their own. Each costs up to three questions, of the platform's 4,096 in a transaction.
 */
const ENOUGH = 400;

const UNMATCHED = "unmatched: it is credited once its sending address is linked";

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

/**
 * The state of the named transactions, with all their transfers: the same answer for the first call and for repeats.
 * `looked` is how many it goes into, the first ones: one transaction can hold very many transfers.
 */
export const stand = internalQuery({
  args: { hints: v.array(v.object({ txHash: v.string(), logIndexes: v.array(v.number()) })) },
  returns: v.object({ answer: vDepositAnswer, looked: v.number() }),
  handler: async (ctx, { hints }): Promise<{ answer: DepositAnswer; looked: number }> => {
    const answer: DepositAnswer = { unsettled: false, credited: [], pending: [], ignored: [] };
    let looked = 0;
    let read = 0;
    for (const { txHash, logIndexes } of hints) {
      if (read >= ENOUGH) break;
      read += await add(ctx, answer, txHash, logIndexes);
      looked++;
    }
    return { answer, looked };
  },
});

/** @returns How much was read or said. */
async function add(
  ctx: QueryCtx,
  answer: DepositAnswer,
  txHash: string,
  named: readonly number[],
): Promise<number> {
  const hint = await hintOf(ctx, txHash);
  if (hint?.state !== "settled") {
    answer.unsettled ||= hint?.state === "checking";
    answer.pending.push({ txHash });
    return 1;
  }
  if (hint.reason !== undefined) {
    answer.ignored.push({ txHash, reason: hint.reason });
    return 1;
  }
  const rows = await depositsOf(ctx, txHash);
  for (const [index, row] of rows.entries()) {
    const { logIndex, state, amount, credits = 0, reason = "" } = row;
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
          reason: index < ENOUGH ? await unmatchedReason(ctx, row) : UNMATCHED,
        });
        break;
      case "pending":
      case "reversed":
    }
  }
  for (const logIndex of named) {
    if (rows.some((row) => row.logIndex === logIndex && row.state !== "reversed")) continue;
    answer.ignored.push({ txHash, reason: `log ${logIndex} is not a USDC transfer to the platform wallet` });
  }
  return 1 + rows.length + named.length;
}

/** A report may have taken its price out of it, before or since. */
async function unmatchedReason(ctx: QueryCtx, row: Doc<"deposits">): Promise<string> {
  const { lessReport, credits } = await worthOf(ctx, row);
  if (!lessReport) return UNMATCHED;
  return credits === 0
    ? SPENT
    : "unmatched: the rest that no report has used is credited once its sending address is linked";
}
