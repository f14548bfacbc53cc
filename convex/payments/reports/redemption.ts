import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { listingOf, unknownToken, unsureToken } from "../../market/sources/listing";
import { deadlines } from "../../lib/outside/deadlines";
import { required } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { counted } from "../../lib/outside/providerCalls";
import { createPauses, SECOND, sleep, within } from "../../lib/time";
import { timeoutFailure } from "../../providers/call";
import { UPSTREAM } from "../../providers/chain/rpc/client";
import { findAuthorizationUse, isSigned, readAuthorization, readPayment } from "../../providers/chain/usdc";
import { asHex } from "../../wallets/addresses";
import { serviceAddress } from "../../wallets/custody/signatures";
import { refusal, UNPAID_USE, type Refusal } from "../terms";
import { isConfirmed } from "../transfers";
import {
  refusalOfTerms,
  signedAuthorization,
  TOO_LATE,
  transfersFor,
  tryAuthorization,
} from "./proofs/authorizations";
import { settlesAuthorizations } from "./challenge";
import type { Standing } from "./claims";
import {
  candidatesOf,
  PROVEN_AGE_SECONDS,
  TOO_OLD,
  UNCONFIRMED,
  UNPROVEN_AGE_SECONDS,
} from "./proofs/hashes";
import type { ClaimTicket } from "./model";
import { shownProof } from "./proofs/texts";
import type { Authorization, Order, Proof } from "./tables";

/** Redeems a proof for a report: checks it, claims it, and waits for the report. */

const ROW_PAUSE_MS = 150;
/** The pause before a payment is tried again that waits for other open ones. */
const BUSY_PAUSE_MS = SECOND;
const BUSY_RETRY_MS = 5 * SECOND;

type Redeemed = Exclude<Standing, { kind: "working" }>;

/**
 * Redeems a proof for an order, once; the same proof and order again join the work, or get the same report for an hour.
 * @throws AppError `upstream` if the chain cannot be reached, `rate_limited` while the payer's other signed payments
 * may still take the balance that this one needs; nothing is claimed then. For actions.
 */
export const redeem = counted(async (ctx, proof: Proof, order: Order): Promise<Redeemed> => {
  const deadline = AbortSignal.timeout(deadlines.caller);
  const claimed: ClaimTicket | Refusal | null =
    (await ctx.runMutation(internal.payments.reports.claims.rejoin, { proof, order })) ??
    // A slow chain holds no caller beyond the deadline; the next request joins a claim that is made after it.
    (await within(deadline, claim(ctx, proof, order)));
  if (claimed === null) throw timeoutFailure(UPSTREAM);
  if (claimed.kind === "refused") return claimed;
  return waitFor(ctx, claimed, order, deadline);
});

/** @throws AppError `not_found` if no source knows the order's token; nothing is claimed then. */
async function claim(ctx: ActionCtx, proof: Proof, request: Order): Promise<ClaimTicket | Refusal> {
  const order = { ...request, focus: await soldFocus(ctx, request.focus) };
  if (proof.kind === "authorization") return claimAuthorization(ctx, proof, order);
  // The payer has signed the token as requested.
  const found = await candidatesOf(proof, request);
  if (found.kind === "refused") return found;
  const { candidates } = found;
  const shown = shownProof(proof);
  return ctx.runMutation(internal.payments.reports.claims.claimTransfer, { candidates, order, shown });
}

/** The focus of a report for sale: a token that cannot be checked at this moment is not sold. */
async function soldFocus(ctx: ActionCtx, token: string): Promise<string> {
  if (token === "") return "";
  const { kind, symbol } = await listingOf(ctx, token);
  if (kind === "known") return symbol;
  const unused = "The payment is not used.";
  if (kind === "unknown") throw new AppError("not_found", `${unknownToken(symbol)}. ${unused}`);
  throw new AppError("upstream", `${unsureToken(symbol)}. ${unused} Send the same proof again shortly.`);
}

async function claimAuthorization(
  ctx: ActionCtx,
  { authorization, identifier }: Extract<Proof, { kind: "authorization" }>,
  order: Order,
): Promise<ClaimTicket | Refusal> {
  if (!settlesAuthorizations()) {
    return refusal(
      "unsupported_scheme",
      "This service does not execute signed payments: pay first and send the transaction's hash",
    );
  }
  const now = BigInt(Math.floor(Date.now() / SECOND));
  const refused = refusalOfTerms(authorization, required("PLATFORM_WALLET_ADDRESS"), now);
  if (refused !== null) {
    // It may have been executed before it expired: a payment is not refused for its age as a promise.
    const { from, nonce } = signedAuthorization(authorization);
    const late = refused.reason === TOO_LATE && (await readAuthorization(from, nonce)).used;
    return late ? claimUsed(ctx, authorization, order) : refused;
  }
  const named = { authorization, order, ...(identifier === undefined ? {} : { identifier }) };
  // A repeat under a new signature: the payer's balance may be used up by now.
  if (identifier !== undefined && (await isSigned(signedAuthorization(authorization)))) {
    const joined: ClaimTicket | Refusal | null = await ctx.runMutation(
      internal.payments.reports.claims.rejoinNamed,
      named,
    );
    if (joined !== null) return joined;
  }
  const patience = AbortSignal.timeout(deadlines.receipt);
  for (;;) {
    const feasible = await tryAuthorization(authorization, serviceAddress("relayer"));
    if (feasible.kind === "refused") return feasible;
    if (feasible.kind === "used") return claimUsed(ctx, authorization, order);
    const claimed: ClaimTicket | Refusal | { kind: "busy" } = await ctx.runMutation(
      internal.payments.reports.claims.claimAuthorization,
      { ...named, balance: feasible.balance.toString(), codeHash: feasible.codeHash },
    );
    if (claimed.kind !== "busy") return claimed;
    if (patience.aborted) {
      throw new AppError(
        "rate_limited",
        "Other payments are still being settled: send the same proof again shortly",
        { retryAfterMs: BUSY_RETRY_MS },
      );
    }
    await sleep(BUSY_PAUSE_MS);
  }
}

/**
 * An executed authorization that is not a claim's payment. If this service had not seen it before, everybody can
 * reconstruct it from the chain, so it proves no more than the hash of its transaction. If it was accepted here while
 * it was still its payer's secret, it proves the payer.
 * @throws AppError `upstream` if the chain shows its use but not yet its transaction.
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
  if (payment.kind === "missing") {
    throw new AppError("upstream", "The chain does not show this payment yet: send the same proof again");
  }
  const transfers = transfersFor(payment.transfers, authorization, txHash);
  if (transfers.length === 0) return UNPAID_USE;
  if (!isConfirmed(payment)) return UNCONFIRMED;
  const proven = await ctx.runQuery(internal.payments.reports.claims.wasAccepted, { authorization, order });
  if (payment.ageSeconds > (proven ? PROVEN_AGE_SECONDS : UNPROVEN_AGE_SECONDS)) return TOO_OLD;
  const candidates = transfers.map((transfer) => ({ transfer, proven }));
  const shown = shownProof({ kind: "authorization", authorization });
  return ctx.runMutation(internal.payments.reports.claims.claimTransfer, { candidates, order, shown });
}

async function waitFor(
  ctx: ActionCtx,
  { claimId }: ClaimTicket,
  { bodyHash }: Order,
  deadline: AbortSignal,
): Promise<Redeemed> {
  const pause = createPauses(ROW_PAUSE_MS);
  for (;;) {
    const now: Standing = await ctx.runQuery(internal.payments.reports.claims.standing, {
      claimId,
      bodyHash,
    });
    if (now.kind !== "working") return now;
    if (deadline.aborted) return { kind: "failed", code: "upstream", message: LATE, receipt: now.receipt };
    await pause();
  }
}

const LATE = "The report is not finished yet: send the same proof again shortly, nothing more is charged";
