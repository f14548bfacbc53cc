import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { deadlines } from "../lib/outside/deadlines";
import { counted } from "../lib/outside/calls";
import { createPauses, within } from "../lib/time";
import { listingOf, unknownToken, unsureToken } from "../market/listing";
import { noAnswer } from "../providers/call";
import { UPSTREAM } from "../providers/chain/rpc";
import { findAuthorizationUse } from "../providers/chain/usdc";
import { serviceAddress } from "../wallets/custody/signatures";
import { paidHeaders, settlesAuthorizations } from "./challenge";
import { candidatesOf, tryAuthorization } from "./checks";
import type { Claimed } from "./claims";
import type { ClaimTicket } from "./model";
import type { Standing } from "./progress";
import type { Authorization, HashProof, Order, Proof } from "./tables";
import { refusal, UNPAID_USE, type Refusal } from "./terms";

/** Redeems a proof for a report: checks it, claims it, and waits for the report. */

const ROW_PAUSE_MS = 150;

/** `headers` say how it was paid. */
type Redeemed = {
  kind: "delivered";
  focus: string;
  result: NonNullable<Standing["result"]>;
  headers: Record<string, string>;
};

/** `shown`: `proofs.shownBy`. `keyHash`: the hash of the caller's key. */
type Wanted = { proof: Proof; order: Order; shown: string; keyHash?: string };

type Asked = { wanted: Wanted; named: string | undefined };

/**
 * Redeems a proof for an order, once; the same proof and order again join the work, or get the same report for an hour.
 * @param asked.named The order's `userId` as its caller names it, which the payer has signed.
 * @throws AppError `upstream` if the chain cannot be reached, `rate_limited` while the payer's other signed payments may
 * still take the balance that this one needs: nothing is claimed then. Of any code, with the payment's headers, if the
 * report has failed or is not finished: the payment is kept. For actions.
 */
export const redeem = counted(async (ctx, { wanted, named }: Asked): Promise<Redeemed | Refusal> => {
  const deadline = AbortSignal.timeout(deadlines.caller);
  const joined: Claimed | null = await ctx.runMutation(internal.payments.claims.join, wanted);
  // A slow chain holds no caller beyond the deadline; the next request joins a claim that is made after it.
  const claimed = joined ?? (await within(deadline, look(ctx, wanted, named)));
  if (claimed === null) throw noAnswer(UPSTREAM, "timeout");
  return claimed.kind === "refused" ? claimed : waitFor(ctx, claimed, wanted.shown, deadline);
});

/**
 * Looks a proof up on the chain, and claims it.
 * @throws AppError `not_found` if no source knows the order's token; nothing is claimed then.
 */
async function look(ctx: ActionCtx, requested: Wanted, named: string | undefined): Promise<Claimed> {
  const { proof, order } = requested;
  const wanted = { ...requested, order: { ...order, focus: await soldFocus(ctx, order.focus) } };
  // The payer has signed the token and the userId as requested.
  const signed = named === undefined ? order : { ...order, userId: named };
  if (proof.kind === "hash") return lookAtHash(ctx, wanted, proof, signed);
  if (!settlesAuthorizations()) {
    return refusal(
      "unsupported_scheme",
      "This service does not execute signed payments: pay first and send the transaction's hash",
    );
  }
  const seen = await tryAuthorization(proof.authorization, serviceAddress("relayer"));
  if (seen.kind === "refused") return seen;
  if (seen.kind === "used") return lookAtUsed(ctx, wanted, proof.authorization);
  return ctx.runMutation(internal.payments.claims.claim, { ...wanted, seen });
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

async function lookAtHash(ctx: ActionCtx, wanted: Wanted, proof: HashProof, signed: Order): Promise<Claimed> {
  const seen = await candidatesOf(proof, signed);
  if (seen.kind === "refused") return seen;
  return ctx.runMutation(internal.payments.claims.claim, { ...wanted, proof, seen });
}

/**
 * An authorization that somebody else has executed. Everybody can read it from the chain by now, so it proves no more
 * than the hash of its transaction.
 */
async function lookAtUsed(ctx: ActionCtx, wanted: Wanted, authorization: Authorization): Promise<Claimed> {
  const txHash = await findAuthorizationUse(authorization);
  if (txHash === null) return UNPAID_USE;
  const found = await lookAtHash(ctx, wanted, { kind: "hash", txHash }, wanted.order);
  return found.kind === "refused" && found.reason === "no_matching_transfer" ? UNPAID_USE : found;
}

async function waitFor(
  ctx: ActionCtx,
  { claimId }: ClaimTicket,
  shown: string,
  deadline: AbortSignal,
): Promise<Redeemed | Refusal> {
  const pause = createPauses(ROW_PAUSE_MS);
  for (;;) {
    const now: Standing = await ctx.runQuery(internal.payments.progress.standing, { claimId, shown });
    if (now.refusal !== undefined) return now.refusal;
    const headers = now.paid === null ? {} : paidHeaders(now.paid);
    if (now.result !== undefined) return { kind: "delivered", focus: now.focus, result: now.result, headers };
    if (now.trouble !== undefined) throw new AppError(now.trouble.code, now.trouble.message, { headers });
    if (deadline.aborted) throw new AppError("upstream", LATE, { headers });
    await pause();
  }
}

const LATE = "The report is not finished yet: send the same proof again shortly, nothing more is charged";
