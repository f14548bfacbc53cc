import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { required } from "../lib/env";
import { AppError } from "../lib/errors";
import { deadlines } from "../lib/outside/deadlines";
import { counted } from "../lib/outside/providerCalls";
import { createPauses, SECOND, sleep, within } from "../lib/time";
import { listingOf, unknownToken, unsureToken } from "../market/listing";
import { noAnswer } from "../providers/call";
import { UPSTREAM } from "../providers/chain/rpc";
import { findAuthorizationUse, readAuthorization } from "../providers/chain/usdc";
import { serviceAddress } from "../wallets/custody/signatures";
import { settlesAuthorizations } from "./challenge";
import { candidatesOf, refusalOfTerms, signedAuthorization, TOO_LATE, tryAuthorization } from "./checks";
import type { Candidate, Claimed } from "./claims";
import type { ClaimTicket } from "./model";
import type { Standing } from "./progress";
import { shownProof } from "./proofs";
import type { Authorization, Order, Proof } from "./tables";
import { refusal, UNPAID_USE, type Refusal } from "./terms";

/** Redeems a proof for a report: checks it, claims it, and waits for the report. */

const ROW_PAUSE_MS = 150;
/** The pause before a payment is tried again that waits for other open ones. */
const BUSY_PAUSE_MS = SECOND;
const BUSY_RETRY_MS = 5 * SECOND;

type Redeemed = Exclude<Standing, { kind: "working" }>;

type Wanted = { proof: Proof; order: Order; keyHash?: string | undefined };

/**
 * Redeems a proof for an order, once; the same proof and order again join the work, or get the same report for an hour.
 * @param wanted.keyHash The hash of the caller's key.
 * @throws AppError `upstream` if the chain cannot be reached, `rate_limited` while the payer's other signed payments
 * may still take the balance that this one needs; nothing is claimed then. For actions.
 */
export const redeem = counted(async (ctx, wanted: Wanted): Promise<Redeemed> => {
  const deadline = AbortSignal.timeout(deadlines.caller);
  // A slow chain holds no caller beyond the deadline; the next request joins a claim that is made after it.
  const joined = await claimOf(ctx, wanted);
  const claimed = joined === null ? await within(deadline, look(ctx, wanted)) : settled(joined);
  if (claimed === null) throw noAnswer(UPSTREAM, "timeout");
  if (claimed.kind === "refused") return claimed;
  return waitFor(ctx, claimed, wanted.order, deadline);
});

type Seen =
  | { kind: "transfers"; candidates: Candidate[]; proven: boolean }
  | { kind: "unused"; balance: string };

/** Joins or makes the claim of a proof. @returns `null` if there is none to join and nothing was seen. */
async function claimOf(
  ctx: ActionCtx,
  { proof, order, keyHash }: Wanted,
  seen?: Seen,
): Promise<Claimed | null> {
  return ctx.runMutation(internal.payments.claims.claim, {
    proof,
    shown: shownProof(proof),
    order,
    ...(keyHash === undefined ? {} : { keyHash }),
    ...(seen === undefined ? {} : { seen }),
  });
}

/**
 * Looks a proof up on the chain, and claims it.
 * @throws AppError `not_found` if no source knows the order's token; nothing is claimed then.
 */
async function look(ctx: ActionCtx, { order: request, ...wanted }: Wanted): Promise<ClaimTicket | Refusal> {
  const order = { ...request, focus: await soldFocus(ctx, request.focus) };
  const { proof } = wanted;
  return proof.kind === "authorization"
    ? lookAtSigned(ctx, { ...wanted, order }, proof.authorization)
    : // The payer has signed the token as requested.
      lookAtHash(ctx, { ...wanted, order }, proof, request);
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

async function lookAtHash(
  ctx: ActionCtx,
  wanted: Wanted,
  proof: Extract<Proof, { kind: "hash" }>,
  signed: Order,
): Promise<ClaimTicket | Refusal> {
  const seen = await candidatesOf(proof, signed);
  if (seen.kind === "refused") return seen;
  return settled(await claimOf(ctx, { ...wanted, proof }, seen));
}

/** Only an authorization's claim may have to wait for others. */
function settled(claimed: Claimed | null): ClaimTicket | Refusal {
  if (claimed === null || claimed.kind === "busy")
    throw new AppError("internal", "The proof was not claimed");
  return claimed;
}

async function lookAtSigned(
  ctx: ActionCtx,
  wanted: Wanted,
  authorization: Authorization,
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
    return late ? lookAtUsed(ctx, wanted, authorization) : refused;
  }
  const patience = AbortSignal.timeout(deadlines.receipt);
  for (;;) {
    const feasible = await tryAuthorization(authorization, serviceAddress("relayer"));
    if (feasible.kind === "refused") return feasible;
    if (feasible.kind === "used") return lookAtUsed(ctx, wanted, authorization);
    const seen = { kind: "unused" as const, balance: feasible.balance.toString() };
    const claimed = await claimOf(ctx, wanted, seen);
    if (claimed?.kind !== "busy") return settled(claimed);
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
async function lookAtUsed(
  ctx: ActionCtx,
  wanted: Wanted,
  authorization: Authorization,
): Promise<ClaimTicket | Refusal> {
  const { from, nonce } = signedAuthorization(authorization);
  const txHash = await findAuthorizationUse(from, nonce);
  if (txHash === null) return UNPAID_USE;
  const found = await lookAtHash(ctx, wanted, { kind: "hash", txHash }, wanted.order);
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
    const now: Standing = await ctx.runQuery(internal.payments.progress.standing, { claimId, bodyHash });
    if (now.kind !== "working") return now;
    if (deadline.aborted) return { kind: "failed", code: "upstream", message: LATE, receipt: now.receipt };
    await pause();
  }
}

const LATE = "The report is not finished yet: send the same proof again shortly, nothing more is charged";
