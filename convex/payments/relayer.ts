import { v } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { rowsBy } from "../lib/rows";
import { DAY, HOUR } from "../lib/time";
import { vSignedBytes, byId } from "../wallets/transactions/model";
import { storeSigned } from "../wallets/transactions/serviceAccounts";
import { isReverted } from "../wallets/transactions/states";
import { claimAt, vClaimWork } from "./reports/model";
import { refusal, type Refusal } from "./terms";

/**
 * The account that carries out signed payments: what it has signed for which claim, and what payers have cost it without
 * paying. After a little of that nothing more is carried out for them.
 */

/** Of one payer, in a day. */
const MOST_OF_PAYER = 2;
/** Of all payers whose wallets have the same code, in an hour: wallets of one make are many people's. */
const MOST_OF_CODE = 3;
/** Of all wallets that are contracts, in an hour; a key's signature cannot change its mind. */
const MOST_OF_CONTRACTS = 10;

/** Notes a payment that was mined and has failed; the same transaction counts once. */
export const record = internalMutation({
  args: { txHash: v.string(), payer: v.string(), codeHash: v.union(v.string(), v.null()) },
  returns: v.null(),
  handler: async (ctx: MutationCtx, { txHash, payer, codeHash }) => {
    const known = await rowsBy(ctx.db.query("relayerFailures"), "txHash", txHash).first();
    if (known !== null) return null;
    const failure = { at: Date.now(), txHash, payer: payer.toLowerCase() };
    await ctx.db.insert("relayerFailures", { ...failure, ...(codeHash === null ? {} : { codeHash }) });
    log.warn("payments.gas lost", { payer, codeHash });
    return null;
  },
});

/**
 * Why nothing is carried out for a payer now; `null` when it is.
 * @throws AppError `rate_limited` while the hour's budget for contracts is used up.
 */
export async function refusalFor(
  ctx: QueryCtx,
  payer: string,
  codeHash: string | null,
): Promise<Refusal | null> {
  const now = Date.now();
  const own = await ctx.db
    .query("relayerFailures")
    .withIndex("by_payer", (q) => q.eq("payer", payer.toLowerCase()).gt("at", now - DAY))
    .take(MOST_OF_PAYER);
  if (own.length === MOST_OF_PAYER) return REFUSED;
  if (codeHash === null) return null;
  const alike = await ctx.db
    .query("relayerFailures")
    .withIndex("by_codeHash", (q) => q.eq("codeHash", codeHash).gt("at", now - HOUR))
    .take(MOST_OF_CODE);
  if (alike.length === MOST_OF_CODE) return REFUSED;
  const contracts = await ctx.db
    .query("relayerFailures")
    .withIndex("by_at", (q) => q.gt("at", now - HOUR))
    .take(2 * MOST_OF_CONTRACTS);
  if (contracts.filter((one) => one.codeHash !== undefined).length >= MOST_OF_CONTRACTS) {
    throw new AppError(
      "rate_limited",
      "Payments from contract wallets fail too often at the moment: send the same proof again later, or pay by transfer",
      { retryAfterMs: HOUR },
    );
  }
  return null;
}

const REFUSED = refusal(
  "transaction_failed",
  "Payments from this wallet were mined and failed: pay by transfer and send the transaction's hash",
);

/**
 * Stores the signed bytes and takes their nonce, in one transaction: there is one giver of nonces, and a crash before it
 * takes none.
 * @returns The transaction; `taken` when the nonce went to another payment meanwhile; `overtaken` when the bytes are void.
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

/**
 * The relayer's transaction that carries a claim's payment out, or `null`.
 * @returns `dropped`: there was one that never took effect, and nothing stands in for it yet.
 */
export async function settlementOf(
  ctx: QueryCtx,
  { settlementId }: Doc<"paymentClaims">,
): Promise<{ settlement: Doc<"transactions"> | null; dropped: boolean }> {
  if (settlementId === undefined) return { settlement: null, dropped: false };
  const settlement = await byId(ctx, settlementId);
  const dropped = settlement.state === "failed" && !isReverted(settlement);
  return { settlement: dropped ? null : settlement, dropped };
}
