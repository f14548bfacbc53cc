import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, mutation, query, type MutationCtx, type QueryCtx } from "../_generated/server";
import { eraseReservations } from "../credits/reservations";
import { charge } from "../lib/limits";
import { MINUTE } from "../lib/time";
import { eraseMessages } from "../messenger/model";
import { anonymiseDeposits } from "../payments/deposits/model";
import { anonymiseClaims } from "../payments/reports/model";
import { eraseAlerts } from "../alerts/model";
import { eraseResearch, hasActiveShift } from "../research/model";
import { eraseRuns, hasRuns } from "../runs/model";
import { eraseSocial } from "../social/model";
import { eraseAddresses, requireUser } from "../users/model";
import { eraseTransferDays } from "../wallets/policies";

/**
 * Deletion of a user's own data: research, reports, agent runs with their questions and answers, cards, messenger
 * settings, alerts with their webhooks, links, social accounts and mentions, ended reservations and past daily totals. Deposits and
 * payments stay without the user's name, because a payment whose row is gone could be used again. What money depends on
 * stays as it is: the credits ledger with games, wallets, transactions, trades and what counts against limits, and the
 * account itself, which is what protects the wallets.
 */

/** Rows per transaction. */
const BATCH = 100;

const vDeletion = v.object({
  /** Epoch ms. */
  requestedAt: v.number(),
  erased: v.number(),
  finishedAt: v.optional(v.number()),
});

/** Each erases up to so many rows and returns how many. */
const STEPS: ((ctx: MutationCtx, userId: string, limit: number) => Promise<number>)[] = [
  eraseResearch,
  eraseRuns,
  eraseAlerts,
  eraseMessages,
  eraseAddresses,
  eraseSocial,
  eraseReservations,
  eraseTransferDays,
  anonymiseDeposits,
  anonymiseClaims,
];

/** Deletes the caller's data, batch by batch behind this call. Asking again while it goes on nudges it. */
export const request = mutation({
  args: {},
  returns: vDeletion,
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    await charge(ctx, "settings", { userId, address: null });
    const running = await latest(ctx, userId);
    const deletionId =
      running !== null && running.finishedAt === undefined
        ? running._id
        : await ctx.db.insert("accountDeletions", { userId, requestedAt: Date.now(), erased: 0 });
    await ctx.scheduler.runAfter(0, internal.research.shifts.stop, { userId });
    await ctx.scheduler.runAfter(0, internal.account.deletion.step, { deletionId });
    const row = await ctx.db.get("accountDeletions", deletionId);
    if (row === null) throw new Error("The row was just written");
    return shown(row);
  },
});

/** How far the caller's latest deletion is; `null` when they never asked for one. */
export const status = query({
  args: {},
  returns: v.union(vDeletion, v.null()),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    const row = await latest(ctx, userId);
    return row === null ? null : shown(row);
  },
});

/** Erases one more batch. What is still under way (a run, a shift not yet stopped) is come back for. */
export const step = internalMutation({
  args: { deletionId: v.id("accountDeletions") },
  returns: v.null(),
  handler: async (ctx, { deletionId }) => {
    const row = await ctx.db.get("accountDeletions", deletionId);
    if (row === null || row.finishedAt !== undefined) return null;
    for (const erase of STEPS) {
      const erased = await erase(ctx, row.userId, BATCH);
      if (erased === 0) continue;
      await ctx.db.patch("accountDeletions", deletionId, { erased: row.erased + erased });
      await ctx.scheduler.runAfter(0, internal.account.deletion.step, { deletionId });
      return null;
    }
    if (await isBusy(ctx, row.userId)) {
      await ctx.scheduler.runAfter(MINUTE, internal.account.deletion.step, { deletionId });
    } else {
      await ctx.db.patch("accountDeletions", deletionId, { finishedAt: Date.now() });
    }
    return null;
  },
});

/** Whether something of the user's is still under way that will leave rows to erase. */
async function isBusy(ctx: QueryCtx, userId: string): Promise<boolean> {
  return (await hasActiveShift(ctx, userId)) || (await hasRuns(ctx, userId));
}

async function latest(ctx: QueryCtx, userId: string): Promise<Doc<"accountDeletions"> | null> {
  return ctx.db
    .query("accountDeletions")
    .withIndex("by_userId", (q) => q.eq("userId", userId))
    .order("desc")
    .first();
}

function shown({ requestedAt, erased, finishedAt }: Doc<"accountDeletions">) {
  return { requestedAt, erased, ...(finishedAt === undefined ? {} : { finishedAt }) };
}
