import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { dueWork } from "../../lib/cronRuns";
import { isSet } from "../../lib/env";
import { log } from "../../lib/log";
import { DAY } from "../../lib/time";
import { keepNoted, vNoted } from "../../lib/outside/tallies";
import { end, open, vJob, workOn } from "../../lib/work/jobs";
import { vBlockPlace, vMeasured } from "../tables";
import { storeMeasured, withdrawAfter } from "./measurements";

/**
 * How far the chain has been read. A run that moves the cursor names its starting place: if the cursor is elsewhere,
 * another run was faster, and nothing happens.
 */

/** The single run at a time. */
const RUN = "whales on Base";
/** How many blocks to request at once: at first, and at most. */
const FIRST_SPAN = 30;
const MOST_SPAN = 100;
/** How long a refusal counts: it may have been about the content of those blocks. */
const CEILING_MS = DAY;
/** How many blocks, about five hours, it can go back. */
const REACH = 9_000;
/** The most places within that reach: one per reading, and some more after outages. */
const MOST_PLACES = 500;
/** More are deleted than added. */
const FORGOTTEN = 2;

const vReadBlock = v.object({ number: v.number(), hash: v.string(), time: v.number() });
/** The last block that was read, absent before the first run; and how many to request at once. */
const vCursor = v.object({ at: v.union(vReadBlock, v.null()), span: v.number() });
export type Cursor = Infer<typeof vCursor>;
type Place = Infer<typeof vBlockPlace>;

/** Starts a run of `chain/desk`, unless one is running. */
export const begin = dueWork(async (ctx) => {
  // Without its own RPC the service does not follow the chain: the public one is not meant for reading every block.
  if (!isSet("CHAIN_RPC_URL")) return;
  if ((await workOn(ctx, RUN)) !== null) return;
  await open(ctx, internal.whales.chain.desk.follow, {}, { subject: RUN, attempts: 1 });
});

/** The cursor's place. The run reads it itself, because its arguments are stored and may be old. */
export const current = internalQuery({
  args: {},
  returns: vCursor,
  handler: async (ctx) => cursorFrom(await cursorOf(ctx)),
});

/** Earlier places of the cursor, oldest first. */
export const places = internalQuery({
  args: {},
  returns: v.array(vBlockPlace),
  handler: async (ctx) => {
    const rows = await ctx.db.query("whalePlaces").withIndex("by_number").order("desc").take(MOST_PLACES);
    return rows.map(placeOf).reverse();
  },
});

/** Sets the cursor to its first block; reading starts after it. */
export const start = change({ at: vReadBlock }, async (ctx, { at }) => {
  const row = await cursorOf(ctx);
  if (row?.at !== undefined) return;
  await ctx.db.insert("whalePlaces", placeOf(at));
  if (row === null) await ctx.db.insert("whaleCursors", { at, span: FIRST_SPAN });
  else await ctx.db.patch("whaleCursors", row._id, { at });
});

/**
 * Moves the cursor over blocks that were read, and stores the alerts in them; at the last ones, the run's work ends
 * with it.
 * @returns The new place; null if the cursor was not at the expected place, or the work has ended.
 */
export const advance = internalMutation({
  args: {
    from: vBlockPlace,
    /** In order; the first is the child of `from`. */
    blocks: v.array(vReadBlock),
    movements: v.array(vMeasured),
    last: v.optional(v.object({ job: vJob, noted: vNoted })),
  },
  returns: v.union(vCursor, v.null()),
  handler: async (ctx, { from, blocks, movements, last }) => {
    if (last !== undefined) {
      await end(ctx, last.job);
      await keepNoted(ctx, last.noted);
    }
    const row = await cursorAt(ctx, from);
    const at = blocks.at(-1);
    if (row === null || at === undefined) return null;
    const now = Date.now();
    await storeMeasured(ctx, movements, now);
    const span = blocks.length >= row.span ? widened(row, now) : row.span;
    await ctx.db.patch("whaleCursors", row._id, { at, span, trail: undefined });
    await ctx.db.insert("whalePlaces", placeOf(at));
    await forgetPlaces(ctx, at.number - REACH);
    return last === undefined ? { at, span } : null;
  },
});

/** Requests fewer blocks after so many were refused. @returns As `advance`. */
export const narrow = internalMutation({
  args: { from: vBlockPlace, refused: v.number() },
  returns: v.union(vCursor, v.null()),
  handler: async (ctx, { from, refused }) => {
    const row = await cursorAt(ctx, from);
    if (row === null) return null;
    const span = Math.max(1, Math.floor(refused / 2));
    const ceiling = { span: Math.max(1, refused - 1), since: Date.now() };
    await ctx.db.patch("whaleCursors", row._id, { span, ceiling });
    return cursorFrom({ ...row, span });
  },
});

/**
 * Goes back to a block that the chain still has, and withdraws later alerts.
 * @returns Whether it is finished: with many alerts it takes several calls.
 */
export const rewind = internalMutation({
  args: { from: vBlockPlace, to: vReadBlock },
  returns: v.boolean(),
  handler: async (ctx, { from, to }) => {
    const row = await cursorAt(ctx, from);
    if (row === null) return true;
    const { withdrawn, isDone } = await withdrawAfter(ctx, to.number, Date.now());
    if (withdrawn > 0) log.warn("whales.withdrawn", { alerts: withdrawn, afterBlock: to.number });
    if (!isDone) return false;
    const gone = await ctx.db
      .query("whalePlaces")
      .withIndex("by_number", (q) => q.gte("number", to.number))
      .take(MOST_PLACES);
    for (const { _id } of gone) await ctx.db.delete("whalePlaces", _id);
    await ctx.db.insert("whalePlaces", placeOf(to));
    await ctx.db.patch("whaleCursors", row._id, { at: to, trail: undefined });
    return true;
  },
});

async function cursorOf(ctx: QueryCtx): Promise<Doc<"whaleCursors"> | null> {
  return ctx.db.query("whaleCursors").first();
}

async function cursorAt(ctx: MutationCtx, from: Place): Promise<Doc<"whaleCursors"> | null> {
  const row = await cursorOf(ctx);
  return row?.at?.number === from.number && row.at.hash === from.hash ? row : null;
}

/** Twice as many blocks; below a recent refusal, half of the way there. */
function widened({ span, ceiling }: Doc<"whaleCursors">, now: number): number {
  if (ceiling === undefined || now - ceiling.since >= CEILING_MS) return Math.min(MOST_SPAN, span * 2);
  return Math.max(span, Math.ceil((span + ceiling.span) / 2));
}

/** Only the place of a block. */
export function placeOf({ number, hash }: Place): Place {
  return { number, hash };
}

function cursorFrom(row: Pick<Doc<"whaleCursors">, "at" | "span"> | null): Cursor {
  return { at: row?.at ?? null, span: row?.span ?? FIRST_SPAN };
}

async function forgetPlaces(ctx: MutationCtx, before: number): Promise<void> {
  const old = await ctx.db
    .query("whalePlaces")
    .withIndex("by_number", (q) => q.lt("number", before))
    .take(FORGOTTEN);
  for (const { _id } of old) await ctx.db.delete("whalePlaces", _id);
}
