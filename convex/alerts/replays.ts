import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery, type ActionCtx } from "../_generated/server";
import { DAY } from "../lib/time";
import { digestTimes } from "./digests";
import type { Condition } from "./grammar";
import { watchOf } from "./subjects";
import { lastObservation, observationsAfter } from "./observations";
import { holds, REPLAYED_DAYS, replay } from "./rules";
import { vObservation, type Observation } from "./tables";

/** When an alert would have fired in the last days, by what the service has kept. */

/** Rows per query: each change of price reads an earlier one, and rows of facts are large. */
const PAGE = 400;
const PAGE_OF_FACTS = 40;

export const vReplay = v.object({
  /** Epoch ms: since when there is anything kept within these days; `null` where nothing is. */
  knownSince: v.union(v.number(), v.null()),
  /** When it would have fired, oldest first. */
  fired: v.array(vObservation),
  /** What was last observed, within an hour, and whether the condition holds by it. */
  latest: v.union(vObservation, v.null()),
  holds: v.boolean(),
});
export type Replay = Infer<typeof vReplay>;

/** For actions. */
export async function replayOf(ctx: ActionCtx, condition: Condition): Promise<Replay> {
  const now = Date.now();
  const since = now - REPLAYED_DAYS * DAY;
  if (condition.kind === "digest") {
    const times = digestTimes(condition.time, condition.timeZone, since, now);
    const fired = times.map((at) => ({ at, observedAt: at, value: 0, source: "clock" }));
    return { knownSince: since, fired, latest: null, holds: false };
  }
  const watch = watchOf(condition);
  const { subject } = watch;
  const limit = condition.kind === "funding" ? PAGE_OF_FACTS : PAGE;
  const before: Observation | null = await ctx.runQuery(internal.alerts.replays.before, {
    subject,
    at: since,
  });
  const observations = before === null ? [] : [before];
  for (let after = since, more = true; more;) {
    const page = await ctx.runQuery(internal.alerts.replays.page, { subject, after, limit });
    observations.push(...page.observations);
    more = page.more && page.at > after;
    after = page.at;
  }
  const first = observations[0];
  const latest: Observation | null = await ctx.runQuery(internal.alerts.replays.before, { subject, at: now });
  return {
    latest,
    holds: latest !== null && holds(watch, latest.value),
    knownSince: first === undefined ? null : Math.max(first.at, since),
    fired: replay(watch, observations, since),
  };
}

export const before = internalQuery({
  args: { subject: v.string(), at: v.number() },
  returns: v.union(vObservation, v.null()),
  handler: async (ctx, { subject, at }) => lastObservation(ctx, subject, at),
});

export const page = internalQuery({
  args: { subject: v.string(), after: v.number(), limit: v.number() },
  returns: v.object({ observations: v.array(vObservation), at: v.number(), more: v.boolean() }),
  handler: async (ctx, { subject, after, limit }) => observationsAfter(ctx, subject, after, limit),
});
