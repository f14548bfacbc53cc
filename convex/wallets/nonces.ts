import { v, type Infer } from "convex/values";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { OPERATOR, recordAudit } from "../lib/audit";
import { DRIVER_LEASE_MS, isOpen, nextCheck } from "./machine";
import { actorOf, byId, byWalletId, project, vView, walletById, type View } from "./rows";
import { vReplacement, type TransactionRequest } from "./tables";

/** An account's nonces and the bytes that hold them: each is given out in the mutation that stores what was signed with it. */

export const vSignedBytes = v.object({ nonce: v.number(), rawTransaction: v.string(), txHash: v.string() });
export type SignedBytes = Infer<typeof vSignedBytes>;

export const vSigned = v.object({ walletId: v.string(), driver: v.number(), ...vSignedBytes.fields });

/** An account's next nonce as far as this service has given them out; `null` before its first. */
export const next = internalQuery({
  args: { walletId: v.string() },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { walletId }) => (await walletById(ctx, walletId))?.nextNonce ?? null,
});

/** @returns `false` when the driver was replaced or the nonce is gone: the bytes are void. */
export async function takeNonce(
  ctx: MutationCtx,
  signed: { walletId: string; driver: number; nonce: number },
): Promise<boolean> {
  const wallet = await byWalletId(ctx, signed.walletId);
  if (wallet.driver !== signed.driver || signed.nonce < (wallet.nextNonce ?? 0)) return false;
  await ctx.db.patch("wallets", wallet._id, {
    nextNonce: signed.nonce + 1,
    driverUntil: Date.now() + DRIVER_LEASE_MS,
  });
  return true;
}

/** The chain refused the bytes outright: their nonce is free again, unless a later one was taken already. */
export async function giveBackNonce(ctx: MutationCtx, row: Doc<"transactions">): Promise<void> {
  const wallet = await byWalletId(ctx, row.walletId);
  if (row.nonce === undefined || wallet.nextNonce !== row.nonce + 1) return;
  await ctx.db.patch("wallets", wallet._id, { nextNonce: row.nonce });
}

export function signedFields({ nonce, rawTransaction, txHash }: SignedBytes) {
  return { state: "signed" as const, nonce, rawTransaction, txHash, nextCheckAt: nextCheck(Date.now(), 0) };
}

export async function auditSigning(
  ctx: MutationCtx,
  {
    actor,
    transactionId,
    request,
    txHash,
  }: {
    /** The user's id, or a service account's address. */
    actor: string;
    transactionId: Id<"transactions">;
    request: Pick<TransactionRequest, "kind">;
    txHash: string;
  },
): Promise<void> {
  const event = { actor, subject: transactionId, detail: `${request.kind} ${txHash}` };
  await recordAudit(ctx, { ...event, action: "transaction signed" });
}

/** A gap is mended so many nonces at a time. */
const TOGETHER = 50;

const vHeld = v.object({
  nonce: v.number(),
  /** What was signed with it last and may be mined; `null`: nothing was, or what was has failed for good. */
  transaction: v.union(vView, v.null()),
  /** Bytes with this nonce that have failed: somebody may have them still. */
  failed: v.union(vView, v.null()),
});

/** What a wallet's nonces from `from` on are held by, up to the next one to be given out. */
export const held = internalQuery({
  args: { walletId: v.string(), from: v.number() },
  returns: v.array(vHeld),
  handler: async (ctx, { walletId, from }): Promise<Infer<typeof vHeld>[]> => {
    const { nextNonce = 0 } = await byWalletId(ctx, walletId);
    const until = Math.min(nextNonce, from + TOGETHER);
    const nonces = Array.from({ length: Math.max(0, until - from) }, (_, i) => from + i);
    return Promise.all(nonces.map(async (nonce) => ({ nonce, ...(await heldBy(ctx, walletId, nonce)) })));
  },
});

async function heldBy(
  ctx: QueryCtx,
  walletId: string,
  nonce: number,
): Promise<{ transaction: View | null; failed: View | null }> {
  const rows = await ctx.db
    .query("transactions")
    .withIndex("by_walletId_and_nonce", (q) => q.eq("walletId", walletId).eq("nonce", nonce))
    .order("desc")
    .take(TOGETHER);
  const standing = rows.find(({ state }) => state !== "failed");
  const failed = rows.find(({ state }) => state === "failed");
  return {
    transaction: standing === undefined ? null : project(standing),
    failed: failed === undefined ? null : project(failed),
  };
}

/**
 * Stores bytes that take a nonce nobody holds, and move nothing.
 * @returns `null` when somebody holds it by now.
 */
export const storeFill = internalMutation({
  args: { walletId: v.string(), nonce: v.number(), rawTransaction: v.string(), txHash: v.string() },
  returns: v.union(v.id("transactions"), v.null()),
  handler: async (ctx, { walletId, ...signed }) => {
    const { userId, address, nextNonce = 0 } = await byWalletId(ctx, walletId);
    if (signed.nonce >= nextNonce) return null;
    if ((await heldBy(ctx, walletId, signed.nonce)).transaction !== null) return null;
    const request = { kind: "fill" as const };
    const transactionId = await ctx.db.insert("transactions", {
      walletId,
      userId,
      address,
      request,
      createdAt: Date.now(),
      checks: 0,
      ...signedFields(signed),
    });
    const actor = actorOf({ userId, address });
    await auditSigning(ctx, { actor, transactionId, request, txHash: signed.txHash });
    return transactionId;
  },
});

/**
 * Stores other bytes for a transaction, under its nonce, before anybody outside has them.
 * @param outpriced The hash of the bytes whose place they take.
 * @returns `false` when the transaction has ended, or has others by now: the bytes are void.
 */
export const replace = internalMutation({
  args: {
    transactionId: v.id("transactions"),
    outpriced: v.string(),
    replacement: vReplacement.omit("outpriced"),
  },
  returns: v.boolean(),
  handler: async (ctx, { transactionId, outpriced, replacement }) => {
    const row = await byId(ctx, transactionId);
    if (!isOpen(row.state) || (row.replacement?.txHash ?? row.txHash) !== outpriced) return false;
    const earlier =
      row.replacement === undefined
        ? []
        : [...row.replacement.outpriced, { kind: row.replacement.kind, txHash: row.replacement.txHash }];
    await ctx.db.patch("transactions", transactionId, {
      replacement: { ...replacement, outpriced: earlier },
    });
    const detail = `${replacement.kind} ${replacement.txHash}`;
    await recordAudit(ctx, {
      actor: actorOf(row),
      action: "transaction signed",
      subject: transactionId,
      detail,
    });
    return true;
  },
});

/** Accepts what the chain says of a wallet's nonces, for an operator who knows why this service does not. */
export const accept = internalMutation({
  args: { walletId: v.string(), mined: v.number() },
  returns: v.number(),
  handler: async (ctx, { walletId, mined }) => {
    const wallet = await byWalletId(ctx, walletId);
    const nextNonce = Math.max(mined, wallet.nextNonce ?? 0);
    if (nextNonce !== wallet.nextNonce) await ctx.db.patch("wallets", wallet._id, { nextNonce });
    const detail = `next nonce ${nextNonce}, ${mined} mined`;
    await recordAudit(ctx, { actor: OPERATOR, action: "nonces repaired", subject: walletId, detail });
    return nextNonce;
  },
});
