import { v, type Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { internalQuery, type QueryCtx } from "../_generated/server";
import { decodeFacts, toCollectionKey, toHalfHour, toRefreshKey } from "../market/facts";
import { findRefresh } from "../platform/answers";
import { DAY, HOUR, MINUTE } from "../lib/time";
import { COMPARED, isReached, isEvent, isMeasured, parseSubject, toWatch, type Subject } from "./conditions";
import { vCondition, vObservation, type Observation } from "./tables";

/** The observations of a subject: stored prices, facts and measured movements, in the order in which they were stored. */

/** An observation is the latest for an hour; an hour has at most this many samples. */
const HOUR_ROWS = 68;
/** The most samples from which changes are computed at a time: those of the two weeks that are kept, one in two minutes. */
const EARLIER_ROWS = 10_000;
const RATES = { collector: "perpetuals", subject: "" } as const;
const PERPETUALS = toCollectionKey(RATES);
const RATES_KEY = toRefreshKey(RATES);
/** The directions as whale alerts name them. */
const WAYS = { in: "cex_inflow", out: "cex_outflow" } as const;

/** Observations, earliest first: all of them up to `at` (epoch ms), and whether there are `more` after it. */
export type ObservationPage = { observations: Observation[]; at: number; more: boolean };

/** The observations of a subject after a moment (epoch ms), from `limit` rows at most. */
export async function listObservationsAfter(
  ctx: QueryCtx,
  text: string,
  after: number,
  limit: number,
): Promise<ObservationPage> {
  const subject = parseSubject(text);
  switch (subject.kind) {
    case "price":
    case "change": {
      const rows = await listSamples(ctx, subject.token, { after, until: Infinity, limit });
      const values =
        subject.kind === "price" ? rows.map(toPriceObservation) : await computeChanges(ctx, subject, rows);
      const at = Math.max(after, rows.at(-1)?.takenAt ?? 0);
      return { observations: removeMissing(values), at, more: rows.length === limit };
    }
    case "funding": {
      const rows = await ctx.db
        .query("facts")
        .withIndex("by_key", (q) => q.eq("key", PERPETUALS).gte("slot", toHalfHour(after)))
        .take(limit);
      const news = rows.filter(({ collectedAt }) => collectedAt > after);
      const at = Math.max(after, ...news.map(({ collectedAt }) => collectedAt));
      const rates = news.map((row) => toRateObservation(row, subject.token));
      return { observations: removeMissing(rates), at, more: rows.length === limit };
    }
    case "flow": {
      const rows = await ctx.db
        .query("whaleAlerts")
        .withIndex("by_token_and_alertType", (q) =>
          q.eq("token", subject.token).eq("alertType", WAYS[subject.direction]).gt("detectedAt", after),
        )
        .take(limit);
      // A page never ends within a moment: the next page begins after it, and would miss its other rows.
      const end = rows.length === limit ? (rows.at(-1)?.detectedAt ?? Infinity) : Infinity;
      const whole = rows.filter(({ detectedAt }) => detectedAt < end);
      const taken = whole.length === 0 ? rows : whole;
      const at = Math.max(after, taken.at(-1)?.detectedAt ?? 0);
      return {
        observations: removeMissing(taken.map(toMovementObservation)),
        at,
        more: rows.length === limit,
      };
    }
  }
}

const removeMissing = (values: readonly (Observation | null)[]): Observation[] =>
  values.filter((one) => one !== null);

/** The latest observation that was stored by a moment (epoch ms), at most an hour old; `null` if there is none. */
export async function findLastObservation(
  ctx: QueryCtx,
  text: string,
  until: number,
): Promise<Observation | null> {
  // A movement is an event, not a state.
  if (isEvent(text)) return null;
  const { observations } = await listObservationsAfter(ctx, text, until - HOUR, HOUR_ROWS);
  return observations.findLast(({ at }) => at <= until) ?? null;
}

/** When the newest value of a basis was stored, epoch ms; 0 without one. */
export async function getNewestTime(ctx: QueryCtx, basis: string): Promise<number> {
  if (basis === COMPARED) return 0;
  const { kind, token, direction } = parseSubject(basis);
  switch (kind) {
    case "flow": {
      const movements = ctx.db.query("whaleAlerts").withIndex("by_token_and_alertType", (q) => {
        return q.eq("token", token).eq("alertType", WAYS[direction]);
      });
      return (await movements.order("desc").first())?.detectedAt ?? 0;
    }
    // The rates of all coins are one large row: its refresh shows when they were collected.
    case "funding":
      return (await findRefresh(ctx, RATES_KEY))?.doneAt ?? 0;
    case "price":
    case "change": {
      const samples = ctx.db
        .query("priceSamples")
        .withIndex("by_token_and_takenAt", (q) => q.eq("token", token));
      return (await samples.order("desc").first())?.takenAt ?? 0;
    }
  }
}

type Sample = Doc<"priceSamples">;

/** A token's samples that were taken later than `after` and not later than `until` (epoch ms), oldest first. */
function listSamples(
  ctx: QueryCtx,
  token: string,
  { after, until, limit }: { after: number; until: number; limit: number },
): Promise<Sample[]> {
  return ctx.db
    .query("priceSamples")
    .withIndex("by_token_and_takenAt", (q) => q.eq("token", token).gt("takenAt", after).lte("takenAt", until))
    .take(limit);
}

function toPriceObservation({ takenAt: at, observedAt, priceUsd: value, source }: Sample): Observation {
  return { at, observedAt, value, source };
}

/**
 * The change in percent that each sample shows, against the last price before its window; `null` where there is none. The
 * earlier prices are read as one range, as wide as that of the samples.
 */
async function computeChanges(
  ctx: QueryCtx,
  { token, windowHours }: Subject,
  rows: readonly Sample[],
): Promise<(Observation | null)[]> {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return [];
  const windowMs = windowHours * HOUR;
  // The days before a coin's first alert have hourly closes only: near enough for a change over several hours.
  const slackMs = (windowHours < 4 ? 30 : 60) * MINUTE;
  const range = {
    after: first.takenAt - windowMs - slackMs - 1,
    until: last.takenAt - windowMs,
    limit: EARLIER_ROWS,
  };
  const earlier = await listSamples(ctx, token, range);
  let next = 0;
  return rows.map((row) => {
    const one = toPriceObservation(row);
    const then = row.takenAt - windowMs;
    while ((earlier[next]?.takenAt ?? Infinity) <= then) next++;
    const before = earlier[next - 1];
    if (before === undefined || before.takenAt < then - slackMs) return null;
    return { ...one, value: (one.value / before.priceUsd - 1) * 100 };
  });
}

function toRateObservation(row: Doc<"facts">, token: string): Observation | null {
  const fact = decodeFacts(row).find(({ subject, kind }) => subject === token && kind === "funding");
  if (typeof fact?.value !== "number") return null;
  return { at: row.collectedAt, observedAt: fact.observedAt, value: fact.value, source: fact.source };
}

function toMovementObservation(row: Doc<"whaleAlerts">): Observation | null {
  const { detectedAt: at, occurredAt, amount: value, txHash = "", movement } = row;
  if (movement === undefined || occurredAt === undefined) return null;
  return { at, observedAt: occurredAt, value, source: `https://basescan.org/tx/${txHash}` };
}

export const getLatestObservation = internalQuery({
  args: { subject: v.string(), at: v.number() },
  returns: v.union(vObservation, v.null()),
  handler: async (ctx, { subject, at }) => findLastObservation(ctx, subject, at),
});

/** More than the samples of a week, of which there is at most one a minute. */
const MOST_DRAWN = 12_000;
/** If values are nearer to one another than this, only the last one is drawn. */
const DRAWN_EVERY_MS = HOUR / 2;

/** The content of an alert's picture: its values over a week, the level, and where they cross it. */
const vDrawn = v.object({
  condition: vCondition,
  level: v.number(),
  path: v.array(vObservation),
  fired: v.array(vObservation),
});
export type DrawnHistory = Infer<typeof vDrawn>;

/** The history for the picture of alerts with a condition; `null` for one without a level. */
export const getDrawnHistory = internalQuery({
  args: { condition: vCondition, now: v.number() },
  returns: v.union(vDrawn, v.null()),
  handler: async (ctx, { condition, now }) => {
    if (!isMeasured(condition)) return null;
    const watch = toWatch(condition);
    const { subject, level } = watch;
    const { observations } = await listObservationsAfter(ctx, subject, now - 7 * DAY, MOST_DRAWN);
    const crosses = ({ value }: Observation, before: Observation | undefined) =>
      isReached(watch, value) &&
      (isEvent(subject) || (before !== undefined && !isReached(watch, before.value)));
    const last = new Map(observations.map((one) => [Math.floor(one.at / DRAWN_EVERY_MS), one]));
    const path = isEvent(subject) ? observations : [...last.values()];
    return {
      condition,
      level,
      path,
      fired: observations.filter((one, i) => crosses(one, observations[i - 1])),
    };
  },
});
