import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError, getErrorData, getErrorMessage } from "../lib/errors";
import { deadlines } from "../platform/outside/deadlines";
import { MINUTE, sleep } from "../lib/time";
import { defineWorker } from "../platform/worker";
import { listIncoming } from "../providers/chain/blocks";
import { NotKnownYet } from "../providers/chain/rpc";
import { settleByFacilitator } from "../providers/facilitator";
import { findOutage } from "../providers/models/gateway";
import { readTransaction } from "../providers/chain/transactions";
import { buildAuthorizationCall, findAuthorizationUse, readAuthorization } from "../providers/chain/usdc";
import { researchFocus } from "../research/actions";
import { isTooShort } from "../research/writing/result";
import { getServiceAddress } from "../wallets/custody/signatures";
import { progress } from "../wallets/orders/execution";
import { isEnded } from "../wallets/orders/model";
import { buildRequirements } from "./challenge";
import { tryAuthorization } from "./authorizations";
import { vPurchase } from "./claims";
import { lookUpPayment as lookUp } from "./redemption";
import type { ClaimWork, SettlementTask } from "./progress";
import type { PaymentAuthorization } from "./tables";
import { buildRefusal, EXPIRED, UNPAID_USE, type Refusal } from "./terms";
import { hasReverted } from "../wallets/model";

/**
 * The work of a claim: settling its signed payment, and writing its report. Every step is idempotent: the same signed
 * transaction, and the same authorization, pay once.
 */

/** Pause between two look-ups of a receipt. */
const PAUSE_MS = 300;
/** How long the transaction of a used authorization is searched before the claim is refused. */
const SEARCH_MS = 10 * MINUTE;
/** The result of a step: poll again, leave because the claim is decided, or ask the facilitator. */
type Round = "again" | "ended" | "handed over";

/** The look-up that goes on after its caller was answered. */
export const lookUpProof = defineWorker(vPurchase, async (ctx, { job: _job, ...given }) => {
  await lookUp(ctx, given);
  return "over";
});

/** Settles a claim's payment from its current state, until the chain has decided or the deadline has passed. */
export const settlePayment = defineWorker({ claimId: v.id("paymentClaims") }, async (ctx, work) => {
  const deadline = AbortSignal.timeout(deadlines.transaction);
  let trouble = UNSETTLED;
  let isAsked = false;
  for (;;) {
    const task = await ctx.runQuery(internal.payments.progress.getTask, work);
    if (task === null) return "over";
    try {
      const round = await step(ctx, work, task);
      if (round === "ended") return;
      // Once an attempt.
      if (round === "handed over" && !isAsked) {
        isAsked = true;
        await askFacilitator(ctx, task.authorization);
      }
    } catch (error) {
      // Once money may have moved, a failure of a node or the facilitator does not end the wait.
      const mayHavePaid = task.settlement !== null || task.handedOver || error instanceof NotKnownYet;
      if (getErrorData(error)?.code !== "upstream" || !mayHavePaid) throw error;
      trouble = getErrorMessage(error);
    }
    if (deadline.aborted) throw new AppError("upstream", trouble);
    await sleep(PAUSE_MS);
  }
});

const UNSETTLED = "The payment is still being settled";

async function step(ctx: ActionCtx, work: ClaimWork, task: SettlementTask): Promise<Round> {
  const { authorization, settlement } = task;
  const order = settlement === null || isEnded(settlement) ? settlement : await progress(ctx, settlement._id);
  if (order !== null) {
    if (order.state === "failed" && order.errorCode === "paused")
      throw new AppError("internal", `The payment relayer signs nothing. ${order.error}`);
    if (!isEnded(order) || (order.state === "failed" && !hasReverted(order))) return "again";
    if (order.state === "confirmed" && order.txHash !== undefined)
      return accept(ctx, work, authorization, order.txHash);
  }
  const { used, at } = await readAuthorization(authorization);
  if (used) return locate(ctx, work, task);
  const isOver = at >= BigInt(authorization.validBefore);
  if (order !== null) {
    // A third party may have executed the authorization first, which a lagging node does not show yet (ponder #1189).
    const isFresh = Date.now() - (order.endedAt ?? 0) < deadlines.lag;
    return isFresh ? "again" : refuse(ctx, work, isOver ? EXPIRED : FAILED);
  }
  if (task.handedOver && isOver) return refuse(ctx, work, EXPIRED);
  const feasible = await tryAuthorization(authorization);
  if (feasible.kind === "used") return locate(ctx, work, task);
  if (feasible.kind === "refused") {
    // The facilitator may still execute a payment that the chain refuses at this moment.
    return task.handedOver ? "again" : refuse(ctx, work, feasible);
  }
  const relayer = getServiceAddress("relayer");
  const { to, data } = buildAuthorizationCall(authorization);
  const call = relayer === null ? null : { relayer, to, data };
  if (!(await ctx.runMutation(internal.payments.progress.handOver, { ...work, call }))) return "ended";
  return relayer === null ? "handed over" : "again";
}

const FAILED = buildRefusal(
  "transaction_failed",
  "The payment was mined and failed: nothing was moved. Fund the wallet and sign a new payment",
);

async function refuse(ctx: ActionCtx, work: ClaimWork, refused: Refusal): Promise<Round> {
  await ctx.runMutation(internal.payments.progress.refuse, { ...work, refused });
  return "ended";
}

/** Asks the facilitator to execute a payment. Its answer is a hint; the chain decides. */
async function askFacilitator(ctx: ActionCtx, authorization: PaymentAuthorization): Promise<void> {
  const { signature, ...terms } = authorization;
  const [answer] = await Promise.allSettled([
    settleByFacilitator(ctx, { signature, authorization: terms }, buildRequirements()),
  ]);
  if (answer.status === "fulfilled" && answer.value) return;
  // The payment may be executed whatever the facilitator answers, and even without an answer.
  if ((await readAuthorization(authorization)).used) return;
  if (answer.status === "rejected") throw answer.reason;
  throw new AppError("upstream", "The payment facilitator did not execute the payment");
}

/** Finds the transaction that used the authorization, whoever sent it. */
async function locate(
  ctx: ActionCtx,
  work: ClaimWork,
  { authorization, createdAt }: SettlementTask,
): Promise<Round> {
  const txHash = await findAuthorizationUse(authorization, createdAt);
  if (txHash !== null) return accept(ctx, work, authorization, txHash);
  // The node with the nonce may be ahead of the node with the logs.
  return Date.now() - createdAt > SEARCH_MS ? refuse(ctx, work, UNPAID_USE) : "again";
}

/** Records the payment from its mined transaction. */
async function accept(
  ctx: ActionCtx,
  work: ClaimWork,
  authorization: PaymentAuthorization,
  txHash: string,
): Promise<Round> {
  const payment = await readTransaction(txHash);
  // The node lags, or a reorganisation is under way: the next look-up decides.
  if (payment.kind !== "mined" || !payment.succeeded) return "again";
  const { from, value } = authorization;
  const transfers = listIncoming(payment.transfers, authorization.to)
    .filter((one) => one.from === from && one.amount === BigInt(value))
    .map(({ position }) => ({ txHash, position, from, amount: value }));
  if (transfers.length === 0) return refuse(ctx, work, UNPAID_USE);
  await ctx.runMutation(internal.payments.progress.storePaid, { ...work, transfers });
  return "ended";
}

/** Writes the report of a paid claim, never from the cache. After a failure the claim stays paid. */
export const writeReport = defineWorker(
  { claimId: v.id("paymentClaims"), focus: v.string() },
  async (ctx, given) => {
    const { focus, ...work } = given;
    const outage = await findOutage(ctx);
    if (outage !== null)
      return void (await ctx.runMutation(internal.payments.progress.deferReport, { ...work, outage }));
    // Slow is fine: a caller that timed out repeats the same proof.
    const { result, model } = await researchFocus(ctx, focus, "paid");
    if (isTooShort(result)) throw new AppError("upstream", "The LLM gateway wrote too short a report");
    await ctx.runMutation(internal.payments.progress.deliverReport, { ...work, result, model });
  },
);
