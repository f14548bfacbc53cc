import { v } from "convex/values";
import { components, internal } from "../_generated/api";
import type { TableNames } from "../_generated/dataModel";
import { type MutationCtx, type QueryCtx } from "../_generated/server";
import { defineMutation, recordCronRun } from "../platform/changes";
import { hasLedger } from "../credits/model";
import { log } from "../lib/log";
import { type TableRecord, type Range } from "../platform/records";
import { listKeys } from "../lib/objects";
import { DAY } from "../lib/time";
import { records } from "../schema";
import { findOwner } from "../identity/model";

/** Rows a transaction: of the largest, an observation of some 20 kB, a quarter of what a transaction may read. */
const BATCH = 200;

/**
 * Processes one batch of rows that are old at `now` (epoch ms).
 * @returns The number of deleted rows, and the cursor of the next batch; `null` at the end.
 */
type Sweep = (
  ctx: MutationCtx,
  now: number,
  cursor: string | null,
) => Promise<{ deleted: number; cursor: string | null }>;

function buildSweeps<Table extends TableNames>(table: Table): Sweep[] {
  const { keep }: TableRecord<Table> = records[table];
  if (typeof keep === "string") return [];
  return [keep].flat().map((range) => (ctx, now, cursor) => sweep(ctx, table, range, now, cursor));
}

async function sweep<Table extends TableNames>(
  ctx: MutationCtx,
  table: Table,
  { days, aged, ended, stranger, erase }: Range<Table>,
  now: number,
  cursor: string | null,
): Promise<{ deleted: number; cursor: string | null }> {
  const before = now - days * DAY;
  const found = await aged(ctx.db.query(table), before).paginate({ numItems: BATCH, cursor });
  let deleted = 0;
  for (const row of found.page) {
    if (ended !== undefined && !ended(row, before)) continue;
    if (stranger !== undefined && !(await isStrangers(ctx, stranger(row)))) continue;
    if (erase !== undefined) await erase(ctx.db, row);
    else await ctx.db.delete(table, row._id);
    deleted++;
  }
  return { deleted, cursor: found.isDone ? null : found.continueCursor };
}

/** Whether a `userId` has neither a login nor a ledger of credits. */
async function isStrangers(ctx: QueryCtx, userId: string): Promise<boolean> {
  return (await findOwner(ctx, userId)) === null && !(await hasLedger(ctx, userId));
}

/** Every range of rows to delete, named by its table and its index there. */
const steps = listKeys(records).flatMap((table) =>
  buildSweeps(table).map((sweepOf, index) => ({ name: `${table} ${index}`, sweep: sweepOf })),
);

/** Every limit is full again long before. */
const COUNTS_KEPT_MS = 2 * DAY;

/** Deletes old rows, as the tables' records say, and old counts of the rate limiter. */
export const run = defineMutation({}, async (ctx) => {
  await ctx.runMutation(components.rateLimiter.lib.clearAll, { before: Date.now() - COUNTS_KEPT_MS });
  await ctx.scheduler.runAfter(0, internal.ops.housekeeping.runStep, {
    name: steps[0]?.name ?? "",
    startedAt: Date.now(),
    cursor: null,
    deleted: 0,
  });
});

/** Runs one batch of one step, and schedules the next: one transaction at a time, however many rows there are. Idempotent. */
export const runStep = defineMutation(
  {
    name: v.string(),
    /** The moment from which ages are counted, epoch ms: the same for all batches of a run. */
    startedAt: v.number(),
    cursor: v.union(v.string(), v.null()),
    /** How many rows this step has deleted so far. */
    deleted: v.number(),
  },
  async (ctx, { name, startedAt, cursor, deleted }) => {
    const at = steps.findIndex((one) => one.name === name);
    const current = steps[at];
    // A deployment has changed the list during the run: the next run does all of it.
    if (current === undefined) return;
    const batch = await current.sweep(ctx, startedAt, cursor);
    const sum = deleted + batch.deleted;
    const following = steps[at + 1];
    if (batch.cursor === null && sum > 0) log.info("housekeeping", { rows: name, deleted: sum });
    if (batch.cursor !== null) {
      const more = { name, startedAt, cursor: batch.cursor, deleted: sum };
      await ctx.scheduler.runAfter(0, internal.ops.housekeeping.runStep, more);
    } else if (following !== undefined) {
      const next = { name: following.name, startedAt, cursor: null, deleted: 0 };
      await ctx.scheduler.runAfter(0, internal.ops.housekeeping.runStep, next);
    } else {
      await recordCronRun(ctx, "delete what has aged");
    }
  },
);
