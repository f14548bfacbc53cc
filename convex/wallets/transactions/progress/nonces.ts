import { v, type Infer } from "convex/values";
import type { Doc } from "../../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../../_generated/server";
import { OPERATOR, recordAudit } from "../../../lib/records/audit";
import { AppError } from "../../../lib/errors";
import { hasLeft } from "../../../lib/limits/charges";
import { log } from "../../../lib/log";
import { rowsByBoth } from "../../../lib/records/rows";
import { NEVER } from "../../../lib/time";
import { byWalletId, walletById } from "../../model";
import { livePermission } from "../../permits";
import { auditSigning, insertSigned, vSignedBytes } from "../bytes";
import { byId } from "../model";
import { allow, requireLive } from "../permissions";
import { DROPPED, FURTHEST_AHEAD, isOpen, isReverted, OPEN_STATES } from "../states";
import { moveOn } from "../steps";
import { vReplacement, vTransaction } from "../tables";

/** An account's nonces: their holders, free ones, and a next one that turned out to be wrong. */

/**
 * An account's next nonce, as far as this service has assigned them.
 * @returns `isNew`: none of its transactions was ever mined here, so it may have signed elsewhere.
 */
export const next = internalQuery({
  args: { walletId: v.string() },
  returns: v.object({ next: v.number(), isNew: v.boolean() }),
  handler: async (ctx, { walletId }) => {
    const mined = rowsByBoth(ctx.db.query("transactions"), "walletId", walletId, "state", "confirmed");
    const wallet = await walletById(ctx, walletId);
    return { next: wallet?.nextNonce ?? 0, isNew: (await mined.first()) === null };
  },
});

/** How many nonces of a gap are mended at once. */
const TOGETHER = 50;

const vHeld = v.object({
  nonce: v.number(),
  /** The last transaction with this nonce that may be mined; `null` if there is none, or it has failed for good. */
  transaction: v.union(vTransaction, v.null()),
  /** Failed bytes with this nonce: somebody may still have them. */
  failed: v.union(vTransaction, v.null()),
});
export type Held = Infer<typeof vHeld>;

/** The holders of a wallet's nonces from `from` up to the next free one. */
export const held = internalQuery({
  args: { walletId: v.string(), from: v.number() },
  returns: v.array(vHeld),
  handler: async (ctx, { walletId, from }): Promise<Held[]> => {
    const { nextNonce = 0 } = await byWalletId(ctx, walletId);
    const until = Math.min(nextNonce, from + TOGETHER);
    const nonces = Array.from({ length: Math.max(0, until - from) }, (_, i) => from + i);
    return Promise.all(nonces.map(async (nonce) => ({ nonce, ...(await heldBy(ctx, walletId, nonce)) })));
  },
});

async function heldBy(ctx: QueryCtx, walletId: string, nonce: number): Promise<Omit<Held, "nonce">> {
  const rows = await rowsByBoth(ctx.db.query("transactions"), "walletId", walletId, "nonce", nonce)
    .order("desc")
    .take(TOGETHER);
  return {
    transaction: rows.find(({ state }) => state !== "failed") ?? null,
    failed: rows.find(({ state }) => state === "failed") ?? null,
  };
}

/**
 * Allows a free nonce to be filled by a transaction that moves nothing.
 * @returns `null` if it is held by now, or the account has paid for enough of them this hour.
 */
export const allowFill = internalMutation({
  args: { walletId: v.string(), nonce: v.number() },
  returns: v.union(v.id("permissions"), v.null()),
  handler: async (ctx, { walletId, nonce }) => {
    const { userId } = await byWalletId(ctx, walletId);
    if (!(await isNobodys(ctx, walletId, nonce))) return null;
    if (!(await hasLeft(ctx, "fill", walletId))) {
      log.error("wallets.too many fills", { walletId, nonce });
      return null;
    }
    return allow(ctx, { walletId, userId, by: "repair", request: { kind: "fill" } });
  },
});

/** Stores those bytes. @returns `null` if the nonce is held by now: the bytes are void. */
export const storeFill = internalMutation({
  args: { walletId: v.string(), permissionId: v.id("permissions"), ...vSignedBytes.fields },
  returns: v.union(v.id("transactions"), v.null()),
  handler: async (ctx, { walletId, permissionId, ...signed }) => {
    if (!(await isNobodys(ctx, walletId, signed.nonce))) return null;
    const wallet = await byWalletId(ctx, walletId);
    await requireLive(ctx, { permissionId });
    return insertSigned(ctx, wallet, { request: { kind: "fill" }, permissionId, signed });
  },
});

async function isNobodys(ctx: QueryCtx, walletId: string, nonce: number): Promise<boolean> {
  const { nextNonce = 0 } = await byWalletId(ctx, walletId);
  return nonce < nextNonce && (await heldBy(ctx, walletId, nonce)).transaction === null;
}

/**
 * Accepts the chain's count of a wallet's nonces, for an operator who knows why this service does not: a next nonce
 * that is too low is raised, and an unreachable one is lowered; open transactions beyond it, which cannot be mined, are
 * dropped.
 * @returns The next nonce, and how many were dropped.
 * @throws AppError `upstream` if transactions that were mined lie beyond it: then the chain's answer is wrong.
 */
export const accept = internalMutation({
  args: { walletId: v.string(), mined: v.number() },
  returns: v.object({ nextNonce: v.number(), dropped: v.number() }),
  handler: async (ctx, { walletId, mined }) => {
    const wallet = await byWalletId(ctx, walletId);
    const known = wallet.nextNonce ?? 0;
    const nextNonce = mined >= known ? mined : await reachable(ctx, walletId, mined, known);
    if (nextNonce !== wallet.nextNonce) await ctx.db.patch("wallets", wallet._id, { nextNonce });
    const beyond = nextNonce < known ? await from(ctx, walletId, nextNonce).take(MOST_UNDER_WAY) : [];
    if (beyond.some(wasMined)) {
      throw new AppError(
        "upstream",
        "The chain RPC does not know of transactions that were mined: nothing was repaired",
      );
    }
    const dropped = await drop(ctx, beyond);
    const detail = `next nonce ${nextNonce} (${known} before), ${mined} mined, ${dropped} dropped`;
    await recordAudit(ctx, { actor: OPERATOR, action: "nonces repaired", subject: walletId, detail });
    return { nextNonce, dropped };
  },
});

/**
 * Drops settlements of payments under unreachable nonces, so that they are signed again: an authorization is used once,
 * so this pays nothing twice, even if the chain's answer is wrong.
 * @param mined The chain's count, confirmed by a second answer.
 * @returns Whether anything was dropped.
 */
export const dropSettlements = internalMutation({
  args: { walletId: v.string(), mined: v.number() },
  returns: v.boolean(),
  handler: async (ctx, { walletId, mined }) => {
    const wallet = await byWalletId(ctx, walletId);
    const known = wallet.nextNonce ?? 0;
    const end = await reachable(ctx, walletId, mined, known);
    const beyond = await from(ctx, walletId, end).take(MOST_UNDER_WAY);
    if (end === known || beyond.some(wasMined)) return false;
    if (beyond.some(({ request }) => request.kind !== "settlement")) return false;
    await drop(ctx, beyond);
    await ctx.db.patch("wallets", wallet._id, { nextNonce: end });
    return true;
  },
});

/** More open transactions than an account can have. */
const MOST_UNDER_WAY = 500;

/** The first nonce from `mined` on that cannot be reached, unless it is `known` itself. */
async function reachable(ctx: QueryCtx, walletId: string, mined: number, known: number): Promise<number> {
  const rows = await from(ctx, walletId, mined).take(MOST_UNDER_WAY);
  if (rows.length === MOST_UNDER_WAY) return known;
  let end = mined;
  for (const { nonce = 0 } of rows) {
    if (nonce - end > FURTHEST_AHEAD) return end;
    end = nonce + 1;
  }
  return known - end > FURTHEST_AHEAD ? end : known;
}

function wasMined(row: Doc<"transactions">): boolean {
  return row.state === "confirmed" || isReverted(row);
}

/** Ends transactions that can never be mined. @returns How many. */
async function drop(ctx: MutationCtx, beyond: readonly Doc<"transactions">[]): Promise<number> {
  const open = beyond.filter(({ state }) => OPEN_STATES.some((one) => one === state));
  for (const row of open) {
    await moveOn(ctx, row, { to: "failed", error: DROPPED, errorCode: "upstream" });
    // It holds no nonce from here on: the next assigned one may be the same.
    await ctx.db.patch("transactions", row._id, { nonce: undefined, nextCheckAt: NEVER });
  }
  return open.length;
}

function from(ctx: QueryCtx, walletId: string, nonce: number) {
  return ctx.db
    .query("transactions")
    .withIndex("by_walletId_and_nonce", (q) => q.eq("walletId", walletId).gte("nonce", nonce));
}

/**
 * Stores other bytes for a transaction, under its nonce, before anybody outside has them.
 * @param outpriced The hash of the bytes that they replace.
 * @returns `false` if the transaction has ended, or has other bytes by now: the bytes are void.
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
    if (row.permissionId !== undefined)
      await livePermission(ctx, row.permissionId, { isFirst: false, now: Date.now() });
    if (!isOpen(row.state) || (row.replacement?.txHash ?? row.txHash) !== outpriced) return false;
    const earlier =
      row.replacement === undefined
        ? []
        : [...row.replacement.outpriced, { kind: row.replacement.kind, txHash: row.replacement.txHash }];
    await ctx.db.patch("transactions", transactionId, {
      replacement: { ...replacement, outpriced: earlier },
    });
    await auditSigning(ctx, row, `${replacement.kind} ${replacement.txHash}`);
    return true;
  },
});
