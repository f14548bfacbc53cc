import type { Doc } from "../../_generated/dataModel";
import type { QueryCtx } from "../../_generated/server";
import { keyOf, slotOf } from "../../evidence/model";
import { factIn } from "../../evidence/sayings";
import { HOUR, MINUTE } from "../../lib/time";
import { newestSample } from "../../prices/model";
import { subjectOf, type Subject } from "./subjects";
import type { Observation } from "../tables";

/**
 * What the service has observed of a subject: stored prices, facts and measured movements, in the order in which it
 * learned of them.
 */

/** The most samples of the hour for which an observation counts as the latest: they are at least a minute apart. */
const HOUR_ROWS = 62;
/**
 * The most samples from which changes are computed at a time: those of the two weeks that are kept, one in two minutes.
 */
const EARLIER_ROWS = 10_000;
const PERPETUALS = keyOf({ collector: "perpetuals", subject: "" });

export type Found = {
  observations: Observation[];
  /** Up to this time (epoch ms) all observations are included. */
  at: number;
  /** Whether there may be more after that. */
  more: boolean;
};

/** The observations after a moment (epoch ms), earliest first, from `limit` rows at most. */
export async function observationsAfter(
  ctx: QueryCtx,
  text: string,
  after: number,
  limit: number,
): Promise<Found> {
  const subject = subjectOf(text);
  switch (subject.kind) {
    case "price":
    case "change": {
      const { token } = subject;
      const rows = await samplesAfter(ctx, token, { after, until: Infinity, limit });
      const observations = observationsFrom(subject, rows, await earlierSamples(ctx, subject, rows));
      return found(rows, observations, ({ takenAt }) => takenAt, after, limit);
    }
    case "funding": {
      const rows = await ctx.db
        .query("facts")
        .withIndex("by_key", (q) => q.eq("key", PERPETUALS).gte("slot", slotOf(after)))
        .take(limit);
      const news = rows.filter(({ collectedAt }) => collectedAt > after);
      const rates = news.map((row) => funding(row, subject.token));
      return {
        ...found(news, rates, ({ collectedAt }) => collectedAt, after, limit),
        more: rows.length === limit,
      };
    }
    case "flow": {
      const rows = await ctx.db
        .query("whaleAlerts")
        .withIndex("by_token_and_alertType", (q) =>
          q.eq("token", subject.token).eq("alertType", WAYS[subject.direction]).gt("detectedAt", after),
        )
        .take(limit);
      // Rows that were found together are compared together, because the next rows may be of the same moment.
      const end = rows.length === limit ? (rows.at(-1)?.detectedAt ?? Infinity) : Infinity;
      const whole = rows.filter(({ detectedAt }) => detectedAt < end);
      const taken = whole.length === 0 ? rows : whole;
      const page = found(taken, taken.map(movement), ({ detectedAt }) => detectedAt, after, limit);
      return { ...page, more: rows.length === limit };
    }
  }
}

/** The latest observation that was known at a moment (epoch ms), at most an hour old; `null` if there is none. */
export async function lastObservation(
  ctx: QueryCtx,
  text: string,
  until: number,
): Promise<Observation | null> {
  // Movements are over at once.
  if (subjectOf(text).kind === "flow") return null;
  const { observations } = await observationsAfter(ctx, text, until - HOUR, HOUR_ROWS);
  return observations.filter(({ at }) => at <= until).at(-1) ?? null;
}

/** When the service last learned something about a subject; epoch ms, 0 for never. */
export async function newestAt(
  ctx: QueryCtx,
  subject: Exclude<Subject, { kind: "funding" }>,
): Promise<number> {
  if (subject.kind !== "flow") return (await newestSample(ctx, subject.token))?.takenAt ?? 0;
  const newest = await ctx.db
    .query("whaleAlerts")
    .withIndex("by_token_and_alertType", (q) =>
      q.eq("token", subject.token).eq("alertType", WAYS[subject.direction]),
    )
    .order("desc")
    .first();
  return newest?.detectedAt ?? 0;
}

/** The direction, as the alerts of whales name it. */
const WAYS = { in: "cex_inflow", out: "cex_outflow" } as const;

function found<Row>(
  rows: readonly Row[],
  observations: readonly (Observation | null)[],
  atOf: (row: Row) => number,
  after: number,
  limit: number,
): Found {
  return {
    observations: observations.filter((one) => one !== null),
    at: Math.max(after, ...rows.map(atOf)),
    more: rows.length === limit,
  };
}

/** The earlier samples from which changes are computed: one range, as wide as that of the samples. */
async function earlierSamples(
  ctx: QueryCtx,
  subject: PriceSubject,
  rows: readonly Doc<"priceSamples">[],
): Promise<Doc<"priceSamples">[]> {
  const [first, last] = [rows[0], rows.at(-1)];
  if (subject.kind === "price" || first === undefined || last === undefined) return [];
  return samplesAfter(ctx, subject.token, {
    after: neededSince(subject, first.takenAt) - 1,
    until: last.takenAt - subject.windowHours * HOUR,
    limit: EARLIER_ROWS,
  });
}

function funding(row: Doc<"facts">, token: string): Observation | null {
  const { collectedAt } = row;
  const fact = factIn(row, token, "funding");
  if (typeof fact?.value !== "number") return null;
  return { at: collectedAt, observedAt: fact.observedAt, value: fact.value, source: fact.source };
}

function movement({
  detectedAt,
  occurredAt,
  amount,
  txHash,
  movement: measured,
  withdrawnAt,
}: Doc<"whaleAlerts">) {
  if (measured === undefined || withdrawnAt !== undefined || occurredAt === undefined) return null;
  const source = `https://basescan.org/tx/${txHash ?? ""}`;
  return { at: detectedAt, observedAt: occurredAt, value: amount, source };
}

export type PriceSubject = Extract<Subject, { kind: "price" | "change" }>;
export type Sample = Pick<Doc<"priceSamples">, "takenAt" | "observedAt" | "priceUsd" | "source">;

/**
 * How much older an earlier price may be to count as the price of that time. For the days before somebody asked for a
 * coin only hourly closes are kept, which are near enough to compute the change over several hours.
 */
const slackOf = ({ windowHours }: { windowHours: number }) => (windowHours < 4 ? 30 : 60) * MINUTE;

/** A token's samples that were taken later than `after` and not later than `until` (epoch ms), oldest first. */
export async function samplesAfter(
  ctx: QueryCtx,
  token: PriceSubject["token"],
  { after, until, limit }: { after: number; until: number; limit: number },
): Promise<Doc<"priceSamples">[]> {
  return ctx.db
    .query("priceSamples")
    .withIndex("by_token_and_takenAt", (q) => q.eq("token", token).gt("takenAt", after).lte("takenAt", until))
    .take(limit);
}

/** Since when samples are needed to know what is observed from `since` on; epoch ms. */
export function neededSince(subject: PriceSubject, since: number): number {
  return subject.kind === "price" ? since : since - subject.windowHours * HOUR - slackOf(subject);
}

/**
 * The observations of a subject, one for each of the samples in `news`. Prices that only a model gave do not count.
 * @param news Oldest first, as the others.
 * @param earlier Samples back to `neededSince`: a change is computed from the last sample before its hours.
 */
export function observationsFrom(
  subject: PriceSubject,
  news: readonly Sample[],
  earlier: readonly Sample[],
): (Observation | null)[] {
  const measured = earlier.filter(({ source }) => source !== "llm");
  let next = 0;
  return news.map(({ takenAt: at, observedAt, priceUsd, source }) => {
    if (source === "llm") return null;
    if (subject.kind === "price") return { at, observedAt, value: priceUsd, source };
    const then = at - subject.windowHours * HOUR;
    while ((measured[next]?.takenAt ?? Infinity) <= then) next++;
    const before = measured[next - 1];
    if (before === undefined || before.takenAt < then - slackOf(subject)) return null;
    return { at, observedAt, value: changeOf(before.priceUsd, priceUsd), source };
  });
}

/** Percent, from the earlier price to the later one. */
function changeOf(before: number, now: number): number {
  return (now / before - 1) * 100;
}
