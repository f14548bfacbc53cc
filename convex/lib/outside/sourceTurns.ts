import { RateLimiter } from "@convex-dev/rate-limiter";
import { v, type Infer } from "convex/values";
import { components, internal } from "../../_generated/api";
import { internalMutation, type ActionCtx, type MutationCtx } from "../../_generated/server";
import { isPublicSource, SOURCE_LIMITS, type PublicSource } from "../publicSources";
import { sha256Hex } from "../security/digests";
import { SECOND, sleep } from "../time";
import { together } from "./batches";

/**
 * Turns for calling the public sources. For scarce sources each caller has a queue of its own at the source's pace, so
 * that at most one of its requests is in the common queue.
 */

const vTurn = v.object({
  source: v.string(),
  /** The caller whose own queue the turn waits in. */
  holder: v.optional(v.string()),
});
type Turn = Infer<typeof vTurn>;
const vWait = v.object({
  /** In ms; `null` if a queue is full. */
  waitMs: v.union(v.number(), v.null()),
  /** Whether to take a turn in the common queue afterwards. */
  again: v.boolean(),
});
type Wait = Infer<typeof vWait>;

/** Waits for a turn. @returns `false` when a queue is full. */
export type WaitTurn = (turn: Turn) => Promise<boolean>;

const rateLimiter = new RateLimiter(components.rateLimiter);

/** Turns that are requested within this time are taken in one transaction. */
const TAKEN_TOGETHER_MS = 20;

export function turnsOf(ctx: ActionCtx): WaitTurn {
  const ask = (turns: Turn[]) => ctx.runMutation(internal.lib.outside.sourceTurns.take, { turns });
  const take = together(ask, TAKEN_TOGETHER_MS);
  return async ({ source, holder }) => {
    for (let turn: Turn = { source, ...(holder === undefined ? {} : { holder }) }; ; turn = { source }) {
      const { waitMs, again } = await take(turn);
      if (waitMs === null) return false;
      if (waitMs > 0) await sleep(waitMs);
      if (!again) return true;
    }
  };
}

/** Takes these turns, each as soon as it is due. */
export const take = internalMutation({
  args: { turns: v.array(vTurn) },
  returns: v.array(vWait),
  handler: async (ctx, { turns }) => {
    const waits = new Map<Turn, Wait>();
    for (const first of turns) {
      if (waits.has(first)) continue;
      const same = turns.filter(({ source, holder }) => source === first.source && holder === first.holder);
      const taken = await takeAlike(ctx, first, same.length);
      for (const [index, turn] of same.entries()) waits.set(turn, taken[index] ?? FULL);
    }
    return turns.map((turn) => waits.get(turn) ?? FULL);
  },
});

const FULL: Wait = { waitMs: null, again: false };

async function takeAlike(ctx: MutationCtx, { source, holder }: Turn, count: number): Promise<Wait[]> {
  if (!isPublicSource(source)) throw new Error(`There is no source ${source}`);
  const isRare = SOURCE_LIMITS[source].period > SECOND;
  const own =
    holder === undefined || !isRare
      ? Array.from({ length: count }, () => 0)
      : await reserve(ctx, source, count, sha256Hex(`turn:${holder}`).slice(0, OWN_KEY));
  const atOnce = own.filter((waitMs) => waitMs === 0).length;
  const everybodys = await reserve(ctx, source, atOnce);
  // Earlier ones wait less: those that need not wait in their own queue come first.
  return own.map((waitMs, index) =>
    waitMs === 0 ? { waitMs: everybodys[index] ?? null, again: false } : { waitMs, again: waitMs !== null },
  );
}

/** How many digits of the hash a holder's key has. */
const OWN_KEY = 16;

/**
 * Reserves turns in a queue, all with one read if there is room for all.
 * @returns How long each has to wait, in ms, ascending; `null` for those for which there is no room.
 */
async function reserve(
  ctx: MutationCtx,
  source: PublicSource,
  count: number,
  key?: string,
): Promise<(number | null)[]> {
  const config = SOURCE_LIMITS[source];
  const ask = (some: number) =>
    rateLimiter.limit(ctx, source, {
      ...(key === undefined ? {} : { key }),
      count: some,
      reserve: true,
      config,
    });
  if (count > 1 && count <= config.capacity + config.maxReserved) {
    const { ok, retryAfter = 0 } = await ask(count);
    const paceMs = config.period / config.rate;
    if (ok)
      return Array.from({ length: count }, (_, index) =>
        Math.ceil(Math.max(0, retryAfter - (count - 1 - index) * paceMs)),
      );
  }
  const waits: (number | null)[] = [];
  for (let turn = 0; turn < count; turn++) {
    const { ok, retryAfter = 0 } = await ask(1);
    waits.push(ok ? Math.ceil(retryAfter) : null);
  }
  return waits;
}
