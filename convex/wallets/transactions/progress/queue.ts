import { v, type Infer, type ObjectType } from "convex/values";
import { internal } from "../../../_generated/api";
import { internalMutation, type MutationCtx } from "../../../_generated/server";
import { change } from "../../../lib/changes";
import { byWalletId } from "../../model";
import { auditSigning, signedFields, takeNonce, vSigned } from "../bytes";
import { byId, oldest, startDriver } from "../model";
import { requireLive } from "../permissions";
import { DRIVER_LEASE_MS, isHandedOut } from "../states";
import { take, vStep } from "../steps";
import { vSwapTerms, vTransaction } from "../tables";

/** A wallet's transactions, in its driver's order. */

export type Term = { walletId: string; driver: number };

/** The order of a caller who drives; after it, a driver of its own does the rest. */
const vAsked = {
  walletId: v.string(),
  driver: v.number(),
  own: v.optional(v.id("transactions")),
};
export type Asked = ObjectType<typeof vAsked>;

/** What a driver does next. */
export const vNext = v.object({
  work: v.union(
    v.object({
      transaction: vTransaction,
      /** The wallet's next nonce as far as this service knows; `null` before its first transaction. */
      nextNonce: v.union(v.number(), v.null()),
    }),
    v.null(),
  ),
  /** The caller's own transaction, once it is sent: nothing is left to do for them. */
  own: v.union(vTransaction, v.null()),
});
export type Next = Infer<typeof vNext>;

/** A term's next piece of work; without any, the term ends. */
export async function nextInTerm(ctx: MutationCtx, { walletId, driver, own }: Asked): Promise<Next> {
  const wallet = await byWalletId(ctx, walletId);
  if (wallet.driver !== driver) return { work: null, own: null };
  // Signed bytes that may not have arrived go first, and nothing is signed after them: the next nonce would wait for
  // one that may never come. If nothing waits after them, the follow-up takes care of them at its own pace.
  const waiting = await oldest(ctx, walletId, "prepared");
  const unsettled = waiting === null ? null : await oldest(ctx, walletId, "unknown");
  const row = (await oldest(ctx, walletId, "signed")) ?? unsettled ?? waiting;
  const ordered = own === undefined ? null : row?._id === own ? row : await byId(ctx, own);
  const done = ordered !== null && isHandedOut(ordered.state) ? ordered : null;
  const leaseUntil = row === null ? 0 : Date.now() + DRIVER_LEASE_MS;
  if (wallet.leaseUntil !== leaseUntil) await ctx.db.patch("wallets", wallet._id, { leaseUntil });
  if (row === null) return { work: null, own: done };
  if (done === null) return { work: { transaction: row, nextNonce: wallet.nextNonce ?? null }, own: null };
  await ctx.scheduler.runAfter(0, internal.wallets.transactions.driver.drive, { walletId, driver });
  return { work: null, own: done };
}

/** The driver's next piece of work; without any, the driver's term ends in the same transaction. */
export const nextWork = internalMutation({
  args: vAsked,
  returns: vNext,
  handler: nextInTerm,
});

/** Stores the outcome of a piece of work, whoever drives now. @returns The next one. */
export const report = internalMutation({
  args: { ...vAsked, transactionId: v.id("transactions"), ...vStep },
  returns: vNext,
  handler: async (ctx, { walletId, driver, own, transactionId, ...step }) => {
    await take(ctx, transactionId, step);
    return nextInTerm(ctx, { walletId, driver, ...(own === undefined ? {} : { own }) });
  },
});

/** Ends the term of a caller who is answered before their work is done; another driver continues it. */
export const endTerm = change(
  { walletId: v.string(), driver: v.number() },
  async (ctx, { walletId, driver }) => {
    const wallet = await byWalletId(ctx, walletId);
    if (wallet.driver === driver) await startDriver(ctx, { ...wallet, leaseUntil: 0 }, Date.now());
  },
);

/** Makes sure that a wallet's queue has a driver. */
export const resume = change({ walletId: v.string() }, async (ctx, { walletId }) => {
  await startDriver(ctx, await byWalletId(ctx, walletId), Date.now());
});

/**
 * Stores signed bytes and takes their nonce, in one transaction.
 * @returns `false` if the driver was replaced, the nonce is taken or the request was dropped: the bytes are void.
 */
export const storeSigned = internalMutation({
  args: { transactionId: v.id("transactions"), signed: vSigned, terms: v.optional(vSwapTerms) },
  returns: v.boolean(),
  handler: async (ctx, { transactionId, signed, terms }) => {
    const row = await byId(ctx, transactionId);
    if (row.state !== "prepared" || !(await takeNonce(ctx, signed))) return false;
    await requireLive(ctx, row);
    await ctx.db.patch("transactions", transactionId, {
      ...signedFields(signed),
      ...(terms === undefined ? {} : { terms }),
    });
    await auditSigning(ctx, row, `${row.request.kind} ${signed.txHash}`);
    return true;
  },
});
