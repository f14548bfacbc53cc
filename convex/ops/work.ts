import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internalQuery, type QueryCtx } from "../_generated/server";
import { SECOND } from "../lib/time";
import { workTables } from "../lib/work/tables";
import { oldestWork } from "./backlog";

/** All open work of the house, for the operator. */

/** Pieces of work that are looked at, of each state. */
const LOOKED_AT = 100;
const STATES = ["running", "waiting", "resting"] as const;

const vOpen = workTables.work.validator
  .pick("run", "subject", "lane", "state", "attempt", "failures", "trouble", "at")
  .extend({ openSeconds: v.number() });

/**
 * Every piece of leased work, those that ran longest first, and the age in seconds of the oldest of what waits in the rooms'
 * own tables. No arguments, which may be somebody's words.
 */
export const list = internalQuery({
  args: { now: v.number() },
  returns: v.object({ work: v.array(vOpen), waiting: v.record(v.string(), v.number()) }),
  handler: async (ctx, { now }) => {
    const rows = (await Promise.all(STATES.map((state) => openIn(ctx, state)))).flat();
    const work = rows.map((row) => {
      const openSeconds = Math.max(0, Math.round((now - row._creationTime) / SECOND));
      return parse(vOpen, { ...row, openSeconds });
    });
    const waiting = Object.entries(await oldestWork(ctx, now)).flatMap(([kind, seconds]) =>
      seconds === null ? [] : [[kind, seconds] as const],
    );
    return { work, waiting: Object.fromEntries(waiting) };
  },
});

/** How many pieces of work are in each state, and how many of them have failed before: 100 means that or more. */
export async function workCounts(
  ctx: QueryCtx,
): Promise<Record<(typeof STATES)[number] | "failing", number>> {
  const [running = [], waiting = [], resting = []] = await Promise.all(
    STATES.map((state) => openIn(ctx, state)),
  );
  const failing = [...running, ...waiting, ...resting].filter(({ failures }) => failures > 0);
  return {
    running: running.length,
    waiting: waiting.length,
    resting: resting.length,
    failing: Math.min(failing.length, LOOKED_AT),
  };
}

async function openIn(ctx: QueryCtx, state: (typeof STATES)[number]) {
  return ctx.db
    .query("work")
    .withIndex("by_state_and_at", (q) => q.eq("state", state))
    .take(LOOKED_AT);
}
