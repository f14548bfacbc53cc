import { v } from "convex/values";
import { getOrThrow } from "convex-helpers/server/relationships";
import { parse } from "convex-helpers/validators";
import { internal } from "../_generated/api";
import type { Doc, TableNames } from "../_generated/dataModel";
import { mutation, query, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { charge } from "../lib/limits/charges";
import { isFinal, tablesOf, type TableRecord, type Going } from "../lib/records/records";
import { rowsBy } from "../lib/records/rows";
import { MINUTE } from "../lib/time";
import { records } from "../schema";
import { requireUser } from "../users/model";
import { accountTables } from "./tables";

/**
 * Deletion of a user's own data: research, reports, agent runs with their questions and answers, cards, messenger
 * settings, alerts with their webhooks, links, social accounts and mentions, ended reservations and past daily totals. Deposits and
 * payments stay without the user's name, because a payment whose row is gone could be used again. Everything that money depends
 * on stays as it is: the credits ledger with games, wallets, transactions, trades, the sums that limits count, and the
 * account itself, which protects the wallets.
 */

/** Rows per transaction. */
const BATCH = 100;

/** Times in epoch ms. */
const vDeletion = accountTables.accountDeletions.validator.pick("requestedAt", "erased", "finishedAt");

/** Starts deleting the caller's data in batches, in the background. Repeating the call meanwhile resumes it. */
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
    await ctx.runMutation(internal.messenger.links.end, { userId });
    await ctx.scheduler.runAfter(0, internal.research.shifts.stop, { userId });
    await ctx.scheduler.runAfter(0, internal.account.deletion.step, { deletionId });
    return parse(vDeletion, await getOrThrow(ctx, "accountDeletions", deletionId));
  },
});

/** The progress of the caller's latest deletion; `null` if they never asked for one. */
export const status = query({
  args: {},
  returns: v.union(vDeletion, v.null()),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    const row = await latest(ctx, userId);
    return row === null ? null : parse(vDeletion, row);
  },
});

/** Erases one more batch. Rows that are still in use (a run, a shift not yet stopped) are retried later. */
export const step = change({ deletionId: v.id("accountDeletions") }, async (ctx, { deletionId }) => {
  const row = await ctx.db.get("accountDeletions", deletionId);
  if (row === null || row.finishedAt !== undefined) return;
  let [erased, isBusy] = [0, false];
  for (const table of tablesOf(records)) {
    if (erased === BATCH) break;
    const batch = await erase(ctx, table, row.userId, BATCH - erased);
    erased += batch.erased;
    isBusy ||= batch.isBusy;
  }
  if (erased > 0) {
    await ctx.db.patch("accountDeletions", deletionId, { erased: row.erased + erased });
    await ctx.scheduler.runAfter(0, internal.account.deletion.step, { deletionId });
  } else if (isBusy) {
    await ctx.scheduler.runAfter(MINUTE, internal.account.deletion.step, { deletionId });
  } else {
    await ctx.db.patch("accountDeletions", deletionId, { finishedAt: Date.now() });
  }
});

/** Erases up to `limit` of a user's rows. @returns How many, and whether some are still in use. */
async function erase<Table extends TableNames>(
  ctx: MutationCtx,
  table: Table,
  userId: string,
  limit: number,
): Promise<{ erased: number; isBusy: boolean }> {
  const { ownedBy, final }: TableRecord<Table> = records[table];
  if (ownedBy === undefined || ownedBy.onDeletion === "stay") return { erased: 0, isBusy: false };
  const going: Going<Table> = ownedBy.onDeletion === "go" ? {} : ownedBy.onDeletion;
  const { only = ownedBy.rows, whenFinal = false, anonymise } = going;
  const rows = await only(ctx.db.query(table), userId).take(limit);
  const ended = whenFinal ? rows.filter((row) => isFinal(final, row)) : rows;
  for (const row of ended) {
    if (anonymise !== undefined) await anonymise(ctx.db, row);
    else await ctx.db.delete(table, row._id);
  }
  return { erased: ended.length, isBusy: ended.length < rows.length };
}

async function latest(ctx: QueryCtx, userId: string): Promise<Doc<"accountDeletions"> | null> {
  return rowsBy(ctx.db.query("accountDeletions"), "userId", userId).order("desc").first();
}
