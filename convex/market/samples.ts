import { v, type Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { defineMutation } from "../platform/changes";
import { flushUsage, vProviderUsage } from "../platform/outside/calls";
import { queryByBoth } from "../platform/records";
import { DAY, HOUR, SECOND } from "../lib/time";
import { claimOldLists, storeOutcomes, vOutcome } from "./facts";
import {
  PRICED_TOKENS,
  vClose,
  vPrice,
  vPricedToken,
  vPriceSource,
  type HourlyClose,
  type Price,
  type PricedToken,
} from "./tables";

/** Samples of live prices, and the service's own history of them. */

const vSample = { token: v.string(), priceUsd: v.number(), source: vPriceSource, observedAt: v.number() };

/** How long a sample is reused: less than a minute, so that a minute's tick takes a new one. */
const REUSED_FOR_MS = 55 * SECOND;

function querySamples(ctx: QueryCtx, token: string) {
  return ctx.db.query("priceSamples").withIndex("by_token_and_takenAt", (q) => q.eq("token", token));
}

function queryCloses(ctx: QueryCtx, token: PricedToken) {
  return ctx.db.query("hourlyCloses").withIndex("by_token_and_hourEndsAt", (q) => q.eq("token", token));
}

/** A token's newest sample, however old. */
async function findNewestSample(ctx: QueryCtx, token: string): Promise<Doc<"priceSamples"> | null> {
  return querySamples(ctx, token).order("desc").first();
}

async function findYoungSample(
  ctx: QueryCtx,
  token: string,
  now: number,
): Promise<Doc<"priceSamples"> | null> {
  const newest = await findNewestSample(ctx, token);
  return newest !== null && now - newest.takenAt <= REUSED_FOR_MS ? newest : null;
}

/** A row without the database's own fields. */
function toPrice({ token, priceUsd, source, observedAt, takenAt }: Doc<"priceSamples">): Price {
  return { token, priceUsd, source, observedAt, takenAt };
}

/**
 * Runs every five minutes: samples each token without a recent sample, renews old lists of coins by the same calls, and
 * fetches the day before the service began.
 */
export async function startSampling(ctx: MutationCtx): Promise<void> {
  const now = Date.now();
  const samples = await Promise.all(PRICED_TOKENS.map((token) => findYoungSample(ctx, token, now)));
  if (samples.includes(null)) {
    const lists = await claimOldLists(ctx);
    const newest = lists.length === 0 ? [] : await readNewestPrices(ctx);
    await ctx.scheduler.runAfter(0, internal.market.actions.takeSamples, { lists, newest });
  }
  const oldest = await Promise.all(PRICED_TOKENS.map((token) => queryCloses(ctx, token).first()));
  if (oldest.some((close) => close === null || close.hourEndsAt > now - DAY))
    await ctx.scheduler.runAfter(0, internal.market.actions.learnLastDay, {});
}

/** The newest sample of a token if it can be reused at `now` (epoch ms), otherwise `null`. */
export const getYoungSample = internalQuery({
  args: { token: vPricedToken, now: v.number() },
  returns: v.union(vPrice, v.null()),
  handler: async (ctx, { token, now }) => {
    const sample = await findYoungSample(ctx, token, now);
    return sample === null ? null : toPrice(sample);
  },
});

/** The time of a token's oldest kept sample, epoch ms; `null` if there is none. */
export const getFirstSampleTime = internalQuery({
  args: { token: v.string() },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { token }) => (await querySamples(ctx, token).first())?.takenAt ?? null,
});

/**
 * Stores a sample and its hour's close, unless there is a recent sample: concurrent calls, and a repeated tick, leave
 * one.
 * @returns The sample that counts.
 */
export const storeSample = internalMutation({ args: vSample, returns: vPrice, handler: storeOneSample });

/** Stores the samples of several tokens, what became of claimed lists, and the usage of their sources. */
export const storeAll = defineMutation(
  { samples: v.array(v.object(vSample)), outcomes: v.optional(v.array(vOutcome)), usage: vProviderUsage },
  async (ctx, { samples, outcomes = [], usage }) => {
    await flushUsage(ctx, usage);
    await storeOutcomes(ctx, outcomes);
    for (const sample of samples) await storeOneSample(ctx, sample);
  },
);

/** Stores a coin's prices from before its first sample, so that earlier days are known too. Existing samples take precedence. */
export const storeEarlier = defineMutation(
  {
    token: v.string(),
    source: vPriceSource,
    /** Oldest first; `at` in epoch ms. */
    closes: v.array(v.object({ at: v.number(), priceUsd: v.number() })),
  },
  async (ctx, { token, source, closes }) => {
    const oldest = await querySamples(ctx, token).first();
    for (const { at, priceUsd } of closes) {
      if (oldest !== null && at >= oldest.takenAt) break;
      await ctx.db.insert("priceSamples", { token, source, priceUsd, observedAt: at, takenAt: at });
    }
  },
);

/** Stores the closes of an exchange for hours without one of the service's own. */
export const storeHours = defineMutation(
  {
    token: vPricedToken,
    source: vPriceSource,
    closes: v.array(v.object({ at: v.number(), priceUsd: v.number() })),
  },
  async (ctx, { token, source, closes }) => {
    for (const { at, priceUsd } of closes) {
      const close = { token, hourEndsAt: at, priceUsd, source, takenAt: at };
      if ((await findClose(ctx, token, at)) === null) await ctx.db.insert("hourlyCloses", close);
    }
  },
);

function findClose(ctx: QueryCtx, token: PricedToken, hourEndsAt: number) {
  return queryByBoth(ctx.db.query("hourlyCloses"), "token", token, "hourEndsAt", hourEndsAt).unique();
}

async function storeOneSample(ctx: MutationCtx, sample: Omit<Price, "takenAt">): Promise<Price> {
  const takenAt = Date.now();
  const recent = await findYoungSample(ctx, sample.token, takenAt);
  if (recent !== null) return toPrice(recent);
  const price = { ...sample, takenAt };
  await ctx.db.insert("priceSamples", price);
  const token = PRICED_TOKENS.find((one) => one === sample.token);
  if (token !== undefined) await closeHour(ctx, token, price);
  return price;
}

async function closeHour(
  ctx: MutationCtx,
  token: PricedToken,
  { priceUsd, source, takenAt }: Price,
): Promise<void> {
  const hourEndsAt = (Math.floor(takenAt / HOUR) + 1) * HOUR;
  const row = await findClose(ctx, token, hourEndsAt);
  const close = { token, hourEndsAt, priceUsd, source, takenAt };
  if (row === null) await ctx.db.insert("hourlyCloses", close);
  else await ctx.db.replace("hourlyCloses", row._id, close);
}

/**
 * The closes of the latest hours that had ended by `before` (epoch ms), newest last. Hours without a sample are
 * missing, so neighbours may be more than an hour apart.
 */
export async function listRecentCloses(
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

export const vNewestPrice = vPrice.extend({ dayAgoUsd: v.union(v.number(), v.null()) });

/** The newest price of each token that has one, with its price at the same minute of the day before. */
export const listNewestPrices = internalQuery({
  args: {},
  returns: v.array(vNewestPrice),
  handler: readNewestPrices,
});

async function readNewestPrices(ctx: QueryCtx): Promise<Infer<typeof vNewestPrice>[]> {
  const prices = PRICED_TOKENS.map(async (token) => {
    const sample = await findNewestSample(ctx, token);
    if (sample === null) return [];
    return [{ ...toPrice(sample), dayAgoUsd: await findPriceAt(ctx, token, sample.takenAt - DAY) }];
  });
  return (await Promise.all(prices)).flat();
}

/**
 * The price at a moment (epoch ms): the last sample before it, at most half an hour old, as for alerts; before the first
 * samples, between the closes of the exchange around it. `null` without them.
 */
export async function findPriceAt(ctx: QueryCtx, token: PricedToken, at: number): Promise<number | null> {
  const sample = await ctx.db
    .query("priceSamples")
    .withIndex("by_token_and_takenAt", (q) => q.eq("token", token).lte("takenAt", at))
    .order("desc")
    .first();
  if (sample !== null && at - sample.takenAt <= HOUR / 2) return sample.priceUsd;
  const hour = Math.floor(at / HOUR) * HOUR;
  const from = (await findClose(ctx, token, hour))?.priceUsd;
  if (from === undefined) return null;
  const to = (await findClose(ctx, token, hour + HOUR))?.priceUsd ?? from;
  return from + (to - from) * ((at - hour) / HOUR);
}

/** A price's change since the day before, in percent; `null` if its price then is not known. */
export function computeDayChange({
  priceUsd,
  dayAgoUsd,
}: {
  priceUsd: number;
  dayAgoUsd: number | null;
}): number | null {
  return dayAgoUsd === null ? null : Number(((priceUsd / dayAgoUsd - 1) * 100).toFixed(6)) + 0;
}

/** The closes of the last `count` hours that had ended by `before` (epoch ms), oldest first. */
export const listCloses = internalQuery({
  args: { before: v.number(), count: v.number() },
  returns: v.object({ BTC: v.array(vClose), ETH: v.array(vClose) }),
  handler: async (ctx, range) => ({
    BTC: await listRecentCloses(ctx, "BTC", range),
    ETH: await listRecentCloses(ctx, "ETH", range),
  }),
});

/** The most samples of a path. */
const PATH_SAMPLES = 2_100;

/**
 * The path of a token's price between two times (epoch ms, at most 31 hours apart), oldest first: its samples, and
 * hourly closes before the first stored sample.
 */
export const getPricePath = internalQuery({
  args: { token: vPricedToken, from: v.number(), to: v.number() },
  returns: v.array(v.object({ at: v.number(), priceUsd: v.number(), source: vPriceSource })),
  handler: async (ctx, { token, from, to }) => {
    const samples = await ctx.db
      .query("priceSamples")
      .withIndex("by_token_and_takenAt", (q) => q.eq("token", token).gte("takenAt", from).lte("takenAt", to))
      .take(PATH_SAMPLES);
    const sampledFrom = samples[0]?.takenAt ?? Infinity;
    const count = Math.ceil((to - from) / HOUR) + 1;
    const earlier = (await listRecentCloses(ctx, token, { before: to, count })).filter(
      ({ hourEndsAt }) => hourEndsAt >= from && hourEndsAt < sampledFrom,
    );
    return [
      ...earlier.map(({ hourEndsAt: at, priceUsd, source }) => ({ at, priceUsd, source })),
      ...samples.map(({ takenAt: at, priceUsd, source }) => ({ at, priceUsd, source })),
    ];
  },
});
