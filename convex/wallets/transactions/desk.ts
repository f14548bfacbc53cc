import { parseTransaction } from "viem";
import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import type { Stay } from "../../lib/limits/crowd";
import { deadlines } from "../../lib/outside/deadlines";
import { messageOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { formatUnits } from "../../lib/money/amounts";
import { counted } from "../../lib/outside/providerCalls";
import { createPauses, sleep, within } from "../../lib/time";
import { minedOf } from "../../providers/chain/transactions";
import { asHex } from "../addresses";
import { valueOf } from "../holdings";
import { serve } from "./driver";
import { hashesOf } from "./bytes";
import type { Next, Term } from "./progress/queue";
import { endingOf } from "./progress/receipt";
import type { Step } from "./progress/signatures";
import { isOpen, NOT_SENT } from "./states";
import type { TransactionRequest } from "./tables";

/** Brings callers' orders to their end. */

/** Pause between two reads of a row. */
const ROW_PAUSE_MS = 100;
/** Pauses before questions about the receipt: a block may be near, or seconds away. */
const RECEIPT_PAUSES_MS = [50, 150, 450];
const LONGEST_RECEIPT_PAUSE_MS = 500;

type WebOrder = {
  userId: string;
  walletId: string;
  request: Extract<TransactionRequest, { kind: "send" | "swap" }>;
  idempotencyKey: string | undefined;
  isRepeat: boolean;
  isLimited: boolean;
  /** The caller's network address. */
  address: string | null;
  /** The hash of the caller's API key. */
  keyHash: string | undefined;
  requestId: string;
  /** By `performance.now`. */
  startedAt: number;
};

/** Opens the order of an HTTP request and waits for its outcome. For actions. @throws AppError what `open` throws. */
export const seeThrough = counted(async (ctx, order: WebOrder): Promise<Doc<"transactions">> => {
  const { userId, walletId, request, idempotencyKey, address, keyHash, requestId, startedAt } = order;
  const valueMicroUsd = await valueForLimits(order);
  const { transactionId, term } = await ctx.runMutation(internal.wallets.transactions.orders.open, {
    userId,
    walletId,
    request,
    source: "web",
    address,
    ...(keyHash === undefined ? {} : { keyHash }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(valueMicroUsd === null ? {} : { valueMicroUsd }),
  });
  log.info("wallets.opened", { requestId, transactionId });
  const waitMs = Math.max(1, Math.round(deadlines.transaction - (performance.now() - startedAt)));
  return settle(ctx, transactionId, waitMs, term === null ? undefined : { walletId, ...term });
});

/** The most that the network may take for a signed transaction's gas, in ETH; `null` if nothing is signed. */
export function mostFeeOf({ rawTransaction }: Doc<"transactions">): string | null {
  if (rawTransaction === undefined) return null;
  const { gas = 0n, maxFeePerGas = 0n } = parseTransaction(asHex(rawTransaction));
  return formatUnits(gas * maxFeePerGas, 18);
}

/** The value of a transfer, if a limit needs it. */
async function valueForLimits({ request, isLimited, isRepeat }: WebOrder): Promise<string | null> {
  // A repeat moves nothing new, and its outcome must not depend on a price.
  if (!isLimited || isRepeat) return null;
  const token = request.kind === "send" ? request.token : request.fromToken;
  return valueOf({ token, amount: request.amount });
}

/**
 * Waits for a transaction on its caller's behalf: for its hash, and a little longer for its receipt. A transaction that
 * is not signed by the deadline is dropped, so that the caller's answer is final. For actions.
 * @param waitMs The rest of the caller's patience, in ms of real time.
 * @param term The caller's own term as the wallet's driver, with its first piece of work; without one, another driver
 * does the work.
 * @param drops `false` for orders that an owner has approved: they continue after the deadline.
 * @param stay Renews the caller's place at each look.
 */
export const settle = counted(
  async (
    ctx,
    transactionId: Id<"transactions">,
    waitMs: number,
    term?: Term & { first: Next },
    { drops = true, stay = () => Promise.resolve() }: { drops?: boolean; stay?: Stay } = {},
  ): Promise<Doc<"transactions">> => {
    const deadline = AbortSignal.timeout(waitMs);
    const look = () => ctx.runQuery(internal.wallets.transactions.orders.view, { transactionId });
    const advance = (step: Step) =>
      ctx.runMutation(internal.wallets.transactions.progress.outcome.advance, { transactionId, ...step });
    const pause = createPauses(ROW_PAUSE_MS);
    const driven = term === undefined ? null : await within(deadline, drive(ctx, term, transactionId));
    const endTerm = async () => {
      if (term === undefined || driven !== null) return;
      const { walletId, driver } = term;
      await ctx.runMutation(internal.wallets.transactions.progress.queue.endTerm, { walletId, driver });
    };
    // A failed driver is replaced immediately; a late one only when nothing can be signed any more.
    if (!deadline.aborted) await endTerm();
    let row = driven?.own ?? (await look());
    while ((row.state === "prepared" || row.state === "signed") && !deadline.aborted) {
      await Promise.all([pause(), stay()]);
      row = await look();
    }
    if (row.state === "prepared" && drops) {
      row = await advance({ to: "failed", onlyFrom: "prepared", error: NOT_SENT, errorCode: "upstream" });
    }
    await endTerm();
    const receipt = AbortSignal.timeout(deadlines.receipt);
    for (let looks = 0; isOpen(row.state) && !deadline.aborted && !receipt.aborted; looks++) {
      await Promise.all([sleep(RECEIPT_PAUSES_MS[looks] ?? LONGEST_RECEIPT_PAUSE_MS), stay()]);
      const seen = await within(deadline, receiptOf(row));
      row = seen === null ? await look() : await advance(seen);
      if (seen !== null) return row;
    }
    return row;
  },
);

/** Does the driver's work. @returns `null` if it failed, otherwise the caller's own transaction. */
async function drive(
  ctx: ActionCtx,
  { walletId, driver, first }: Term & { first: Next },
  own: Id<"transactions">,
): Promise<Pick<Next, "own"> | null> {
  try {
    return { own: await serve(ctx, { walletId, driver, own }, first) };
  } catch (error) {
    log.error("wallets.driver failed", { transactionId: own, message: messageOf(error) });
    return null;
  }
}

/** The outcome of a mined transaction, by the chain. Only reads; the follow-up does the rest. */
async function receiptOf(row: Doc<"transactions">) {
  try {
    const mined = await minedOf(hashesOf(row));
    return mined === null ? null : await endingOf(row, mined);
  } catch (error) {
    // The caller has its hash; the follow-up asks again when the chain answers.
    log.warn("wallets.receipt unknown", { transactionId: row._id, error: messageOf(error) });
    return null;
  }
}
