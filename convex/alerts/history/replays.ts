import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { internalQuery, type ActionCtx } from "../../_generated/server";
import { DAY, HOUR } from "../../lib/time";
import { priceOf } from "../../prices/model";
import { vPrice } from "../../prices/tables";
import { digestTimes } from "./digests";
import type { Condition } from "../language/conditions";
import {
  lastObservation,
  neededSince,
  observationsAfter,
  observationsFrom,
  samplesAfter,
  type PriceSubject,
  type Sample,
} from "./observations";
import { holds, isEvent, REPLAYED_DAYS, replay } from "./rules";
import { subjectOf, watchOf } from "./subjects";
import { vObservation, type Observation } from "../tables";

/** When an alert would have fired in the last days, according to what is stored. */

/** Rows per query: samples of prices are small, and rows of facts are large. */
const SAMPLES = 6_000;
const MOVEMENTS = 400;
const FACTS = 40;

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
    const times = digestTimes(condition.time, condition.timeZone, since, now);
    const fired = times.map((at) => ({ at, observedAt: at, value: 0, source: "clock" }));
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

type Observed = {
  /** The value at the beginning, if it is known, and the observations after it. */
  observations: Observation[];
  latest: Observation | null;
};
type Days = { since: number; now: number };

async function observedSince(ctx: ActionCtx, text: string, days: Days): Promise<Observed> {
  const subject = subjectOf(text);
  if (subject.kind === "price" || subject.kind === "change") return pricesSince(ctx, subject, days);
  const limit = subject.kind === "funding" ? FACTS : MOVEMENTS;
  const last = async (at: number): Promise<Observation | null> =>
    ctx.runQuery(internal.alerts.history.replays.before, { subject: text, at });
  const before = await last(days.since);
  const observations = before === null ? [] : [before];
  for (let after = days.since, more = true; more;) {
    const page = await ctx.runQuery(internal.alerts.history.replays.page, { subject: text, after, limit });
    observations.push(...page.observations);
    more = page.more && page.at > after;
    after = page.at;
  }
  return { observations, latest: await last(days.now) };
}

/** All samples are read first, and each change is computed from them. */
async function pricesSince(ctx: ActionCtx, subject: PriceSubject, { since, now }: Days): Promise<Observed> {
  const { token } = subject;
  const samples: Sample[] = [];
  for (let after = neededSince(subject, since - HOUR); ;) {
    const page: Sample[] = await ctx.runQuery(internal.alerts.history.replays.samples, {
      token,
      after,
      until: now,
      limit: SAMPLES,
    });
    samples.push(...page);
    if (page.length < SAMPLES) break;
    after = page.at(-1)?.takenAt ?? now;
  }
  const news = samples.filter(({ takenAt }) => takenAt > since - HOUR);
  const observations = observationsFrom(subject, news, samples).filter((one) => one !== null);
  const before = observations.findLast(({ at }) => at <= since);
  const last = observations.at(-1);
  return {
    observations: [...(before === undefined ? [] : [before]), ...observations.filter(({ at }) => at > since)],
    latest: last !== undefined && last.at > now - HOUR ? last : null,
  };
}

export const samples = internalQuery({
  args: { token: v.string(), after: v.number(), until: v.number(), limit: v.number() },
  returns: v.array(vPrice),
  handler: async (ctx, { token, ...range }) => (await samplesAfter(ctx, token, range)).map(priceOf),
});

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
