import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { required } from "../lib/env";
import { AppError } from "../lib/errors";
import { deadlines } from "../lib/outside/deadlines";
import { counted } from "../lib/outside/providerCalls";
import { createPauses, SECOND, sleep, within } from "../lib/time";
import { listingOf, unknownToken, unsureToken } from "../market/listing";
import { timeoutFailure } from "../providers/call";
import { UPSTREAM } from "../providers/chain/rpc/client";
import { findAuthorizationUse, readAuthorization } from "../providers/chain/usdc";
import { serviceAddress } from "../wallets/custody/signatures";
import { settlesAuthorizations } from "./challenge";
import { candidatesOf, refusalOfTerms, signedAuthorization, TOO_LATE, tryAuthorization } from "./checks";
import type { Standing } from "./claims";
import type { ClaimTicket } from "./model";
import { shownProof } from "./proofs";
import type { Authorization, Order, Proof } from "./tables";
import { refusal, UNPAID_USE, type Refusal } from "./terms";

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
  const shown = shownProof(proof);
  const claimed: ClaimTicket | Refusal | null =
    (await ctx.runMutation(internal.payments.claims.rejoin, { proof, shown, order })) ??
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
  return claimTransfer(ctx, proof, { order, signed: request });
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

async function claimTransfer(
  ctx: ActionCtx,
  proof: Extract<Proof, { kind: "hash" }>,
  { order, signed }: { order: Order; signed: Order },
): Promise<ClaimTicket | Refusal> {
  const found = await candidatesOf(proof, signed);
  if (found.kind === "refused") return found;
  const { candidates, proven } = found;
  const shown = shownProof(proof);
  return ctx.runMutation(internal.payments.claims.claimTransfer, { candidates, proven, order, shown });
}

async function claimAuthorization(
  ctx: ActionCtx,
  proof: Extract<Proof, { kind: "authorization" }>,
  order: Order,
): Promise<ClaimTicket | Refusal> {
  const { authorization } = proof;
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
  const patience = AbortSignal.timeout(deadlines.receipt);
  for (;;) {
    const feasible = await tryAuthorization(authorization, serviceAddress("relayer"));
    if (feasible.kind === "refused") return feasible;
    if (feasible.kind === "used") return claimUsed(ctx, authorization, order);
    const claimed: ClaimTicket | Refusal | { kind: "busy" } = await ctx.runMutation(
      internal.payments.claims.claimAuthorization,
      { authorization, shown: shownProof(proof), order, balance: feasible.balance.toString() },
    );
    if (claimed.kind !== "busy") return claimed;
    if (patience.aborted) {
      throw new AppError(
        "rate_limited",
        "Other payments of this wallet are still being settled: send the same proof again shortly",
        { retryAfterMs: BUSY_RETRY_MS },
      );
    }
    await sleep(BUSY_PAUSE_MS);
  }
}

/**
 * An authorization that somebody else has executed. Everybody can read it from the chain by now, so it proves no more
 * than the hash of its transaction.
 */
async function claimUsed(
  ctx: ActionCtx,
  authorization: Authorization,
  order: Order,
): Promise<ClaimTicket | Refusal> {
  const { from, nonce } = signedAuthorization(authorization);
  const txHash = await findAuthorizationUse(from, nonce);
  if (txHash === null) return UNPAID_USE;
  const found = await claimTransfer(ctx, { kind: "hash", txHash }, { order, signed: order });
  return found.kind === "refused" && found.reason === "no_matching_transfer" ? UNPAID_USE : found;
}

async function waitFor(
  ctx: ActionCtx,
  { claimId }: ClaimTicket,
  { bodyHash }: Order,
  deadline: AbortSignal,
): Promise<Redeemed> {
  const pause = createPauses(ROW_PAUSE_MS);
  for (;;) {
    const now: Standing = await ctx.runQuery(internal.payments.claims.standing, { claimId, bodyHash });
    if (now.kind !== "working") return now;
    if (deadline.aborted) return { kind: "failed", code: "upstream", message: LATE, receipt: now.receipt };
    await pause();
  }
}

const LATE = "The report is not finished yet: send the same proof again shortly, nothing more is charged";
