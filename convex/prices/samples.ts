import { v } from "convex/values";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import { keepNoted, vNoted } from "../lib/outside/tallies";
import { DAY, HOUR } from "../lib/time";
import { priceOf, youngSample } from "./model";
import { vPrice, vPricedToken, vPriceSource, type Price, type PricedToken } from "./tables";

/** A week, and the week before it, that changes within it are told from. */
const KEPT_MS = 15 * DAY;

const vSample = { token: vPricedToken, priceUsd: v.number(), source: vPriceSource, observedAt: v.number() };

/** The newest sample of a token where it is young enough to serve at `now` (epoch ms), else `null`. */
export const young = internalQuery({
  args: { token: vPricedToken, now: v.number() },
  returns: v.union(vPrice, v.null()),
  handler: async (ctx, { token, now }) => {
    const sample = await youngSample(ctx, token, now);
    return sample === null ? null : priceOf(sample);
  },
});

/** What feeds and tickers observed in [from, to], epoch ms, oldest first; at most 400 samples: one a minute is the most. */
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
 * Stores a sample and its hour's close. Two that race, and a tick that runs twice, leave one: a young sample is not
 * followed by another, unless it came from the model and the new one does not.
 * @returns The sample that counts.
 */
export const store = internalMutation({
  args: vSample,
  returns: vPrice,
  handler: keep,
});

/** Those of several tokens together, and how their sources answered. */
export const storeAll = internalMutation({
  args: { samples: v.array(v.object(vSample)), noted: vNoted },
  returns: v.null(),
  handler: async (ctx, { samples, noted }) => {
    await keepNoted(ctx, noted);
    for (const sample of samples) await keep(ctx, sample);
    return null;
  },
});

async function keep(ctx: MutationCtx, sample: Omit<Price, "takenAt">): Promise<Price> {
  const takenAt = Date.now();
  const young = await youngSample(ctx, sample.token, takenAt);
  if (young !== null && (young.source !== "llm" || sample.source === "llm")) return priceOf(young);
  const price = { ...sample, takenAt };
  await ctx.db.insert("priceSamples", price);
  await closeHour(ctx, price);
  await forgetOld(ctx, sample.token, takenAt);
  return price;
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
