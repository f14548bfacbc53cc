import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Id, Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type ActionCtx } from "../../_generated/server";
import { deadlines } from "../../lib/deadlines";
import { messageOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { counted } from "../../lib/providerCalls";
import { createPauses, sleep } from "../../lib/time";
import { standing } from "../../providers/chainTransactions";
import { valueOf } from "../holdings";
import { assertMayMoveNow } from "../../users/access";
import { asAddress } from "../addresses";
import { limitsApply } from "../policies";
import { vSource } from "../tables";
import { serve, type Term } from "./driver";
import { openTransaction, takeTerm, byId, openedWith, hashesOf } from "./model";
import { endingOf } from "./receipt";
import { isOpen, NOT_SENT } from "./states";
import { vRequest, vTransaction, type TransactionRequest } from "./tables";

/** What callers order: opened, seen through to its end, and looked up. */

/**
 * `openTransaction` as a function, for actions. The caller drives the wallet itself where nobody does: were it to wait for
 * a scheduled driver, as many callers as the platform runs actions would leave that driver no place.
 * @returns `driver`: the caller's term (`settle` takes it); `null` where another driver is at work.
 * @throws AppError `unauthorized` or `forbidden` when the userId is a signed-in user's and the caller is not, besides
 * what `openTransaction` throws.
 */
export const open = internalMutation({
  args: {
    userId: v.string(),
    walletId: v.string(),
    request: vRequest,
    source: vSource,
    idempotencyKey: v.optional(v.string()),
    /** Digits, micro-USD; absent when no price is known. */
    valueMicroUsd: v.optional(v.string()),
  },
  returns: v.object({ transactionId: v.id("transactions"), driver: v.union(v.number(), v.null()) }),
  handler: async (ctx, { valueMicroUsd, ...order }) => {
    // Other sources have shown in their own way whose order it is, and carry no token.
    if (order.source === "web") await assertMayMoveNow(ctx, order.userId);
    const value = valueMicroUsd === undefined ? null : BigInt(valueMicroUsd);
    let driver: number | null = null;
    const transactionId = await openTransaction(ctx, { ...order, value }, async (_, wallet, now) => {
      driver = await takeTerm(ctx, wallet, now);
    });
    return { transactionId, driver };
  },
});

/** A transaction as its caller and the follow-up see it. */
export const view = internalQuery({
  args: { transactionId: v.id("transactions") },
  returns: vTransaction,
  handler: (ctx, { transactionId }) => byId(ctx, transactionId),
});

/** A user's transaction by its hash, or `null`. */
export const byHash = internalQuery({
  args: { userId: v.string(), txHash: v.string() },
  returns: v.union(vTransaction, v.null()),
  handler: (ctx, { userId, txHash }) =>
    ctx.db
      .query("transactions")
      .withIndex("by_userId_and_txHash", (q) => q.eq("userId", userId).eq("txHash", txHash))
      .first(),
});

/** Whether a user's idempotency key was used before: then nothing new will be moved. */
export const isRepeat = internalQuery({
  args: { userId: v.string(), idempotencyKey: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { userId, idempotencyKey }) =>
    (await openedWith(ctx, userId, idempotencyKey)) !== null,
});

/** Between two looks at a row. */
const ROW_PAUSE_MS = 100;
/** Before a question about the receipt: a block may be near, or seconds away. */
const RECEIPT_PAUSES_MS = [50, 150, 450];
const LONGEST_RECEIPT_PAUSE_MS = 500;

type WebOrder = {
  userId: string;
  walletId: string;
  /** The wallet's. */
  address: string;
  request: Extract<TransactionRequest, { kind: "send" | "swap" }>;
  idempotencyKey: string | undefined;
  requestId: string;
  /** By `performance.now`. */
  startedAt: number;
};

/**
 * Opens what an HTTP request has ordered, and sees it through. For actions.
 * @throws AppError what `open` throws.
 */
export async function seeThrough(ctx: ActionCtx, order: WebOrder): Promise<Doc<"transactions">> {
  const { userId, walletId, request, idempotencyKey, requestId, startedAt } = order;
  const valueMicroUsd = await valueForLimits(ctx, order);
  const { transactionId, driver } = await ctx.runMutation(internal.wallets.transactions.orders.open, {
    userId,
    walletId,
    request,
    source: "web",
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(valueMicroUsd === null ? {} : { valueMicroUsd }),
  });
  log.info("wallets.opened", { requestId, transactionId });
  const waitMs = Math.max(1, Math.round(deadlines.transaction - (performance.now() - startedAt)));
  return settle(ctx, transactionId, waitMs, driver === null ? undefined : { walletId, driver });
}

/** What the transfer is worth, when a limit asks for it. */
async function valueForLimits(
  ctx: ActionCtx,
  { request, address, userId, idempotencyKey }: WebOrder,
): Promise<string | null> {
  if (!limitsApply(userId)) return null;
  // A repeat moves nothing new, and its outcome must not depend on a price.
  if (idempotencyKey !== undefined) {
    const { isRepeat } = internal.wallets.transactions.orders;
    if (await ctx.runQuery(isRepeat, { userId, idempotencyKey })) return null;
  }
  const token = request.kind === "send" ? request.token : request.fromToken;
  return valueOf(ctx, { token, amount: request.amount, address });
}

/**
 * Sees a transaction through on its caller's behalf: to its hash, and a little longer for its receipt. What is not even
 * signed by the deadline is dropped, so that the caller's answer is final. For actions.
 * @param waitMs What is left of the caller's patience, in ms of real time.
 * @param term The caller's own as the wallet's driver; without one, another driver does the work.
 */
export const settle = counted(
  async (
    ctx,
    transactionId: Id<"transactions">,
    waitMs: number,
    term?: Term,
  ): Promise<Doc<"transactions">> => {
    const deadline = AbortSignal.timeout(waitMs);
    const look = () => ctx.runQuery(internal.wallets.transactions.orders.view, { transactionId });
    const pause = createPauses(ROW_PAUSE_MS);
    const served = term === undefined || (await within(deadline, drive(ctx, term, transactionId))) === true;
    let row = await look();
    while ((row.state === "prepared" || row.state === "signed") && !deadline.aborted) {
      await pause();
      row = await look();
    }
    if (row.state === "prepared") {
      await ctx.runMutation(internal.wallets.transactions.outcome.advance, {
        transactionId,
        to: "failed",
        onlyFrom: "prepared",
        error: NOT_SENT,
        errorCode: "upstream",
      });
      row = await look();
    }
    if (!served) await ctx.runMutation(internal.wallets.transactions.driver.endTerm, term);
    const receipt = AbortSignal.timeout(deadlines.receipt);
    for (let looks = 0; isOpen(row.state) && !deadline.aborted && !receipt.aborted; looks++) {
      await sleep(RECEIPT_PAUSES_MS[looks] ?? LONGEST_RECEIPT_PAUSE_MS);
      const seen = await within(deadline, receiptOf(row));
      if (seen !== null) {
        await ctx.runMutation(internal.wallets.transactions.outcome.advance, { transactionId, ...seen });
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
async function receiptOf(row: Doc<"transactions">) {
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
