import {
  paginationOptsValidator,
  paginationResultValidator,
  type NamedTableInfo,
  type PaginationOptions,
  type Query,
} from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { DataModel, TableNames } from "../_generated/dataModel";
import { internalQuery, mutation, query, type MutationCtx, type QueryCtx } from "../_generated/server";
import { endStandingOrders } from "../alerts/model";
import { defineMutation } from "../platform/changes";
import { type Going, type TableRecord } from "../platform/records";
import { listKeys } from "../lib/objects";
import { MINUTE } from "../lib/time";
import { endErasedLink } from "../messenger/linking";
import { endBook } from "../wallets/book";
import { records } from "../schema";
import { type Account, findAccount, changeRules, requireUser, saveAccount } from "../identity/model";
import { requireSetter } from "../identity/access";

/**
 * A user's own data: its export, and its deletion. Each table declares the treatment of its rows (`platform/records`).
 * Deposits and payments stay, anonymised, because a payment without its row could be used again. Rows that money depends on
 * stay unchanged, as does the account itself, which protects the wallets.
 */
const tables = listKeys(records);

/** The table of each section. */
export const SECTIONS = new Map(
  tables.flatMap((table) => {
    const section = records[table].ownedBy?.section;
    return section === undefined ? [] : [[section, table] as const];
  }),
);

/** Fields with these names are left out of every section, at any depth. */
const WITHHELD = new Set<string>(tables.flatMap((table) => records[table].withheld ?? []));

/** A user's rows of a table with owners. */
function queryRows<Table extends TableNames>(
  { db }: QueryCtx,
  table: Table,
  userId: string,
): Query<NamedTableInfo<DataModel, Table>> {
  const { ownedBy }: TableRecord<Table> = records[table];
  if (ownedBy === undefined) throw new Error(`${table} has no owners`);
  return ownedBy.rows(db.query(table), userId);
}

async function hasRows(ctx: QueryCtx, table: TableNames, userId: string): Promise<boolean> {
  return (await queryRows(ctx, table, userId).first()) !== null;
}

/** Whether the account has data of its user: a row in a section of the export. */
export async function isInUse(ctx: QueryCtx, userId: string): Promise<boolean> {
  for (const table of SECTIONS.values())
    if (table !== "accounts" && (await hasRows(ctx, table, userId))) return true;
  return false;
}

/**
 * One page of one section of the caller's data, newest first: each element is a row as JSON, times in epoch ms. Together
 * with `accounts/profile:me`, the sections are everything the service stores about the caller.
 */
export const page = query({
  args: {
    section: v.union(...Array.from(SECTIONS.keys(), (section) => v.literal(section))),
    paginationOpts: paginationOptsValidator,
  },
  returns: paginationResultValidator(v.string()),
  handler: async (ctx, { section, paginationOpts }) => {
    return readSection(ctx, (await requireUser(ctx)).userId, section, paginationOpts);
  },
});

async function readSection(ctx: QueryCtx, userId: string, section: string, options: PaginationOptions) {
  const table = SECTIONS.get(section);
  if (table === undefined) throw new Error("There is no such section");
  const found = await queryRows(ctx, table, userId).order("desc").paginate(options);
  const withheld = (name: string, value: unknown) => (WITHHELD.has(name) ? undefined : value);
  return { ...found, page: found.page.map((row) => JSON.stringify(row, withheld)) };
}

/** `page` for `accounts/actions`. */
export const readPage = internalQuery({
  args: { userId: v.string(), section: v.string(), paginationOpts: paginationOptsValidator },
  returns: paginationResultValidator(v.string()),
  handler: (ctx, { userId, section, paginationOpts }) => readSection(ctx, userId, section, paginationOpts),
});

/** Starts deleting the caller's data in batches, in the background. Repeating the call meanwhile resumes it. */
export const erase = mutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => eraseAccount(ctx, await requireSetter(ctx)),
});

/** `erase` for a caller who is known to be allowed to. */
export async function eraseAccount(ctx: MutationCtx, row: Account): Promise<null> {
  const { userId, erasingSince = Date.now() } = row;
  await endStandingOrders(ctx, userId, "your data are being deleted");
  await changeRules(ctx, userId, { erasingSince, recipients: undefined });
  await endBook(ctx, userId);
  await endErasedLink(ctx, userId);
  await ctx.scheduler.runAfter(0, internal.research.shifts.stop, { userId });
  await ctx.scheduler.runAfter(0, internal.accounts.data.eraseStep, { userId });
  return null;
}

/** Rows per transaction. */
const BATCH = 100;

/** Erases one more batch. Rows that are still in use (a run, an active shift, an unsent notice) are retried later. */
export const eraseStep = defineMutation({ userId: v.string() }, async (ctx, { userId }) => {
  if ((await findAccount(ctx, userId))?.erasingSince === undefined) return;
  let erased = 0;
  let isBusy = false;
  for (const table of tables) {
    if (erased === BATCH) break;
    const batch = await eraseRows(ctx, table, userId, BATCH - erased);
    erased += batch.erased;
    isBusy ||= batch.isBusy;
  }
  if (erased > 0 || isBusy)
    await ctx.scheduler.runAfter(erased > 0 ? 0 : MINUTE, internal.accounts.data.eraseStep, { userId });
  else await saveAccount(ctx, userId, { erasingSince: undefined });
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
  const rows = await queryRows(ctx, table, userId).take(limit);
  const ended = rows.filter(whenEnded);
  for (const row of ended) {
    if (anonymise !== undefined) await anonymise(ctx.db, row);
    else await ctx.db.delete(table, row._id);
  }
  return { erased: ended.length, isBusy: ended.length < rows.length };
}
