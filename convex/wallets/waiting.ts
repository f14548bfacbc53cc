import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/deadlines";
import { messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { counted } from "../lib/providerCalls";
import { createPauses, sleep } from "../lib/time";
import { standing } from "../providers/chainTransactions";
import { asAddress } from "./addresses";
import { serve, type Term } from "./driver";
import { endingOf } from "./endings";
import { isOpen } from "./machine";
import { hashesOf, type View } from "./rows";
import { NOT_SENT } from "./transactions";

/** Between two looks at a row. */
const ROW_PAUSE_MS = 100;
/** Before a question about the receipt: a block may be near, or seconds away. */
const RECEIPT_PAUSES_MS = [50, 150, 450];
const LONGEST_RECEIPT_PAUSE_MS = 500;

/**
 * Sees a transaction through on its caller's behalf: to its hash, and a little longer for its receipt. What is not even
 * signed by the deadline is dropped, so that the caller's answer is final. For actions.
 * @param waitMs What is left of the caller's patience, in ms of real time.
 * @param term The caller's own as the wallet's driver; without one, another driver does the work.
 */
export const settle = counted(
  async (ctx, transactionId: Id<"transactions">, waitMs: number, term?: Term): Promise<View> => {
    const deadline = AbortSignal.timeout(waitMs);
    const look = () => ctx.runQuery(internal.wallets.transactions.view, { transactionId });
    const pause = createPauses(ROW_PAUSE_MS);
    const served = term === undefined || (await within(deadline, drive(ctx, term, transactionId))) === true;
    let row = await look();
    while ((row.state === "prepared" || row.state === "signed") && !deadline.aborted) {
      await pause();
      row = await look();
    }
    if (row.state === "prepared") {
      await ctx.runMutation(internal.wallets.transactions.advance, {
        transactionId,
        to: "failed",
        onlyFrom: "prepared",
        error: NOT_SENT,
        errorCode: "upstream",
      });
      row = await look();
    }
    if (!served) await ctx.runMutation(internal.wallets.transactions.endTerm, term);
    const receipt = AbortSignal.timeout(deadlines.receipt);
    for (let looks = 0; isOpen(row.state) && !deadline.aborted && !receipt.aborted; looks++) {
      await sleep(RECEIPT_PAUSES_MS[looks] ?? LONGEST_RECEIPT_PAUSE_MS);
      const seen = await within(deadline, receiptOf(row));
      if (seen !== null) {
        await ctx.runMutation(internal.wallets.transactions.advance, { transactionId, ...seen });
        return look();
      }
      row = await look();
    }
    return row;
  },
);

/** Does the driver's work. @returns Whether it is done. */
async function drive(ctx: ActionCtx, term: Term, transactionId: Id<"transactions">): Promise<boolean> {
  try {
    await serve(ctx, term, transactionId);
    return true;
  } catch (error) {
    log.error("wallets.driver failed", { transactionId, message: messageOf(error) });
    return false;
  }
}

/** What the chain says has become of a transaction, when it has been mined. Looks only: the rest is the follow-up's. */
async function receiptOf(row: View) {
  const { address, nonce, _id } = row;
  if (nonce === undefined) return null;
  try {
    const now = await standing(asAddress(address), nonce, hashesOf(row));
    if (now.kind !== "mined") return null;
    return await endingOf(row, now);
  } catch (error) {
    // The caller has its hash; the follow-up asks again when the chain answers.
    log.warn("wallets.receipt unknown", { transactionId: _id, error: messageOf(error) });
    return null;
  }
}

/** A promise's value, or `null` when the deadline comes first. */
async function within<Value>(deadline: AbortSignal, promise: Promise<Value>): Promise<Value | null> {
  let end: () => void = () => undefined;
  const late = new Promise<null>((resolve) => (end = () => resolve(null)));
  deadline.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([promise, late]);
  } finally {
    // Every look at a slow chain would leave one behind.
    deadline.removeEventListener("abort", end);
  }
}
