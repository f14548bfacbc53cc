import { v } from "convex/values";
import type { Address } from "viem";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import { deadlines } from "../../lib/outside/deadlines";
import { AppError } from "../../lib/errors";
import { sleep } from "../../lib/time";
import { worker } from "../../lib/work/desk";
import { settleByFacilitator } from "../../providers/facilitator";
import {
  authorizationCall,
  findAuthorizationUse,
  readAuthorization,
  readPayment,
} from "../../providers/chain/usdc";
import { asHex } from "../../wallets/addresses";
import { serviceAddress } from "../../wallets/custody/signatures";
import { follow } from "../../wallets/transactions/progress/followUp";
import { handOut, signForService } from "../../wallets/transactions/progress/signatures";
import { isOpen, isReverted } from "../../wallets/transactions/states";
import { NETWORK, refusal, UNPAID_USE, type Refusal } from "../terms";
import { isConfirmed } from "../transfers";
import { signedAuthorization, transfersFor, tryAuthorization, type Feasible } from "./proofs/authorizations";
import { paidResource, requirementOne } from "./challenge";
import type { ClaimWork } from "./model";
import type { Task } from "./progress";
import type { Authorization } from "./tables";

/** Executes signed payments. Every step is safe to repeat: the same bytes, and the same authorization, pay once. */

/** Pause between two lookups of a receipt. */
const PAUSE_MS = 300;
/** Pause before a facilitator that is ahead of the chain's RPC is asked again. */
const FACILITATOR_PAUSE_MS = 2_000;
/** An unmined transaction is compared with the chain's fees, and gaps before it are mended, once in this many lookups. */
const LOOKS_PER_MENDING = 10;
/** More payments than are ever signed at the same moment. */
const MAX_NONCES = 200;

type Ready = Extract<Feasible, { kind: "feasible" }>;
/** How one round ended: the payment's transaction is looked up again, or the claim has left this state. */
type Round = "again" | "ended";

/** Executes a claim's payment from its current state, until the chain has decided or the deadline has passed. */
export const settle = worker({ claimId: v.id("paymentClaims") }, async (ctx, work) => {
  const deadline = AbortSignal.timeout(deadlines.transaction);
  for (let look = 0; ; look++) {
    const task = await ctx.runQuery(internal.payments.reports.progress.task, work);
    if (task === null) return "over";
    const round =
      task.settlement === null
        ? await handIn(ctx, work, task)
        : await pursue(ctx, work, task, task.settlement, look % LOOKS_PER_MENDING === 0);
    if (round === "ended") return;
    if (deadline.aborted) {
      throw new AppError("upstream", "The payment is still being settled: send the same proof again");
    }
    await sleep(PAUSE_MS);
  }
});

/** Nothing is signed yet: checks once more, stores the bytes, and only then sends them to the chain. */
async function handIn(ctx: ActionCtx, work: ClaimWork, task: Task): Promise<Round> {
  const { authorization, dropped, handedOver } = task;
  const relayer = serviceAddress("relayer");
  const feasible = await tryAuthorization(authorization, relayer);
  if (feasible.kind === "used") return recover(ctx, work, task, "not seen");
  if (feasible.kind === "refused") {
    // Bytes that were sent and given up, or an authorization that a facilitator has, may still have paid where this
    // node has not looked yet.
    if (dropped || handedOver) await believe(ctx, work);
    await ctx.runMutation(internal.payments.reports.progress.refuse, { ...work, refused: feasible });
    return "ended";
  }
  if (relayer === null) return handOver(ctx, work, task);
  await signAndHandOut(ctx, work, { authorization, relayer, feasible });
  return "again";
}

/** Without a relayer a facilitator executes the payment; only the chain's answer counts. */
async function handOver(ctx: ActionCtx, work: ClaimWork, task: Task): Promise<Round> {
  const { authorization } = task;
  const { signature, ...terms } = authorization;
  const payload = { signature, authorization: terms };
  if (!(await ctx.runMutation(internal.payments.reports.progress.handOver, work))) return "ended";
  const payment = { x402Version: 1, scheme: "exact", network: NETWORK, payload };
  const done = await settleByFacilitator(payment, requirementOne(paidResource()));
  const { from, nonce } = signedAuthorization(authorization);
  if ((await readAuthorization(from, nonce)).used) return recover(ctx, work, task, "not seen");
  if (!done) {
    throw new AppError(
      "upstream",
      "The payment facilitator did not execute the payment: nothing was moved yet",
    );
  }
  await sleep(FACILITATOR_PAUSE_MS);
  return "again";
}

/** Signs with the next nonce until that nonce is this payment's, and sends the bytes. */
async function signAndHandOut(
  ctx: ActionCtx,
  work: ClaimWork,
  { authorization, relayer, feasible }: { authorization: Authorization; relayer: Address; feasible: Ready },
): Promise<void> {
  const { preparation, gas } = feasible;
  const call = authorizationCall(signedAuthorization(authorization));
  for (let turn = 0; turn < MAX_NONCES; turn++) {
    const signed = await signForService(ctx, "relayer", { address: relayer, preparation, gas, call });
    const stored = await ctx.runMutation(internal.payments.reports.relayer.store, {
      ...work,
      relayer,
      signed,
    });
    if (stored === "overtaken") return;
    if (stored !== "taken") return void (await handOut(ctx, { _id: stored, ...signed }));
  }
  throw new AppError("upstream", "Too many payments are being settled: send the same proof again");
}

/** The relayer's transaction is open, or has ended: asks the chain about it, and acts on the outcome. */
async function pursue(
  ctx: ActionCtx,
  work: ClaimWork,
  task: Task,
  settlement: Doc<"transactions">,
  mends: boolean,
): Promise<Round> {
  const transactionId = settlement._id;
  if (isOpen(settlement.state)) await follow(ctx, transactionId, { mends });
  const row = await ctx.runQuery(internal.wallets.transactions.orders.view, { transactionId });
  const txHash = row.minedAs ?? row.txHash;
  if (isOpen(row.state) || txHash === undefined) return "again";
  const { authorization } = task;
  if (row.state === "confirmed") {
    const round = await accept(ctx, work, authorization, txHash);
    // Its block may have been dropped since.
    if (round === "again" && mends) await follow(ctx, transactionId, { mends });
    return round;
  }
  // One that never took effect is executed again.
  if (!isReverted(row)) return "again";
  const { from, nonce } = signedAuthorization(authorization);
  const { codeHash } = await readAuthorization(from, nonce);
  await ctx.runMutation(internal.payments.reports.relayer.record, {
    txHash,
    payer: authorization.from,
    codeHash,
  });
  return recover(ctx, work, task, "failed");
}

/**
 * The authorization was used, perhaps by a stranger: it counts if it has paid this service.
 * @param own The outcome of this service's own transaction, as far as the chain has shown it.
 */
async function recover(
  ctx: ActionCtx,
  work: ClaimWork,
  { authorization, createdAt }: Task,
  own: "failed" | "not seen",
): Promise<Round> {
  const { from, nonce } = signedAuthorization(authorization);
  const txHash = await findAuthorizationUse(from, nonce, { sinceMs: createdAt });
  if (txHash !== null) return accept(ctx, work, authorization, txHash);
  const feasible = await tryAuthorization(authorization, serviceAddress("relayer"));
  if (feasible.kind === "used" || own === "not seen") await believe(ctx, work);
  await ctx.runMutation(internal.payments.reports.progress.refuse, { ...work, refused: whyUnpaid(feasible) });
  return "ended";
}

/**
 * Lets a payment be refused whose authorization may have been used where this node has not looked yet.
 * @throws AppError `upstream` until this answer has lasted long enough: the lease resumes the payment.
 */
async function believe(ctx: ActionCtx, work: ClaimWork): Promise<void> {
  if (await ctx.runMutation(internal.payments.reports.progress.doubt, work)) return;
  throw new AppError(
    "upstream",
    "The chain does not show yet whether this payment was made: send the same proof again",
  );
}

/** Why an authorization whose use cannot be found has paid nothing. */
function whyUnpaid(feasible: Feasible): Refusal {
  switch (feasible.kind) {
    case "refused":
      return feasible;
    case "used":
      return UNPAID_USE;
    case "feasible":
      // Trying again immediately would let a payer's contract burn the relayer's gas in a loop.
      return refusal("transaction_failed", "The payment was mined and failed: nothing was moved");
  }
}

/** Finds the payment in its transaction, once it has enough confirmations. */
async function accept(
  ctx: ActionCtx,
  work: ClaimWork,
  authorization: Authorization,
  txHash: string,
): Promise<Round> {
  const payment = await readPayment(asHex(txHash));
  // A node lags, or a block was replaced in between: the next lookup decides.
  if (payment.kind === "missing" || !payment.succeeded) return "again";
  if (!isConfirmed(payment)) return "again";
  const candidates = transfersFor(payment.transfers, authorization, txHash);
  if (candidates.length === 0) {
    const refused = refusal("no_matching_transfer", "The authorization was used without paying this service");
    await ctx.runMutation(internal.payments.reports.progress.refuse, { ...work, refused });
  } else {
    await ctx.runMutation(internal.payments.reports.progress.paid, { ...work, candidates });
  }
  return "ended";
}
