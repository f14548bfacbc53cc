import {
  paginationOptsValidator,
  paginationResultValidator,
  type PaginationOptions,
  type PaginationResult,
} from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { TableNames } from "../_generated/dataModel";
import { mutation, query, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { tablesOf, type Going, type TableRecord } from "../lib/records";
import { MINUTE } from "../lib/time";
import { records } from "../schema";
import { accountOf, changeRules, requireSetter, requireUser, saveAccount } from "./model";

/**
 * A user's own data: its export, and its deletion. Deleted are research, reports, agent runs with their questions and
 * answers, cards, messenger settings, alerts with their webhooks, links, social accounts and mentions
 * and past daily totals. Deposits and payments stay without the user's name, because a payment whose row is gone could be
 * used again. Everything that money depends on stays as it is: the credits ledger with games, wallets, orders, trades and
 * the account itself, which protects the wallets.
 */

const tables = tablesOf(records);

/** The table of each section. */
const SECTIONS = new Map(
  tables.flatMap((table) => {
    const section = records[table].ownedBy?.section;
    return section === undefined ? [] : [[section, table] as const];
  }),
);

/** Fields with these names are left out of every section, at any depth. */
const WITHHELD = new Set<string>(tables.flatMap((table) => records[table].withheld ?? []));

/**
 * One page of one section of the caller's data: each element is a row as JSON, times in epoch ms. Together with
 * `accounts/profile:me`, the sections are everything the service stores about the caller.
 */
export const page = query({
  args: {
    section: v.union(...Array.from(SECTIONS.keys(), (section) => v.literal(section))),
    paginationOpts: paginationOptsValidator,
  },
  returns: paginationResultValidator(v.string()),
  handler: async (ctx, { section, paginationOpts }) => {
    const { userId } = await requireUser(ctx);
    const table = SECTIONS.get(section);
    if (table === undefined) throw new Error("There is no such section");
    return rowsOf(ctx, table, userId, paginationOpts);
  },
});

async function rowsOf<Table extends TableNames>(
  ctx: QueryCtx,
  table: Table,
  userId: string,
  paginationOpts: PaginationOptions,
): Promise<PaginationResult<string>> {
  const { ownedBy }: TableRecord<Table> = records[table];
  if (ownedBy === undefined) throw new Error("The section is not a table with owners");
  const result = await ownedBy.rows(ctx.db.query(table), userId).paginate(paginationOpts);
  const withheld = (name: string, value: unknown) => (WITHHELD.has(name) ? undefined : value);
  return { ...result, page: result.page.map((row) => JSON.stringify(row, withheld)) };
}

/** Rows per transaction. */
const BATCH = 100;

/** Times in epoch ms. */
const vDeletion = v.object({ requestedAt: v.number(), finishedAt: v.optional(v.number()) });

/** Starts deleting the caller's data in batches, in the background. Repeating the call meanwhile resumes it. */
export const erase = mutation({
  args: {},
  returns: vDeletion,
  handler: async (ctx) => {
    const { userId, deletion } = await requireSetter(ctx);
    const isRunning = deletion !== undefined && deletion.finishedAt === undefined;
    const running = isRunning ? deletion : { requestedAt: Date.now() };
    await changeRules(ctx, userId, { deletion: running, recipients: undefined });
    await ctx.runMutation(internal.messenger.linking.end, { userId, by: "token" });
    await ctx.scheduler.runAfter(0, internal.research.shifts.stop, { userId });
    await ctx.scheduler.runAfter(0, internal.accounts.data.step, { userId });
    return running;
  },
});

/** The caller's latest deletion; `null` if they never asked for one. */
export const erasure = query({
  args: {},
  returns: v.union(vDeletion, v.null()),
  handler: async (ctx) => (await requireUser(ctx)).deletion ?? null,
});

/** Erases one more batch. Rows that are still in use (a run, a shift not yet stopped, word to the account) are retried later. */
export const step = change({ userId: v.string() }, async (ctx, { userId }) => {
  const deletion = (await accountOf(ctx, userId))?.deletion;
  if (deletion === undefined || deletion.finishedAt !== undefined) return;
  let erased = 0;
  let isBusy = false;
  for (const table of tables) {
    if (erased === BATCH) break;
    const batch = await eraseRows(ctx, table, userId, BATCH - erased);
    erased += batch.erased;
    isBusy ||= batch.isBusy;
  }
  if (erased > 0 || isBusy)
    await ctx.scheduler.runAfter(erased > 0 ? 0 : MINUTE, internal.accounts.data.step, { userId });
  else await saveAccount(ctx, userId, { deletion: { ...deletion, finishedAt: Date.now() } });
});

/** Erases up to `limit` of a user's rows. @returns How many, and whether some are still in use. */
async function eraseRows<Table extends TableNames>(
  ctx: MutationCtx,
  table: Table,
  userId: string,
  limit: number,
): Promise<{ erased: number; isBusy: boolean }> {
  const { ownedBy }: TableRecord<Table> = records[table];
  if (ownedBy === undefined || ownedBy.onDeletion === "stay") return { erased: 0, isBusy: false };
  const going: Going<Table> = ownedBy.onDeletion === "go" ? {} : ownedBy.onDeletion;
  const { whenEnded = () => true, anonymise } = going;
  const rows = await ownedBy.rows(ctx.db.query(table), userId).take(limit);
  const ended = rows.filter(whenEnded);
  for (const row of ended) {
    if (anonymise !== undefined) await anonymise(ctx.db, row);
    else await ctx.db.delete(table, row._id);
  }
  return { erased: ended.length, isBusy: ended.length < rows.length };
}
