import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { DAY, HOUR, MINUTE } from "../lib/time";
import type { HourlyClose, Price, PricedToken, PriceSource } from "./tables";

/** A sample this young serves whoever asks. */
const REUSED_FOR_MS = MINUTE;
/** A week, and the week before it, that changes within it are told from. */
const KEPT_MS = 15 * DAY;

/** A token's newest sample, however old. */
export async function newestSample(ctx: QueryCtx, token: PricedToken): Promise<Doc<"priceSamples"> | null> {
  return ctx.db
    .query("priceSamples")
    .withIndex("by_token_and_takenAt", (q) => q.eq("token", token))
    .order("desc")
    .first();
}

/** The newest sample where it still serves at `now` (epoch ms). */
export async function youngSample(
  ctx: QueryCtx,
  token: PricedToken,
  now: number,
): Promise<Doc<"priceSamples"> | null> {
  const newest = await newestSample(ctx, token);
  return newest !== null && now - newest.takenAt <= REUSED_FOR_MS ? newest : null;
}

/**
 * Stores a sample and its hour's close. Two that race, and a tick that runs twice, leave one: a young sample is not
 * followed by another, unless it came from the model and the new one does not.
 * @returns The sample that counts.
 */
export async function storeSample(ctx: MutationCtx, sample: Omit<Price, "takenAt">): Promise<Price> {
  const takenAt = Date.now();
  const young = await youngSample(ctx, sample.token, takenAt);
  if (young !== null && (young.source !== "llm" || sample.source === "llm")) {
    return priceOf(young);
  }
  const price = { ...sample, takenAt };
  await ctx.db.insert("priceSamples", price);
  await closeHour(ctx, price);
  await forgetOld(ctx, sample.token, takenAt);
  return price;
}

/** A row without what the database adds. */
export function priceOf({ token, priceUsd, source, observedAt, takenAt }: Doc<"priceSamples">): Price {
  return { token, priceUsd, source, observedAt, takenAt };
}

/** The model's word never takes the place of a better source's. */
async function closeHour(ctx: MutationCtx, { token, priceUsd, source, takenAt }: Price): Promise<void> {
  const hourEndsAt = (Math.floor(takenAt / HOUR) + 1) * HOUR;
  const row = await ctx.db
    .query("hourlyCloses")
    .withIndex("by_token_and_hourEndsAt", (q) => q.eq("token", token).eq("hourEndsAt", hourEndsAt))
    .unique();
  const close = { token, hourEndsAt, priceUsd, source, takenAt };
  if (row === null) await ctx.db.insert("hourlyCloses", close);
  else if (source !== "llm" || row.source === "llm") await ctx.db.replace("hourlyCloses", row._id, close);
}

/** More go than come, so that the table stays at its size. */
async function forgetOld(ctx: MutationCtx, token: PricedToken, now: number): Promise<void> {
  const old = await ctx.db
    .query("priceSamples")
    .withIndex("by_token_and_takenAt", (q) => q.eq("token", token).lt("takenAt", now - KEPT_MS))
    .take(4);
  for (const { _id } of old) await ctx.db.delete("priceSamples", _id);
}

/** Measured samples that their sources observed in [from, to], epoch ms, oldest first; at most 400: one a minute is the most. */
export async function samplesBetween(
  ctx: QueryCtx,
  token: PricedToken,
  { from, to }: { from: number; to: number },
): Promise<Price[]> {
  const rows = await ctx.db
    .query("priceSamples")
    .withIndex("by_token_and_takenAt", (q) =>
      q
        .eq("token", token)
        .gte("takenAt", from)
        .lte("takenAt", to + HOUR),
    )
    .take(400);
  return rows
    .filter(({ source, observedAt }) => source !== "llm" && observedAt >= from && observedAt <= to)
    .map(priceOf)
    .sort((a, b) => a.observedAt - b.observedAt);
}

/**
 * The closes of the latest hours that had ended by `before` (epoch ms), newest last. Hours in which no sample was taken
 * are missing, so neighbours may be more than an hour apart.
 */
export async function recentHourlyCloses(
  ctx: QueryCtx,
  token: PricedToken,
  { before, count }: { before: number; count: number },
): Promise<HourlyClose[]> {
  const rows = await ctx.db
    .query("hourlyCloses")
    .withIndex("by_token_and_hourEndsAt", (q) => q.eq("token", token).lte("hourEndsAt", before))
    .order("desc")
    .take(count);
  return rows.reverse().map(({ hourEndsAt, priceUsd, source }) => ({ hourEndsAt, priceUsd, source }));
}

/** A price at a moment. */
export type PathPoint = {
  /** Epoch ms. */
  at: number;
  priceUsd: number;
  source: PriceSource;
};

/** Points of a path are this far apart at least. */
const PATH_STEP_MS = 5 * MINUTE;
/** Samples are a minute apart at least, and kept for a week. */
const PATH_SAMPLES = 600;

/**
 * The path of a price between two moments (epoch ms, at most ten hours apart), oldest first: the last sample of each five
 * minutes, and before the first sample that is still kept the closes of the hours.
 */
export async function pathBetween(
  ctx: QueryCtx,
  token: PricedToken,
  { from, to }: { from: number; to: number },
): Promise<PathPoint[]> {
  const samples = await ctx.db
    .query("priceSamples")
    .withIndex("by_token_and_takenAt", (q) => q.eq("token", token).gte("takenAt", from).lte("takenAt", to))
    .take(PATH_SAMPLES);
  const sampledFrom = samples[0]?.takenAt ?? Infinity;
  const closes = await ctx.db
    .query("hourlyCloses")
    .withIndex("by_token_and_hourEndsAt", (q) =>
      q.eq("token", token).gte("hourEndsAt", from).lte("hourEndsAt", to),
    )
    .take(Math.ceil((to - from) / HOUR) + 1);
  const last = new Map<number, PathPoint>();
  for (const { takenAt, priceUsd, source } of samples) {
    last.set(Math.floor(takenAt / PATH_STEP_MS), { at: takenAt, priceUsd, source });
  }
  const earlier = closes
    .filter(({ hourEndsAt }) => hourEndsAt < sampledFrom)
    .map(({ hourEndsAt, priceUsd, source }) => ({ at: hourEndsAt, priceUsd, source }));
  return [...earlier, ...last.values()];
}
