import type { Doc } from "../../_generated/dataModel";
import type { QueryCtx } from "../../_generated/server";
import { keyOf, slotOf } from "../../evidence/model";
import { factIn } from "../../evidence/sayings";
import { HOUR, MINUTE } from "../../lib/time";
import { newestSample } from "../../prices/model";
import { subjectOf, type Subject } from "./subjects";
import type { Observation } from "../tables";

/** What the service has observed of a subject: stored prices, facts and measured movements, in the order it came to know. */

/** Samples are a minute apart at least: those of the hour in which an observation is the latest. */
const HOUR_ROWS = 62;
/** Samples that changes are told from at a time: those of the two weeks that are kept, at one in two minutes. */
const EARLIER_ROWS = 10_000;
const PERPETUALS = keyOf({ collector: "perpetuals", subject: "" });

export type Found = {
  observations: Observation[];
  /** Up to where all is in; epoch ms. */
  at: number;
  /** Whether there may be more behind that. */
  more: boolean;
};

/** What came after a moment (epoch ms), the earliest first, from `limit` rows at most. */
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
      // What was found together is compared together: the next rows may be of the same moment.
      const end = rows.length === limit ? (rows.at(-1)?.detectedAt ?? Infinity) : Infinity;
      const whole = rows.filter(({ detectedAt }) => detectedAt < end);
      const taken = whole.length === 0 ? rows : whole;
      const page = found(taken, taken.map(movement), ({ detectedAt }) => detectedAt, after, limit);
      return { ...page, more: rows.length === limit };
    }
  }
}

/** The latest that was known at a moment (epoch ms), not older than an hour; `null` where nothing was. */
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

/** When the service last came to know something of a subject; epoch ms, 0 for never. */
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

/** As the alerts of whales name the way. */
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

/** What the changes up to samples are told from: one range, as wide as that of the samples. */
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
 * An earlier price that is older than this by more is not the price of then. Of the days before somebody asked for a coin only
 * the hours' closes are kept, which are near enough to tell the change of several hours from.
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
 * What samples tell of a subject, one observation for each of `news`. The model's word counts for nothing.
 * @param news Oldest first, as the others.
 * @param earlier Those that reach as far back as `neededSince`: a change is told from the last one before its hours.
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
