import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { internalMutation, type ActionCtx, type MutationCtx } from "../../_generated/server";
import { rateLimiter } from "../limits/charges";
import { isPublicSource, SOURCE_LIMITS } from "../publicSources";
import { sha256Hex } from "../security/crypto";
import { SECOND, sleep } from "../time";
import { together } from "./together";

/**
 * Turns to ask the public sources. Where turns are rare, one caller's wait for one another first, at the source's own pace: at most one of them stands in everybody's queue.
 */

const vTurn = v.object({
  source: v.string(),
  /** Whose turn it is, while it waits for the caller's own. */
  holder: v.optional(v.string()),
});
type Turn = Infer<typeof vTurn>;
const vWait = v.object({
  /** In ms; `null` where a queue is full. */
  waitMs: v.union(v.number(), v.null()),
  /** Whether the turn in everybody's queue is to be taken behind it. */
  again: v.boolean(),
});
type Wait = Infer<typeof vWait>;

/** Waits for a turn. @returns `false` when a queue is full. */
export type WaitTurn = (turn: Turn) => Promise<boolean>;

/** Turns that are asked for within this of one another are taken in one transaction. */
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

/** Takes these turns, each as soon as it comes. */
export const take = internalMutation({
  args: { turns: v.array(vTurn) },
  returns: v.array(vWait),
  handler: async (ctx, { turns }) => {
    const waits: Wait[] = [];
    for (const turn of turns) waits.push(await takeOne(ctx, turn));
    return waits;
  },
});

async function takeOne(ctx: MutationCtx, { source, holder }: Turn): Promise<Wait> {
  if (!isPublicSource(source)) throw new Error(`There is no source ${source}`);
  const config = SOURCE_LIMITS[source];
  const reserved = async (queue: { key?: string }) => {
    const status = await rateLimiter.limit(ctx, source, { ...queue, reserve: true, config });
    return status.ok ? Math.ceil(status.retryAfter ?? 0) : null;
  };
  if (holder !== undefined && config.period > SECOND) {
    const waitMs = await reserved({ key: sha256Hex(`turn:${holder}`) });
    if (waitMs !== 0) return { waitMs, again: waitMs !== null };
  }
  return { waitMs: await reserved({}), again: false };
}
