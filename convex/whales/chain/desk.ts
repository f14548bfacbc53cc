import type { Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError, failureOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { takeNoted } from "../../lib/outside/notes";
import { worker } from "../../lib/work/desk";
import type { Job } from "../../lib/work/jobs";
import { UPSTREAM } from "../../providers/chain/rpc/client";
import { readBlocks, readHeight, readPlace, type TimedPlace } from "../../providers/chain/blocks";
import { CONTRACTS } from "../coins";
import type { vBlockPlace } from "../tables";
import { feedPrices, type Prices } from "../values";
import { placeOf, type Cursor } from "./cursor";
import { PARTIES } from "./labels";
import { alertsIn } from "./alerts";

/**
 * Follows Base, block by block, and makes alerts of the large movements of labelled exchanges, and of minted and burned
 * coins. Ether is only seen if a transaction itself carries it, not in internal calls of contracts or when the bridge
 * mints it.
 */

/** The last blocks are left for the next run: the nodes behind one address do not all have them at the same time. */
const SETTLING = 3;
/** Blocks per run: ten minutes of the chain, so that an outage is made up ten times as fast as it lasted. */
const MOST_BLOCKS = 300;
/** Requests per run, including those that were refused for their size. */
const MOST_STEPS = 30;

type Place = Infer<typeof vBlockPlace>;

/** One run. What it has read stays read, whatever happens next. */
export const follow = worker({}, async (ctx, { job }) => {
  try {
    return (await readOn(ctx, job)) ? undefined : "over";
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    log.warn("whales.unmeasured", { reason: failure.message });
    return "over";
  }
});

/** @returns Whether the work has ended with the last stored blocks. */
async function readOn(ctx: ActionCtx, job: Job): Promise<boolean> {
  let cursor: Cursor = await ctx.runQuery(internal.whales.chain.cursor.current, {});
  const last = (await readHeight()) - SETTLING;
  let blocksLeft = MOST_BLOCKS;
  let board: Promise<Prices> | null = null;
  const prices = () => (board ??= feedPrices());
  for (let steps = 0; steps < MOST_STEPS && blocksLeft > 0; steps++) {
    const { at, span } = cursor;
    if (at === null) {
      await begin(ctx, last);
      return false;
    }
    if (at.number >= last) {
      if (await isGone(at)) await goBack(ctx, at);
      return false;
    }
    const to = Math.min(at.number + Math.min(span, blocksLeft), last);
    const reading = await readBlocks(at.number + 1, to, { tokens: CONTRACTS, parties: PARTIES });
    if (reading.kind === "too much") {
      const refused = to - at.number;
      if (refused === 1) throw new AppError("upstream", `${UPSTREAM} does not answer for a single block`);
      const from = placeOf(at);
      const narrowed = await ctx.runMutation(internal.whales.chain.cursor.narrow, { from, refused });
      if (narrowed === null) return false;
      cursor = narrowed;
      continue;
    }
    if (reading.blocks[0]?.parentHash !== at.hash) {
      const before = await goBack(ctx, at);
      if (before === null) return false;
      cursor = { at: before, span };
      continue;
    }
    const movements = await alertsIn(reading.blocks, reading.logs, prices);
    const blocks = reading.blocks.map(({ number, hash, time }) => ({ number, hash, time }));
    const from = placeOf(at);
    const isLast = to === last;
    const moved: Cursor | null = await ctx.runMutation(internal.whales.chain.cursor.advance, {
      ...{ from, blocks, movements },
      ...(isLast ? { last: { job, noted: takeNoted() } } : {}),
    });
    if (moved === null) return isLast;
    cursor = moved;
    blocksLeft -= blocks.length;
  }
  return false;
}

/** Blocks before the first run are not read. */
async function begin(ctx: ActionCtx, last: number): Promise<void> {
  const at = await readPlace(Math.max(0, last));
  if (at !== null) await ctx.runMutation(internal.whales.chain.cursor.start, { at });
}

/** Whether the chain has another block at a place by now; a node without a block there lags. */
async function isGone({ number, hash }: Place): Promise<boolean> {
  const now = await readPlace(number);
  return now !== null && now.hash !== hash;
}

/** Goes back to the last place that the chain still has, and returns it. */
async function goBack(ctx: ActionCtx, from: Place): Promise<TimedPlace | null> {
  const trail = await ctx.runQuery(internal.whales.chain.cursor.places, {});
  let first = 0;
  let end = trail.length;
  // The blocks that are gone are the latest ones.
  while (first < end) {
    const middle = Math.floor((first + end) / 2);
    const place = trail[middle];
    const now = place === undefined ? null : await readPlace(place.number);
    if (now !== null && now.hash === place?.hash) first = middle + 1;
    else end = middle;
  }
  const oldest = trail[0]?.number ?? from.number;
  // If no known place is left, the last one that is far enough from the head.
  const kept = trail[first - 1]?.number ?? Math.max(0, oldest - MOST_BLOCKS);
  if (first === 0) log.error("whales.trail lost", { block: kept });
  const to = await readPlace(kept);
  if (to === null) throw new AppError("upstream", `${UPSTREAM} is behind its own earlier answers`);
  while (!(await ctx.runMutation(internal.whales.chain.cursor.rewind, { from: placeOf(from), to }))) {
    // Each call has withdrawn as many alerts as a transaction may.
  }
  return to;
}
