import { v } from "convex/values";
import { internalMutation, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { optional } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { log } from "../../lib/log";
import { rowsBy } from "../../lib/records/rows";
import { DAY, HOUR, MINUTE } from "../../lib/time";
import { vSignedBytes } from "../../wallets/transactions/bytes";
import { storeSigned } from "../../wallets/transactions/serviceAccounts";
import { claimAt, claimsOf, settlementOf, vClaimWork } from "./model";
import { refusal, type Refusal } from "../terms";

/**
 * The account that executes signed payments: what it has signed for which claim, and its costs for payments that
 * failed. After a few failures of a payer it executes nothing more for that payer; after more in total, for an hour,
 * for nobody who has not paid before.
 */

/** Of one payer, in a day. */
const MOST_OF_PAYER = 2;
/** Of everybody, in an hour: each costs less than the price of a report, because its payment was worthwhile. */
const MOST_OF_ALL = 10;
/** Of all payers whose wallets have the same code, in an hour, before they are slowed: many people use wallets of one make. */
const MOST_OF_CODE = 3;
/** How much longer the next of them waits for each further failure. */
const SLOWED_MS = MINUTE;

/** Records a payment that was mined and has failed; the same transaction counts once. */
export const record = change(
  { txHash: v.string(), payer: v.string(), codeHash: v.union(v.string(), v.null()) },
  async (ctx: MutationCtx, { txHash, payer, codeHash }) => {
    const known = await rowsBy(ctx.db.query("relayerFailures"), "txHash", txHash).first();
    if (known !== null) return;
    const failure = { at: Date.now(), txHash, payer: payer.toLowerCase() };
    await ctx.db.insert("relayerFailures", { ...failure, ...(codeHash === null ? {} : { codeHash }) });
    log.warn("payments.gas lost", { payer, codeHash });
  },
);

/**
 * Why nothing is executed for a payer now; `null` if it is. Others' failures only count against payers whose payments
 * have not bought anything yet, so nobody can use up the budget of those who have.
 * @param codeHash The SHA-256 of the payer's code; `null` for an account with a key, whose balance may also have left
 * in between.
 * @returns `busy` while as many payments of such payers are open as the rest of the hour's budget could lose.
 * @throws AppError `rate_limited` while the hour's budget is used up, or wallets with this code are slowed.
 */
export async function refusalFor(
  ctx: QueryCtx,
  payer: string,
  codeHash: string | null,
): Promise<Refusal | { kind: "busy" } | null> {
  // A facilitator bears its own losses.
  if (optional("X402_RELAYER_PRIVATE_KEY") === undefined) return null;
  const now = Date.now();
  const own = await ctx.db
    .query("relayerFailures")
    .withIndex("by_payer", (q) => q.eq("payer", payer.toLowerCase()).gt("at", now - DAY))
    .take(MOST_OF_PAYER);
  if (own.length === MOST_OF_PAYER) return REFUSED;
  if ((await claimsOf(ctx, payer, "delivered").first()) !== null) return null;
  const failures = await ctx.db
    .query("relayerFailures")
    .withIndex("by_at", (q) => q.gt("at", now - HOUR))
    .order("desc")
    .take(MOST_OF_ALL);
  const oldest = failures.at(-1);
  if (failures.length === MOST_OF_ALL && oldest !== undefined) throw later(oldest.at + HOUR - now);
  const alike = failures.filter((one) => codeHash !== null && one.codeHash === codeHash);
  const [latest] = alike;
  const slowed = latest === undefined ? 0 : latest.at + (alike.length + 1 - MOST_OF_CODE) * SLOWED_MS - now;
  if (alike.length >= MOST_OF_CODE && slowed > 0) throw later(slowed);
  const underWay = await rowsBy(ctx.db.query("paymentClaims"), "state", "settling").take(2 * MOST_OF_ALL);
  // A payment in doubt has already been executed, if at all.
  const atRisk = underWay.filter(({ unlocatedSince }) => unlocatedSince === undefined);
  return failures.length + atRisk.length >= MOST_OF_ALL ? { kind: "busy" } : null;
}

function later(retryAfterMs: number): AppError {
  return new AppError(
    "rate_limited",
    "Signed payments of new payers fail too often at the moment: send the same proof again later, or pay by transfer",
    { retryAfterMs },
  );
}

const REFUSED = refusal(
  "transaction_failed",
  "Payments from this wallet were mined and failed: pay by transfer and send the transaction's hash",
);

/**
 * Stores the signed bytes and takes their nonce, in one transaction: nonces are assigned in one place, and a crash
 * before it takes none.
 * @returns The transaction; `taken` if another payment took the nonce meanwhile; `overtaken` if the bytes are void.
 */
export const store = internalMutation({
  args: { ...vClaimWork, relayer: v.string(), signed: vSignedBytes },
  returns: v.union(v.id("transactions"), v.literal("taken"), v.literal("overtaken")),
  handler: async (ctx, { relayer, signed, ...work }) => {
    const row = await claimAt(ctx, work, "settling");
    if (row === null || (await settlementOf(ctx, row)).settlement !== null) return "overtaken";
    const request = { kind: "settlement" as const, claimKey: row.key };
    const transactionId = await storeSigned(ctx, { role: "relayer", address: relayer, request, signed });
    if (transactionId === null) return "taken";
    await ctx.db.patch("paymentClaims", row._id, { settlementId: transactionId });
    return transactionId;
  },
});
