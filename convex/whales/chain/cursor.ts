import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { cron } from "../../lib/cronRuns";
import { isSet } from "../../lib/env";
import { log } from "../../lib/log";
import { DAY } from "../../lib/time";
import { open, workOn } from "../../lib/work/jobs";
import { vBlockPlace, vMeasured } from "../tables";
import { storeMeasured, withdrawAfter } from "./measured";

/**
 * How far the chain has been read. Whoever moves the cursor says from where: when it is not there any more, another run
 * was faster, and nothing happens.
 */

/** The one run at a time. */
const RUN = "whales on Base";
/** Blocks asked for at once: at first, and at most. */
const FIRST_SPAN = 30;
const MOST_SPAN = 100;
/** A refusal counts for so long: it may have been about what was in those blocks. */
const CEILING_MS = DAY;
/** The trail holds so many of the latest blocks, and of those before one in as many, about five hours back. */
const DENSE = 64;
const MOST_TRAIL = 192;

const vReadBlock = v.object({ number: v.number(), hash: v.string(), time: v.number() });
type Place = Infer<typeof vBlockPlace>;

/** Starts a run of `measuring` unless one is under way. For the cron; without an RPC of its own the service reads none. */
export const begin = cron("measure whales on Base", async (ctx) => {
  // The public RPC is no place for reading every block.
  if (!isSet("CHAIN_RPC_URL")) return;
  if ((await workOn(ctx, RUN)) !== null) return;
  await open(ctx, internal.whales.chain.measuring.follow, {}, { subject: RUN, attempts: 1 });
});

/** Where the cursor is, and where it was. */
export const current = internalQuery({
  args: {},
  returns: v.object({
    at: v.union(vReadBlock, v.null()),
    trail: v.array(vBlockPlace),
    span: v.number(),
  }),
  handler: async (ctx) => {
    const row = await cursorOf(ctx);
    return { at: row?.at ?? null, trail: row?.trail ?? [], span: row?.span ?? FIRST_SPAN };
  },
});

/** Puts the cursor on its first block: what comes after it is read. */
export const start = internalMutation({
  args: { at: vReadBlock },
  returns: v.null(),
  handler: async (ctx, { at }) => {
    const row = await cursorOf(ctx);
    const first = { at, trail: [placeOf(at)] };
    if (row === null) await ctx.db.insert("whaleCursors", { ...first, span: FIRST_SPAN });
    else if (row.at === undefined) await ctx.db.patch("whaleCursors", row._id, first);
    return null;
  },
});

/** Moves the cursor over blocks that were read, and stores what was found in them. @returns Whether it was where it was said to be. */
export const advance = internalMutation({
  args: {
    from: vBlockPlace,
    /** In order, the first being the child of `from`. */
    blocks: v.array(vReadBlock),
    movements: v.array(vMeasured),
  },
  returns: v.boolean(),
  handler: async (ctx, { from, blocks, movements }) => {
    const row = await cursorAt(ctx, from);
    const at = blocks.at(-1);
    if (row === null || at === undefined) return false;
    const now = Date.now();
    await storeMeasured(ctx, movements, now);
    await ctx.db.patch("whaleCursors", row._id, {
      at,
      trail: thinned([...row.trail, ...blocks.map(placeOf)]),
      ...(blocks.length >= row.span ? { span: widened(row, now) } : {}),
    });
    return true;
  },
});

/** Asks for fewer blocks after so many were refused. @returns Whether the cursor was where it was said to be. */
export const narrow = internalMutation({
  args: { from: vBlockPlace, refused: v.number() },
  returns: v.boolean(),
  handler: async (ctx, { from, refused }) => {
    const row = await cursorAt(ctx, from);
    if (row === null) return false;
    await ctx.db.patch("whaleCursors", row._id, {
      span: Math.max(1, Math.floor(refused / 2)),
      ceiling: { span: Math.max(1, refused - 1), since: Date.now() },
    });
    return true;
  },
});

/**
 * Goes back to a block that the chain still has, and withdraws what was found after it.
 * @returns Whether all of it is done: with many alerts it takes several calls.
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
    const trail = [...row.trail.filter(({ number }) => number < to.number), placeOf(to)];
    await ctx.db.patch("whaleCursors", row._id, { at: to, trail });
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

/** Twice as many blocks; below what was refused lately, half the way there. */
function widened({ span, ceiling }: Doc<"whaleCursors">, now: number): number {
  if (ceiling === undefined || now - ceiling.since >= CEILING_MS) return Math.min(MOST_SPAN, span * 2);
  return Math.max(span, Math.ceil((span + ceiling.span) / 2));
}

/** Where a block is, without what else is known of it. */
export function placeOf({ number, hash }: Place): Place {
  return { number, hash };
}

function thinned(trail: readonly Place[]): Place[] {
  const last = trail.at(-1)?.number ?? 0;
  return trail.filter(({ number }) => number > last - DENSE || number % DENSE === 0).slice(-MOST_TRAIL);
}
