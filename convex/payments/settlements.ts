import { v, type Infer } from "convex/values";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import type { Doc } from "../_generated/dataModel";
import { MINUTE, SECOND } from "../lib/time";
import { LOOK_BACK_MS, REPLACED_AFTER_MS } from "../wallets/machine";
import { auditPayment, claimById, startGenerating, vRefusal } from "./claimRows";
import { payFromCredits } from "./creditedTransfers";
import { vAuthorization, vSettlement, vTransfer, vTroubleCode } from "./paidTables";
import { relayerRow } from "./relayerNonces";
import { ALREADY_USED } from "./terms";
import { spendTransfer, spentTransfer } from "./transfers";

/** The rows of settling and writing: each function is one step of `settlement.ts` or `reports.ts`. */

const vWork = { claimId: v.id("paymentClaims"), attempt: v.number() };
type Work = { claimId: Doc<"paymentClaims">["_id"]; attempt: number };

/** How long an answer of the chain's has to stay the same until it is believed: a node may be behind others. */
const BELIEVED_AFTER_MS = { replacedSince: REPLACED_AFTER_MS, unlocatedSince: 10 * MINUTE } as const;

const vTask = v.object({
  authorization: vAuthorization,
  settlement: v.union(vSettlement, v.null()),
  /** Bytes of an earlier settlement were given up. */
  dropped: v.boolean(),
  /** The settlement's nonce was said to be taken by another transaction. */
  doubted: v.boolean(),
  createdAt: v.number(),
});
export type SettlementTask = Infer<typeof vTask>;

/** What an attempt at settling has before it; `null` when it was overtaken. */
export const task = internalQuery({
  args: vWork,
  returns: v.union(vTask, v.null()),
  handler: async (ctx, work): Promise<SettlementTask | null> => {
    const row = await current(ctx, work);
    if (row?.authorization === undefined) return null;
    const { authorization, settlement = null, replacedSince, createdAt } = row;
    const suspected = replacedSince !== undefined;
    const dropped = settlement === null && suspected;
    return { authorization, settlement, dropped, doubted: suspected && !dropped, createdAt };
  },
});

/** The settlement of a payment that was made, or `null`. */
export const made = internalQuery({
  args: { claimId: v.id("paymentClaims") },
  returns: v.union(vSettlement, v.null()),
  handler: async (ctx, { claimId }) => {
    const { state, settlement } = await claimById(ctx, claimId);
    return state === "settling" || state === "refused" ? null : (settlement ?? null);
  },
});

/**
 * Stores the signed bytes and takes their nonce, in one transaction: there is one giver of nonces, and a crash before it
 * takes none.
 * @returns `stored`; `taken` when the nonce went to another payment meanwhile; `overtaken` when the bytes are void.
 */
export const store = internalMutation({
  args: { ...vWork, settlement: vSettlement },
  returns: v.union(v.literal("stored"), v.literal("taken"), v.literal("overtaken")),
  handler: async (ctx, { settlement, ...work }) => {
    const row = await current(ctx, work);
    if (row === null || row.settlement !== undefined) return "overtaken" as const;
    const { relayer, nonce } = settlement;
    const account = await relayerRow(ctx, relayer);
    if (nonce < (account?.nextNonce ?? 0)) return "taken" as const;
    if (account === null) await ctx.db.insert("relayers", { address: relayer, nextNonce: nonce + 1 });
    else await ctx.db.patch("relayers", account._id, { nextNonce: nonce + 1 });
    await ctx.db.patch("paymentClaims", row._id, { settlement, txHash: settlement.txHash });
    return "stored" as const;
  },
});

/**
 * Stores the same call with higher fees under the same nonce: at most one of the two can be mined, and both hashes are
 * kept. @returns `false` when the bytes are void, because the attempt was overtaken or has stored others meanwhile.
 */
export const replace = internalMutation({
  args: { ...vWork, outpriced: v.string(), rawTransaction: v.string(), txHash: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { outpriced, rawTransaction, txHash, ...work }) => {
    const row = await current(ctx, work);
    if (row?.settlement?.txHash !== outpriced) return false;
    const hashes = [...(row.settlement.outpriced ?? []), outpriced];
    const settlement = { ...row.settlement, rawTransaction, txHash, outpriced: hashes };
    await ctx.db.patch("paymentClaims", row._id, { settlement, txHash });
    return true;
  },
});

/**
 * Notes an answer of the chain's that would end a payment wrongly if it came from a node that is behind.
 * @param answer `replacedSince`: another transaction has the nonce; `unlocatedSince`: no use of the authorization pays.
 * @returns Whether that has been the answer for long enough to be believed.
 */
export const doubt = internalMutation({
  args: { ...vWork, answer: v.union(v.literal("replacedSince"), v.literal("unlocatedSince")) },
  returns: v.boolean(),
  handler: async (ctx, { answer, ...work }) => {
    const row = await current(ctx, work);
    if (row === null) return false;
    const now = Date.now();
    const since = row[answer];
    if (since !== undefined) return now - since >= BELIEVED_AFTER_MS[answer];
    await ctx.db.patch("paymentClaims", row._id, { [answer]: now });
    return false;
  },
});

/** The chain knows the settlement, or its nonce is free: whatever looked like a replacement was none. */
export const trust = internalMutation({
  args: vWork,
  returns: v.null(),
  handler: async (ctx, work) => {
    const row = await current(ctx, work);
    if (row !== null) await ctx.db.patch("paymentClaims", row._id, { replacedSince: undefined });
    return null;
  },
});

/** Drops bytes that can never be mined: another transaction has their nonce. */
export const drop = internalMutation({
  args: vWork,
  returns: v.null(),
  handler: async (ctx, work) => {
    const row = await current(ctx, work);
    if (row !== null) {
      await ctx.db.patch("paymentClaims", row._id, { settlement: undefined, txHash: undefined });
    }
    return null;
  },
});

/**
 * The payment is made: spends its transfer and has the report written.
 * @param candidates The transfers of the mined transaction that it may be.
 */
export const paid = internalMutation({
  args: { ...vWork, candidates: v.array(vTransfer) },
  returns: v.null(),
  handler: async (ctx, { candidates, ...work }) => {
    const row = await current(ctx, work);
    if (row === null) return null;
    for (const transfer of candidates) {
      const spent = await spentTransfer(ctx, transfer);
      if (spent?.claimKey !== undefined) continue;
      if (spent !== null && !(await payFromCredits(ctx, transfer, row.order.userId, row.strength))) continue;
      await spendTransfer(ctx, transfer, { claimKey: row.key });
      await auditPayment(ctx, row._id, { order: row.order, transfer });
      const looks =
        row.settlement === undefined ? {} : { looks: 0, lookBackAt: Date.now() + LOOK_BACK_MS[0] };
      await ctx.db.patch("paymentClaims", row._id, { state: "paid", txHash: transfer.txHash, ...looks });
      await startGenerating(ctx, row);
      return null;
    }
    await end(ctx, row, ALREADY_USED);
    return null;
  },
});

/** Nothing was moved, and nothing will be: the claim is released. */
export const refuse = internalMutation({
  args: { ...vWork, refused: vRefusal },
  returns: v.null(),
  handler: async (ctx, { refused, ...work }) => {
    const row = await current(ctx, work);
    if (row !== null) await end(ctx, row, refused);
    return null;
  },
});

/** An attempt has failed. The payment stands as it does: settling is taken up again by the cron, or by the payer. */
export const fail = internalMutation({
  args: { ...vWork, code: vTroubleCode, message: v.string() },
  returns: v.null(),
  handler: async (ctx, { code, message, ...work }) => {
    const row = await ctx.db.get("paymentClaims", work.claimId);
    if (row === null || row.attempt !== work.attempt) return null;
    const trouble = { attempt: work.attempt, code, message };
    if (row.state === "settling") {
      const pause = Math.min(30 * SECOND * 2 ** Math.min(work.attempt, 6), 30 * MINUTE);
      await ctx.db.patch("paymentClaims", row._id, { trouble, leaseUntil: Date.now() + pause });
    } else if (row.state === "generating") {
      await ctx.db.patch("paymentClaims", row._id, { trouble, state: "paid", leaseUntil: 0 });
    }
    return null;
  },
});

async function end(
  ctx: MutationCtx,
  row: Doc<"paymentClaims">,
  { reason, error }: Infer<typeof vRefusal>,
): Promise<void> {
  await ctx.db.patch("paymentClaims", row._id, {
    state: "refused",
    refusal: { reason, error },
    leaseUntil: 0,
    settlement: undefined,
    replacedSince: undefined,
    unlocatedSince: undefined,
    txHash: undefined,
  });
}

async function current(ctx: QueryCtx, { claimId, attempt }: Work): Promise<Doc<"paymentClaims"> | null> {
  const row = await claimById(ctx, claimId);
  return row.state === "settling" && row.attempt === attempt ? row : null;
}
