import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery, type ActionCtx } from "../_generated/server";
import { DAY, HOUR } from "../lib/time";
import { holds, isEvent, nextTime, replay, REPLAYED_DAYS, watchOf, type Condition } from "./grammar";
import { lastObservation, observationsAfter } from "./observations";
import { vObservation, type Observation } from "./tables";

/** When an alert would have fired in the last days, according to what is stored. */

export const vReplay = v.object({
  /** Epoch ms: the earliest stored observation within these days; `null` if there is none. */
  knownSince: v.union(v.number(), v.null()),
  /** When it would have fired, oldest first. */
  fired: v.array(vObservation),
  /** The last observation, at most an hour old, and whether the condition holds for it. */
  latest: v.union(vObservation, v.null()),
  holds: v.boolean(),
});
export type Replay = Infer<typeof vReplay>;

/** For actions. */
export async function replayOf(ctx: ActionCtx, condition: Condition): Promise<Replay> {
  const now = Date.now();
  const since = now - REPLAYED_DAYS * DAY;
  if (condition.kind === "digest") {
    const { time, timeZone } = condition;
    const fired: Observation[] = [];
    for (let at = nextTime(time, timeZone, since); at <= now; at = nextTime(time, timeZone, at))
      fired.push({ at, observedAt: at, value: 0, source: "clock" });
    return { knownSince: since, fired, latest: null, holds: false };
  }
  const watch = watchOf(condition);
  const { observations, latest } = await observedSince(ctx, watch.subject, { since, now });
  const first = observations[0];
  return {
    latest,
    holds: latest !== null && holds(watch, latest.value),
    knownSince: first === undefined ? null : Math.max(first.at, since),
    fired: replay(watch, observations, since),
  };
}

/** What an alert's picture shows: its values over the days, where they would have fired, and the level. */
export type DrawnHistory = { path: Observation[]; fired: Observation[]; level: number };

/** If values are nearer to one another than this, only the last one is drawn. */
const DRAWN_EVERY_MS = HOUR / 2;

/** `null` for an alert without a level. For actions. */
export async function drawnHistory(ctx: ActionCtx, condition: Condition): Promise<DrawnHistory | null> {
  if (condition.kind === "digest") return null;
  const now = Date.now();
  const since = now - REPLAYED_DAYS * DAY;
  const watch = watchOf(condition);
  const { observations } = await observedSince(ctx, watch.subject, { since, now });
  const last = new Map(observations.map((one) => [Math.floor(one.at / DRAWN_EVERY_MS), one]));
  const path = isEvent(watch.subject) ? observations : [...last.values()];
  return { path, fired: replay(watch, observations, since), level: watch.level };
}

/** The value at the beginning, if it is known, and the observations after it. */
async function observedSince(
  ctx: ActionCtx,
  subject: string,
  { since, now }: { since: number; now: number },
): Promise<{ observations: Observation[]; latest: Observation | null }> {
  const last = (at: number): Promise<Observation | null> =>
    ctx.runQuery(internal.alerts.history.before, { subject, at });
  const before = await last(since);
  const observations = before === null ? [] : [before];
  for (let after = since, more = true; more;) {
    const page = await ctx.runQuery(internal.alerts.history.page, { subject, after });
    observations.push(...page.observations);
    more = page.more && page.at > after;
    after = page.at;
  }
  return { observations, latest: await last(now) };
}

export const before = internalQuery({
  args: { subject: v.string(), at: v.number() },
  returns: v.union(vObservation, v.null()),
  handler: async (ctx, { subject, at }) => lastObservation(ctx, subject, at),
});

/** Rows per query: samples of prices are small, and rows of facts are large. */
const ROWS = { price: 3_000, change: 3_000, flow: 400, funding: 40 } as const;

export const page = internalQuery({
  args: { subject: v.string(), after: v.number() },
  returns: v.object({ observations: v.array(vObservation), at: v.number(), more: v.boolean() }),
  handler: async (ctx, { subject, after }) => {
    const rows = Object.entries(ROWS).find(([kind]) => subject.startsWith(kind))?.[1] ?? 40;
    return observationsAfter(ctx, subject, after, rows);
  },
});
