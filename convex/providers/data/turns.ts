import { RateLimiter } from "@convex-dev/rate-limiter";
import { v } from "convex/values";
import { components, internal } from "../../_generated/api";
import { internalMutation, type ActionCtx } from "../../_generated/server";
import { literals } from "../../lib/literals";
import { PUBLIC_SOURCES, SOURCE_LIMITS, type PublicSource } from "../../figures/publicSources";
import { sleep } from "../../lib/time";

/**
 * Rate-limit turns of the public sources. A turn comes within a second; otherwise the source is skipped, and its last facts
 * are used.
 */

/** Waits for a turn. @returns `false` when the source's pace is used up. */
export type WaitTurn = (source: PublicSource) => Promise<boolean>;

const rateLimiter = new RateLimiter(components.rateLimiter);

/** Turns that are requested within this time are taken in one transaction. */
const TAKEN_TOGETHER_MS = 20;

export function limitSourceRate(ctx: ActionCtx): WaitTurn {
  const ask = (sources: PublicSource[]) =>
    ctx.runMutation(internal.providers.data.turns.takeTurns, { sources });
  const take = batchCalls(ask, TAKEN_TOGETHER_MS);
  return async (source) => {
    const waitMs = await take(source);
    if (waitMs !== null) await sleep(waitMs);
    return waitMs !== null;
  };
}

/** Takes these turns. @returns How long each has to wait, in ms; `null` where the pace is used up. */
export const takeTurns = internalMutation({
  args: { sources: v.array(literals(...PUBLIC_SOURCES)) },
  returns: v.array(v.union(v.number(), v.null())),
  handler: async (ctx, { sources }) => {
    const waits: (number | null)[] = [];
    for (const source of sources) {
      const config = SOURCE_LIMITS[source];
      const reserve = config.maxReserved > 0;
      const { ok, retryAfter = 0 } = await rateLimiter.limit(ctx, source, { config, reserve });
      waits.push(ok ? Math.ceil(retryAfter) : null);
    }
    return waits;
  },
});

/**
 * Joins calls that are made at almost the same moment into one; each caller gets its own answer. For work that runs
 * side by side in one action.
 * @param ask Answers all of them, in their order.
 * @param gatherMs How long to wait for others.
 */
export function batchCalls<One, Answer>(
  ask: (all: One[]) => Promise<Answer[]>,
  gatherMs: number,
): (one: One) => Promise<Answer> {
  let gathered: { all: One[]; answers: Promise<Answer[]> } | null = null;
  return async (one) => {
    const all: One[] = gathered?.all ?? [];
    const place = all.push(one) - 1;
    gathered ??= {
      all,
      answers: sleep(gatherMs).then(() => {
        gathered = null;
        return ask(all);
      }),
    };
    const answer = (await gathered.answers)[place];
    if (answer === undefined) throw new Error("The call left some questions without an answer");
    return answer;
  };
}
