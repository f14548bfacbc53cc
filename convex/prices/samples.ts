import { v } from "convex/values";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { keepNoted, vNoted } from "../lib/outside/tallies";
import { HOUR } from "../lib/time";
import { rowsByBoth } from "../lib/records/rows";
import { priceOf, youngSample } from "./model";
import { PRICED_TOKENS, vPrice, vPricedToken, vPriceSource, type Price } from "./tables";

const vSample = { token: v.string(), priceUsd: v.number(), source: vPriceSource, observedAt: v.number() };

/** The newest sample of a token if it can be reused at `now` (epoch ms), otherwise `null`. */
export const young = internalQuery({
  args: { token: vPricedToken, now: v.number() },
  returns: v.union(vPrice, v.null()),
  handler: async (ctx, { token, now }) => {
    const sample = await youngSample(ctx, token, now);
    return sample === null ? null : priceOf(sample);
  },
});

/** The time of a token's oldest kept sample, epoch ms; `null` if there is none. */
export const first = internalQuery({
  args: { token: v.string() },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { token }) => (await oldest(ctx, token))?.takenAt ?? null,
});

function oldest(ctx: QueryCtx, token: string) {
  return ctx.db
    .query("priceSamples")
    .withIndex("by_token_and_takenAt", (q) => q.eq("token", token))
    .first();
}

/** Samples of feeds and tickers in [from, to], epoch ms, oldest first; at most 400 (there is at most one per minute). */
export const between = internalQuery({
  args: { token: vPricedToken, from: v.number(), to: v.number() },
  returns: v.array(vPrice),
  handler: async (ctx, { token, from, to }) => {
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
  },
});

/**
 * Stores a sample and its hour's close. Two concurrent samples, and a repeated tick, leave one: a recent sample is not
 * followed by another, unless it came from the model and the new one does not.
 * @returns The sample that counts.
 */
export const store = internalMutation({
  args: vSample,
  returns: vPrice,
  handler: keep,
});

/** Stores the samples of several tokens, and how their sources answered. */
export const storeAll = change(
  { samples: v.array(v.object(vSample)), noted: vNoted },
  async (ctx, { samples, noted }) => {
    await keepNoted(ctx, noted);
    for (const sample of samples) await keep(ctx, sample);
  },
);

/** Stores a coin's prices from before its first sample, so that earlier days are known too. Existing samples take precedence. */
export const storeEarlier = change(
  {
    token: v.string(),
    source: vPriceSource,
    /** Oldest first; `at` in epoch ms. */
    closes: v.array(v.object({ at: v.number(), priceUsd: v.number() })),
  },
  async (ctx, { token, source, closes }) => {
    const first = await oldest(ctx, token);
    for (const { at, priceUsd } of closes) {
      if (first !== null && at >= first.takenAt) break;
      await ctx.db.insert("priceSamples", { token, source, priceUsd, observedAt: at, takenAt: at });
    }
  },
);

async function keep(ctx: MutationCtx, sample: Omit<Price, "takenAt">): Promise<Price> {
  const takenAt = Date.now();
  const young = await youngSample(ctx, sample.token, takenAt);
  if (young !== null && (young.source !== "llm" || sample.source === "llm")) return priceOf(young);
  const price = { ...sample, takenAt };
  await ctx.db.insert("priceSamples", price);
  await closeHour(ctx, price);
  return price;
}

/** The model's price never replaces a better source's. */
async function closeHour(
  ctx: MutationCtx,
  { token: sampled, priceUsd, source, takenAt }: Price,
): Promise<void> {
  const token = PRICED_TOKENS.find((one) => one === sampled);
  if (token === undefined) return;
  const hourEndsAt = (Math.floor(takenAt / HOUR) + 1) * HOUR;
  const row = await rowsByBoth(
    ctx.db.query("hourlyCloses"),
    "token",
    token,
    "hourEndsAt",
    hourEndsAt,
  ).unique();
  const close = { token, hourEndsAt, priceUsd, source, takenAt };
  if (row === null) await ctx.db.insert("hourlyCloses", close);
  else if (source !== "llm" || row.source === "llm") await ctx.db.replace("hourlyCloses", row._id, close);
}
