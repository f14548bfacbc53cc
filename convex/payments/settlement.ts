import { v } from "convex/values";
import { internal } from "../_generated/api";
import { type ActionCtx } from "../_generated/server";
import type { Id } from "../_generated/dataModel";
import { deadlines } from "../lib/deadlines";
import { required, setting } from "../lib/env";
import { AppError, failureOf, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { providerAction } from "../lib/providerCalls";
import { sleep } from "../lib/time";
import { broadcast, standing } from "../providers/chainTransactions";
import { settleByFacilitator } from "../providers/facilitator";
import { authorizationCall, findAuthorizationUse, readAuthorization, readPayment } from "../providers/usdc";
import { asAddress, asHex } from "../wallets/addresses";
import { nonceAfter } from "../wallets/machine";
import { signedAuthorization, tryAuthorization, type Feasible } from "./authorizations";
import { paidResource, requirementOne } from "./challenge";
import type { Settlement } from "./paidTables";
import type { Authorization } from "./proofs";
import { openRelayer, relayerAddress } from "./relayer";
import { hashesOf, impossibleNonce, mendRelayer } from "./relaying";
import { repriced } from "./repricing";
import type { SettlementTask } from "./settlements";
import { CHAIN_ID, NETWORK, refusal, UNPAID_USE, type Refusal } from "./terms";
import type { Transfer } from "./transfers";

/** Carrying out signed payments. Every step is safe to repeat: the same bytes, and the same authorization, pay once. */

/** Between two looks for a receipt. */
const PAUSE_MS = 300;
/** Before a facilitator that is ahead of the chain's RPC is asked again. */
const FACILITATOR_PAUSE_MS = 2_000;
/** A transaction that is not mined is held against the chain's fees every so many looks. */
const LOOKS_PER_PRICING = 10;
/** More payments than are ever signed at the same moment. */
const MAX_NONCES = 200;

type Work = { claimId: Id<"paymentClaims">; attempt: number };
/** How one round ended: the payment's transaction is being looked for again, or the claim has left this state. */
type Round = "again" | "ended";

/** Carries a claim's payment out from where it stands, until the chain has decided or the deadline has passed. */
export const settle = providerAction({
  args: { claimId: v.id("paymentClaims"), attempt: v.number() },
  returns: v.null(),
  handler: async (ctx, work) => {
    const deadline = AbortSignal.timeout(deadlines.transaction);
    try {
      for (let look = 0; ; look++) {
        const task = await ctx.runQuery(internal.payments.settlements.task, work);
        if (task === null) return null;
        const round =
          task.settlement === null
            ? await handIn(ctx, work, task)
            : await follow(ctx, work, task, task.settlement, look % LOOKS_PER_PRICING === 0);
        if (round === "ended") return null;
        if (deadline.aborted) {
          throw new AppError("upstream", "The payment is still being settled: send the same proof again");
        }
        await sleep(PAUSE_MS);
      }
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null)
        log.error("payments.unexpected", { claimId: work.claimId, message: messageOf(error) });
      const code =
        failure?.code === "upstream" || failure?.code === "not_configured" ? failure.code : "internal";
      const message = failure?.message ?? "The payment could not be settled: send the same proof again";
      await ctx.runMutation(internal.payments.settlements.fail, { ...work, code, message });
    }
    return null;
  },
});

/** Nothing is signed yet: checks once more, stores the bytes, and only then shows them to the chain. */
async function handIn(ctx: ActionCtx, work: Work, task: SettlementTask): Promise<Round> {
  const { authorization, dropped } = task;
  const relayer = relayerAddress();
  const feasible = await tryAuthorization(authorization, relayer);
  if (feasible.kind === "used") return recover(ctx, work, task, "not seen");
  if (feasible.kind === "refused") {
    // Bytes that were handed out and given up may have paid all the same, where this node has not looked yet.
    if (dropped) await believe(ctx, work);
    await ctx.runMutation(internal.payments.settlements.refuse, { ...work, refused: feasible });
    return "ended";
  }
  if (relayer === null) return handOver(ctx, work, task);
  const raw = await signAndStore(ctx, work, authorization, feasible);
  if (raw !== null) report(work, await broadcast(raw));
  return "again";
}

/** Without a relayer a facilitator carries the payment out; only what the chain says of that counts. */
async function handOver(ctx: ActionCtx, work: Work, task: SettlementTask): Promise<Round> {
  const { authorization } = task;
  const { signature, ...terms } = authorization;
  const payload = { signature, authorization: terms };
  const payment = { x402Version: 1, scheme: "exact", network: NETWORK, payload };
  const done = await settleByFacilitator(payment, requirementOne(paidResource()));
  const { from, nonce } = signedAuthorization(authorization);
  if ((await readAuthorization(from, nonce)).used) return recover(ctx, work, task, "not seen");
  if (!done) {
    throw new AppError(
      "upstream",
      "The payment facilitator did not carry out the payment: nothing was moved yet",
    );
  }
  await sleep(FACILITATOR_PAUSE_MS);
  return "again";
}

/** Signs with the next nonce until that nonce is this payment's; `null` when somebody else carries it out. */
async function signAndStore(
  ctx: ActionCtx,
  work: Work,
  authorization: Authorization,
  { preparation, gas }: Extract<Feasible, { kind: "feasible" }>,
) {
  const relayer = openRelayer();
  for (let turn = 0; turn < MAX_NONCES; turn++) {
    const { address } = relayer;
    const { mined } = preparation;
    const next = await ctx.runQuery(internal.payments.relayerNonces.next, { relayer: address });
    const nonce = nonceAfter(mined, next);
    if (nonce === null) throw impossibleNonce();
    // What was mined and is not any more would hold up all that comes behind it.
    if (mined < nonce) await mendRelayer(ctx, { relayer: address, mined, only: "ended" });
    const { rawTransaction, txHash } = await relayer.sign({
      type: "eip1559",
      chainId: CHAIN_ID,
      nonce,
      gas,
      ...preparation.fees,
      ...authorizationCall(signedAuthorization(authorization)),
    });
    const settlement = { relayer: relayer.address, nonce, rawTransaction, txHash };
    const outcome = await ctx.runMutation(internal.payments.settlements.store, { ...work, settlement });
    if (outcome === "stored") return rawTransaction;
    if (outcome === "overtaken") return null;
  }
  throw new AppError("upstream", "Too many payments are being settled: send the same proof again");
}

/** The bytes are stored: asks the chain what became of them, and hands them out again where it has never seen them. */
async function follow(
  ctx: ActionCtx,
  work: Work,
  task: SettlementTask,
  settlement: Settlement,
  pricing: boolean,
): Promise<Round> {
  const { authorization, doubted } = task;
  const { relayer, nonce, rawTransaction } = settlement;
  const now = await standing(asAddress(relayer), nonce, hashesOf(settlement));
  if (now.kind === "replaced") return suspect(ctx, work, settlement);
  if (doubted) await ctx.runMutation(internal.payments.settlements.trust, work);
  if (now.kind === "mined") {
    if (now.succeeded) return accept(ctx, work, authorization, now.hash);
    const { from, nonce: used } = signedAuthorization(authorization);
    const { codeHash } = await readAuthorization(from, used);
    const failure = { txHash: now.hash, payer: authorization.from, codeHash };
    await ctx.runMutation(internal.payments.failures.record, failure);
    return recover(ctx, work, task, "failed");
  }
  // What waits behind a missing nonce is never mined, however often it is handed out.
  if (pricing && now.mined < nonce) await mendRelayer(ctx, { relayer, mined: now.mined });
  const outbids = pricing && (await outbid(ctx, work, settlement));
  if (now.kind === "missing" && !outbids) report(work, await broadcast(asHex(rawTransaction)));
  return "again";
}

/** Hands the same call out with higher fees, when the chain's have grown beyond it. @returns Whether it did. */
async function outbid(ctx: ActionCtx, work: Work, settlement: Settlement): Promise<boolean> {
  const signed = await repriced(settlement);
  if (signed === null) return false;
  const { txHash: outpriced } = settlement;
  // Stored first, like all signed bytes: what was mined is always known by one of the claim's hashes.
  if (!(await ctx.runMutation(internal.payments.settlements.replace, { ...work, outpriced, ...signed }))) {
    return true;
  }
  log.warn("payments.settlement repriced", { claimId: work.claimId });
  report(work, await broadcast(signed.rawTransaction));
  return true;
}

/** The nonce is used up: by somebody else's transaction, if the chain goes on saying so. */
async function suspect(ctx: ActionCtx, work: Work, settlement: Settlement): Promise<Round> {
  // Asked a second time once it has been the answer for long enough: that node may have been behind as well.
  const { relayer, nonce } = settlement;
  if (
    (await ctx.runMutation(internal.payments.settlements.doubt, { ...work, answer: "replacedSince" })) &&
    (await standing(asAddress(relayer), nonce, hashesOf(settlement))).kind === "replaced"
  ) {
    await ctx.runMutation(internal.payments.settlements.drop, work);
  }
  return "again";
}

function report({ claimId }: Work, outcome: Awaited<ReturnType<typeof broadcast>>): void {
  if (outcome.kind === "refused")
    log.error("payments.settlement refused", { claimId, reason: outcome.reason });
}

/**
 * The authorization was used, perhaps by a stranger: a payment all the same, if it is one.
 * @param own What became of this service's own transaction, as far as the chain has shown it.
 */
async function recover(
  ctx: ActionCtx,
  work: Work,
  { authorization, createdAt }: SettlementTask,
  own: "failed" | "not seen",
): Promise<Round> {
  const { from, nonce } = signedAuthorization(authorization);
  const txHash = await findAuthorizationUse(from, nonce, { sinceMs: createdAt });
  if (txHash !== null) return accept(ctx, work, authorization, txHash);
  const feasible = await tryAuthorization(authorization, relayerAddress());
  if (feasible.kind === "used" || own === "not seen") await believe(ctx, work);
  await ctx.runMutation(internal.payments.settlements.refuse, { ...work, refused: whyUnpaid(feasible) });
  return "ended";
}

/**
 * Lets a payment be refused whose authorization may have been used where this node has not looked yet.
 * @throws AppError `upstream` until that has been the answer for long enough: the lease takes the payment up again.
 */
async function believe(ctx: ActionCtx, work: Work): Promise<void> {
  if (await ctx.runMutation(internal.payments.settlements.doubt, { ...work, answer: "unlocatedSince" }))
    return;
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
      // Trying again at once would let a payer's contract burn the relayer's gas in a loop.
      return refusal("transaction_failed", "The payment was mined and has failed: nothing was moved");
  }
}

/** Reads the payment out of its transaction, once it is deep enough. */
async function accept(
  ctx: ActionCtx,
  work: Work,
  authorization: Authorization,
  txHash: string,
): Promise<Round> {
  const payment = await readPayment(asHex(txHash));
  // A node that is behind, or a block that was replaced in between: the next look tells.
  if (payment.kind === "missing" || !payment.succeeded) return "again";
  if (payment.confirmations < Number(setting("CONFIRMATIONS"))) return "again";
  const candidates = transfersFor(payment.transfers, authorization, txHash);
  if (candidates.length === 0) {
    const refused = refusal("no_matching_transfer", "The authorization was used without paying this service");
    await ctx.runMutation(internal.payments.settlements.refuse, { ...work, refused });
  } else {
    await ctx.runMutation(internal.payments.settlements.paid, { ...work, candidates });
  }
  return "ended";
}

/** The transfers of a transaction that may be an authorization's. */
export function transfersFor(
  transfers: readonly { position: number; from: string; to: string; value: bigint }[],
  { from, value }: Authorization,
  txHash: string,
): Transfer[] {
  const payTo = required("PLATFORM_WALLET_ADDRESS").toLowerCase();
  return transfers
    .filter((one) => one.from === from && one.to === payTo && one.value === BigInt(value))
    .map(({ position }) => ({ txHash, position, from, amount: value }));
}
