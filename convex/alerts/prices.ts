import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { HOUR, MINUTE } from "../lib/time";
import type { Subject } from "./subjects";
import type { Observation } from "./tables";

/** What stored samples say of a price, and of how far it has moved. */

export type PriceSubject = Extract<Subject, { kind: "price" | "change" }>;
export type Sample = Pick<Doc<"priceSamples">, "takenAt" | "observedAt" | "priceUsd" | "source">;

/** An earlier price that is older than this by more is not the price of then. */
const SLACK_MS = 30 * MINUTE;

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
  return subject.kind === "price" ? since : since - subject.windowHours * HOUR - SLACK_MS;
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
    if (before === undefined || before.takenAt < then - SLACK_MS) return null;
    return { at, observedAt, value: changeOf(before.priceUsd, priceUsd), source };
  });
}

/** Percent, from the earlier price to the later one. */
function changeOf(before: number, now: number): number {
  return (now / before - 1) * 100;
}
