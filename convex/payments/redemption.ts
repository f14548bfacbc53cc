import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { type ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/deadlines";
import { required } from "../lib/env";
import { providerAction } from "../lib/providerCalls";
import { HOUR, SECOND, sleep } from "../lib/time";
import { timeoutFailure } from "../providers/call";
import { UPSTREAM } from "../providers/chain";
import { findAuthorizationUse, readPayment } from "../providers/usdc";
import { asHex } from "../wallets/addresses";
import { vResult } from "../research/tables";
import { refusalOfTerms, signedAuthorization, tryAuthorization } from "./authorizations";
import { settlesAuthorizations } from "./challenge";
import { vRefusal, type ClaimTicket } from "./claimRows";
import type { Standing } from "./claims";
import { candidatesOf } from "./hashProofs";
import { vOrder, vProof, vTroubleCode, type Order } from "./paidTables";
import type { Authorization, Proof } from "./proofs";
import { relayerAddress } from "./relayer";
import { transfersFor } from "./settlement";
import { refusal, UNPAID_USE, type Refusal } from "./terms";

/** Redeeming a proof for a report: check it, claim it, wait for what it has bought. */

const ROW_PAUSE_MS = 150;

const vReceipt = v.union(v.object({ txHash: v.string(), payer: v.string() }), v.null());

const vRedeemed = v.union(
  v.object({ kind: v.literal("delivered"), result: vResult, receipt: vReceipt }),
  /** The caller's money is safe: the same proof is to be sent again. */
  v.object({ kind: v.literal("failed"), code: vTroubleCode, message: v.string(), receipt: vReceipt }),
  vRefusal,
);
export type Redeemed = Infer<typeof vRedeemed>;

/**
 * Redeems a proof for an order, once; the same proof and order again join the work, or get the same report for an hour.
 * @throws AppError `upstream` when the chain cannot be asked; nothing is claimed then.
 */
export const redeem = providerAction({
  args: { proof: vProof, order: vOrder },
  returns: vRedeemed,
  handler: async (ctx, { proof, order }): Promise<Redeemed> => {
    const deadline = AbortSignal.timeout(deadlines.caller);
    const key =
      proof.kind === "hash"
        ? { kind: proof.kind, txHash: proof.txHash }
        : { kind: proof.kind, from: proof.authorization.from, nonce: proof.authorization.nonce };
    const claimed: ClaimTicket | Refusal =
      (await ctx.runMutation(internal.payments.claims.rejoin, { proof: key, order })) ??
      (await beforeDeadline(claim(ctx, proof, order), deadline));
    if (claimed.kind === "refused") return claimed;
    return waitFor(ctx, claimed, order, deadline);
  },
});

/** A slow chain holds no caller beyond the deadline; a claim made behind it is joined by the next request. */
async function beforeDeadline<Value>(work: Promise<Value>, deadline: AbortSignal): Promise<Value> {
  const late = new Promise<never>((_resolve, reject) => {
    const give = () => reject(timeoutFailure(UPSTREAM));
    deadline.addEventListener("abort", give, { once: true });
  });
  return Promise.race([work, late]);
}

async function claim(ctx: ActionCtx, proof: Proof, order: Order): Promise<ClaimTicket | Refusal> {
  if (proof.kind === "authorization") return claimAuthorization(ctx, proof.authorization, order);
  const found = await candidatesOf(proof, order);
  if (found.kind === "refused") return found;
  const { candidates } = found;
  return ctx.runMutation(internal.payments.claims.claimTransfer, { candidates, order });
}

async function claimAuthorization(
  ctx: ActionCtx,
  authorization: Authorization,
  order: Order,
): Promise<ClaimTicket | Refusal> {
  if (!settlesAuthorizations()) {
    return refusal(
      "unsupported_scheme",
      "This service carries out no signed payments: pay first and send the transaction's hash",
    );
  }
  const now = BigInt(Math.floor(Date.now() / SECOND));
  const refused = refusalOfTerms(authorization, required("PLATFORM_WALLET_ADDRESS"), now);
  if (refused !== null) return refused;
  const feasible = await tryAuthorization(authorization, relayerAddress());
  if (feasible.kind === "refused") return feasible;
  if (feasible.kind === "used") return claimUsed(ctx, authorization, order);
  return ctx.runMutation(internal.payments.claims.claimAuthorization, { authorization, order });
}

/**
 * An authorization that was carried out before this service had seen it: everybody can rebuild it from the chain by
 * now, so it proves no more than the hash of its transaction.
 */
async function claimUsed(
  ctx: ActionCtx,
  authorization: Authorization,
  order: Order,
): Promise<ClaimTicket | Refusal> {
  const { from, nonce } = signedAuthorization(authorization);
  const txHash = await findAuthorizationUse(from, nonce);
  if (txHash === null) return UNPAID_USE;
  const payment = await readPayment(asHex(txHash));
  if (payment.kind === "missing") return UNPAID_USE;
  const transfers = transfersFor(payment.transfers, authorization, txHash);
  if (transfers.length === 0) return UNPAID_USE;
  if (payment.ageSeconds > HOUR / SECOND) {
    return refusal("payment_expired", "This payment is too old to buy a report");
  }
  const candidates = transfers.map((transfer) => ({ transfer, proven: false }));
  return ctx.runMutation(internal.payments.claims.claimTransfer, { candidates, order });
}

async function waitFor(
  ctx: ActionCtx,
  { claimId, attempt }: ClaimTicket,
  { bodyHash }: Order,
  deadline: AbortSignal,
): Promise<Redeemed> {
  for (;;) {
    const now: Standing = await ctx.runQuery(internal.payments.claims.standing, {
      claimId,
      attempt,
      bodyHash,
    });
    switch (now.state) {
      case "delivered":
        return { kind: "delivered", result: now.result, receipt: now.receipt };
      case "refused":
        return refusal(now.reason, now.error);
      case "failed":
        return { kind: "failed", code: now.code, message: now.message, receipt: now.receipt };
      case "working":
        if (deadline.aborted)
          return { kind: "failed", code: "upstream", message: LATE, receipt: now.receipt };
        await sleep(ROW_PAUSE_MS);
    }
  }
}

const LATE = "The report is not finished yet: send the same proof again shortly, nothing more is charged";
