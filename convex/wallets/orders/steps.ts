import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { internalMutation, internalQuery, type MutationCtx } from "../../_generated/server";
import { dueWork } from "../../lib/cronRuns";
import { vErrorCode } from "../../lib/errors";
import { log } from "../../lib/log";
import { NOBODY } from "../../lib/records/records";
import { rowsByBoth, rowsDue } from "../../lib/records/rows";
import { MINUTE, SECOND } from "../../lib/time";
import { byWalletId, NOT_SENT, refusalToSign, walletById } from "../model";
import { vOrderRow, vSwapTerms, vTry } from "../tables";
import { drop, endApart, mined, NOT_SWAPPED, storeTry, usedOtherwise } from "./ending";
import { blockerOf, byId, isEnded, signedOf, type Order } from "./model";
import { end, standingOf } from "./questions";

/** Every step of an order towards its receipt, for actions, and the cron. Each function is one transaction that decides. */

const vOrderId = { orderId: v.id("orders") };

/** An order as those see it who carry it out. */
export const view = internalQuery({
  args: vOrderId,
  returns: vOrderRow,
  handler: (ctx, { orderId }) => byId(ctx, orderId),
});

const vTurn = v.object({
  row: vOrderRow,
  /** A signed order of the same wallet, which has to end first. */
  blocker: v.union(vOrderRow, v.null()),
  /** The account's next nonce, and that of its oldest signed order, as far as this service has given them out. */
  next: v.number(),
  oldest: v.number(),
  /** Whether none of its transactions was ever mined here: a service account may have signed elsewhere. */
  isNew: v.boolean(),
  /** Whether it may be signed, and signed again. */
  isAllowed: v.boolean(),
});
export type Turn = Infer<typeof vTurn>;

/** An order whose turn it may be to be signed. */
export const turn = internalQuery({
  args: { ...vOrderId, now: v.number() },
  returns: vTurn,
  handler: async (ctx, { orderId, now }) => {
    const row = await byId(ctx, orderId);
    const { walletId, userId } = row;
    const wallet = await walletById(ctx, walletId);
    const next = wallet?.nextNonce ?? 0;
    const [first] = await signedOf(ctx, walletId, 1);
    const done = rowsByBoth(ctx.db.query("orders"), "walletId", walletId, "state", "confirmed");
    return {
      row,
      blocker: await blockerOf(ctx, walletId, userId),
      next,
      oldest: first?.nonce ?? next,
      isNew: userId === NOBODY && (await done.first()) === null,
      isAllowed: (await refusalToSign(ctx, row, now)) === null,
    };
  },
});

/** Bytes of an account from a nonce on, the mined ones first of each nonce: what a dropped block has lost is sent again. */
export const bytesFrom = internalQuery({
  args: { walletId: v.string(), nonce: v.number() },
  returns: v.array(v.string()),
  handler: async (ctx, { walletId, nonce }) => {
    const rows = await ctx.db
      .query("orders")
      .withIndex("by_walletId_and_nonce", (q) => q.eq("walletId", walletId).gte("nonce", nonce))
      .take(50);
    const tries = rows.flatMap((row) =>
      row.tries.map((one) => ({
        ...one,
        isMined: isEnded(row) && (one.hash === row.txHash || one.hash === row.approvalTxHash),
      })),
    );
    return tries
      .filter((one) => one.nonce >= nonce)
      .sort((a, b) => a.nonce - b.nonce || Number(b.isMined) - Number(a.isMined) || b.at - a.at)
      .map(({ raw }) => raw);
  },
});

const vSigned = vTry.omit("at");

/**
 * Stores signed bytes and takes their nonce, before anybody outside has them.
 * @returns `false` if the order has ended or it is another's turn: the bytes are void.
 * @throws AppError as `refusalToSign`.
 */
export const storeSigned = internalMutation({
  args: { ...vOrderId, signed: vSigned, fee: v.string(), terms: v.optional(vSwapTerms) },
  returns: v.boolean(),
  handler: async (ctx, { orderId, signed, fee, terms }) => {
    const row = await byId(ctx, orderId);
    if (row.state !== "prepared") return false;
    const refusal = await refusalToSign(ctx, row, Date.now());
    if (refusal !== null) throw refusal;
    const wallet = await byWalletId(ctx, row.walletId);
    if (signed.nonce < (wallet.nextNonce ?? 0)) return false;
    if ((await blockerOf(ctx, row.walletId, row.userId)) !== null) return false;
    await ctx.db.patch("wallets", wallet._id, { nextNonce: signed.nonce + 1 });
    await storeTry(ctx, row, signed, { fee: BigInt(fee), terms });
    return true;
  },
});

/**
 * Stores further bytes at an order's nonce: the same call with higher fees, or an empty transaction.
 * @param args.before The hash of the newest bytes when these were signed.
 * @returns `false` if the order has ended, or has other bytes by now: these are void.
 */
export const storeFurther = internalMutation({
  args: { ...vOrderId, before: v.string(), signed: vSigned, fee: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { orderId, before, signed, fee }) => {
    const row = await byId(ctx, orderId);
    if (row.state !== "signed" || row.txHash !== before || row.nonce !== signed.nonce) return false;
    const refusal = signed.kind === "empty" ? null : await refusalToSign(ctx, row, Date.now());
    if (refusal !== null) throw refusal;
    await storeTry(ctx, row, signed, { fee: BigInt(fee) });
    return true;
  },
});

const vStep = v.union(
  /** The chain has mined one of its transactions. */
  v.object({
    kind: v.literal("mined"),
    hash: v.string(),
    succeeded: v.boolean(),
    bought: v.optional(v.string()),
  }),
  /** Its nonce is used, some blocks back, and by none of its own. */
  v.object({ kind: v.literal("used"), mined: v.number() }),
  /** So few of its account's transactions are mined that its nonce is not the next one. */
  v.object({ kind: v.literal("apart"), mined: v.number() }),
  /** Its nonce is free after all. */
  v.object({ kind: v.literal("free") }),
  /** Nothing of it was signed, and nothing will be. */
  v.object({ kind: v.literal("dropped"), error: v.string(), errorCode: vErrorCode }),
  /** Its caller has been told that the swap is over while its approval was not mined. */
  v.object({ kind: v.literal("given up") }),
  /** The block that decided it is gone: it is looked at again soon. */
  v.object({ kind: v.literal("lost") }),
);
export type Step = Infer<typeof vStep>;

/** Moves an order on; a late or repeated step changes nothing. @returns The order afterwards. */
export const advance = internalMutation({
  args: { ...vOrderId, step: vStep },
  returns: vOrderRow,
  handler: async (ctx, { orderId, step }) => {
    await take(ctx, await byId(ctx, orderId), step);
    return byId(ctx, orderId);
  },
});

async function take(ctx: MutationCtx, row: Order, step: Step): Promise<void> {
  switch (step.kind) {
    case "mined":
      return mined(ctx, row, step);
    case "used":
      return usedOtherwise(ctx, row, step.mined);
    case "apart":
      return endApart(ctx, row, step.mined);
    case "free":
      if (row.usedSince !== undefined) await ctx.db.patch("orders", row._id, { usedSince: undefined });
      return;
    case "dropped":
      return drop(ctx, row, step.error, step.errorCode);
    case "given up":
      if (row.state === "prepared") return drop(ctx, row, NOT_SWAPPED, "upstream");
      if (row.state === "signed" && row.tries.at(-1)?.kind === "approve")
        await ctx.db.patch("orders", row._id, { error: NOT_SWAPPED, errorCode: "upstream" });
      return;
    case "lost":
      if (isEnded(row)) await ctx.db.patch("orders", row._id, { nextCheckAt: Date.now() + MINUTE });
  }
}

/** Takes up what is due: checks what was signed, ends what was never answered or signed. */
export const takeUpDue = dueWork(async (ctx) => {
  const now = Date.now();
  const due = await rowsDue(ctx.db.query("orders"), "nextCheckAt", now).take(50);
  for (const row of due) {
    if (row.state === "prepared") await drop(ctx, row, NOT_SENT, "upstream");
    else if (row.state === "asked")
      await end(ctx, row, (await standingOf(ctx, row, now)) === "void" ? "void" : "expired", now);
    else {
      const age = now - (row.tries.at(-1)?.at ?? now);
      const pause = Math.min(Math.max(20 * SECOND, age), 5 * MINUTE);
      await ctx.db.patch("orders", row._id, { nextCheckAt: now + pause });
      await ctx.scheduler.runAfter(0, internal.wallets.actions.check, { orderId: row._id });
    }
  }
});

/**
 * Accepts the chain's count of an account's transactions, which two answers have told: for an operator who has restored
 * a backup. It is never lowered.
 */
export const acceptCount = internalMutation({
  args: { walletId: v.string(), mined: v.number() },
  returns: v.number(),
  handler: async (ctx, { walletId, mined }) => {
    const wallet = await byWalletId(ctx, walletId);
    const known = wallet.nextNonce ?? 0;
    if (mined <= known) return known;
    await ctx.db.patch("wallets", wallet._id, { nextNonce: mined });
    log.warn("wallets.count accepted", { walletId, mined, known });
    return mined;
  },
});
