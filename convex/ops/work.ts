import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internalQuery } from "../_generated/server";
import { SECOND } from "../lib/time";
import { workTables } from "../lib/work/tables";
import { oldestWork, openWork } from "./backlog";

/** All open leased work, for the operator. */

const vOpen = workTables.work.validator
  .pick("run", "subject", "lane", "state", "attempt", "failures", "trouble", "at")
  .extend({ openSeconds: v.number() });

/**
 * Every piece of leased work, longest running first, and the age in seconds of the oldest waiting row in the rooms' own
 * tables. Without arguments, which may contain somebody's words.
 */
export const list = internalQuery({
  args: { now: v.number() },
  returns: v.object({ work: v.array(vOpen), waiting: v.record(v.string(), v.number()) }),
  handler: async (ctx, { now }) => {
    const work = (await openWork(ctx)).flat().map((row) => {
      const openSeconds = Math.max(0, Math.round((now - row._creationTime) / SECOND));
      return parse(vOpen, { ...row, openSeconds });
    });
    const waiting = Object.entries(await oldestWork(ctx, now)).flatMap(([kind, seconds]) =>
      seconds === null ? [] : [[kind, seconds] as const],
    );
    return { work, waiting: Object.fromEntries(waiting) };
  },
});
