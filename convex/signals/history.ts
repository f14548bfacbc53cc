import { v } from "convex/values";
import { internalMutation, internalQuery } from "../_generated/server";
import { enqueueRequestedCard } from "../messenger/notices";
import { countedDays } from "./arms/days";
import { publishedHead } from "./record/publication";
import { eventsAfter, headOf, newestOf } from "./record/chain";
import { CUTS, latestSignals, reviewedDay, signalIn, signalsOfDay, totalsOf } from "./record/model";
import { DAILY, vDesk, vDeskEvent, vSignal, vToken } from "./record/rows";
import { statisticsOf } from "./statistics/figures";
import { totalsFields } from "./statistics/rows";
import { vHead } from "./validators";
import { latestCard, picturesOf, recapCard } from "./views/cards";

/** The daily signals and their history, and their card for those who ask. */

/** The newest signal of each of the tokens that has one. */
export const latest = internalQuery({
  args: { tokens: v.array(vToken) },
  returns: v.array(vSignal),
  handler: async (ctx, { tokens }) => latestSignals(ctx, tokens),
});

/** A token's signal of a UTC day, `2026-11-20`. */
export const ofDay = internalQuery({
  args: { token: vToken, day: v.string() },
  returns: v.union(vSignal, v.null()),
  handler: async (ctx, { token, day }) => {
    const signals = await signalsOfDay(ctx, day);
    return signals.find((one) => one.token === token) ?? null;
  },
});

/** Queues a card with the newest signals for a user's messenger; `null` if none is queued. */
export const sendLatest = internalMutation({
  args: { tokens: v.array(vToken), userId: v.string() },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { tokens, userId }) => {
    const signals = await latestSignals(ctx, tokens);
    if (signals.length === 0) return null;
    const paragraphs = latestCard(signals, await publishedHead(ctx));
    const picture = await picturesOf(signals);
    return enqueueRequestedCard(ctx, { userId, kind: "latest signals", paragraphs, picture });
  },
});

/** Queues the day's recap for a user's messenger; `null` if it is not queued. */
export const sendRecap = internalMutation({
  args: { day: v.string(), userId: v.string() },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { day, userId }) => {
    const { signals, review } = await reviewedDay(ctx, day);
    const whole = statisticsOf(await totalsOf(ctx, DAILY, "ALL"));
    const paragraphs = recapCard(day, signals, { review, whole });
    return enqueueRequestedCard(ctx, { userId, kind: "daily recap", paragraphs });
  },
});

/** A page of signals: of a token or of both, generated since a moment and before another (epoch ms). */
const vPageQuery = v.object({
  /** If left out, the daily signals. */
  arm: v.optional(v.string()),
  token: v.union(vToken, v.null()),
  limit: v.number(),
  since: v.optional(v.number()),
  before: v.optional(v.number()),
});

/**
 * Signals, newest first, the totals of their whole scope, and which of the signals' days the totals' arms count. The
 * cost of a page depends on its own length only, no matter how long the record is.
 */
export const page = internalQuery({
  args: vPageQuery,
  returns: v.object({
    signals: v.array(vSignal),
    totals: v.object(totalsFields),
    counted: v.array(v.string()),
  }),
  handler: async (ctx, { arm = DAILY, token, limit, since = 0, before = Infinity }) => {
    const signals = ctx.db.query("signals");
    const indexed =
      token === null
        ? signals.withIndex("by_arm", (q) =>
            q.eq("arm", arm).gte("generatedAt", since).lt("generatedAt", before),
          )
        : signals.withIndex("by_token", (q) =>
            q.eq("arm", arm).eq("token", token).gte("generatedAt", since).lt("generatedAt", before),
          );
    const found = (await indexed.order("desc").take(limit)).map(signalIn);
    const totals = await totalsOf(ctx, arm, token ?? "ALL");
    return { signals: found, totals, counted: await countedDays(ctx, arm, found) };
  },
});

/** The kind of event of the daily chain that holds another desk's head. */
const HOLDERS = { lab: "shadow", people: "people" } as const;

/**
 * Events of a desk's chain after a sequence number, in order; its head; and the event of the daily chain that last
 * contained it.
 */
export const chain = internalQuery({
  args: { desk: vDesk, after: v.number(), limit: v.number() },
  returns: v.object({
    rows: v.array(vDeskEvent),
    head: vHead,
    /** In the daily chain; `null` before the first one, and for the daily chain itself. */
    heldBy: v.union(v.number(), v.null()),
  }),
  handler: async (ctx, { desk, ...range }) => {
    const holders = desk === "daily" ? [] : await newestOf(ctx, HOLDERS[desk], 1);
    return {
      rows: await eventsAfter(ctx, desk, range),
      ...{ head: await headOf(ctx, desk), heldBy: holders.at(0)?.sequence ?? null },
    };
  },
});

/** How many models and prompts are shown. */
const MOST_MODELS = 20;

/**
 * The results of parts of a record: by side, by how far the price moved, and for the daily signals by model and prompt.
 */
export const cuts = internalQuery({
  args: { arm: v.optional(v.string()) },
  returns: v.array(v.object({ cut: v.string(), totals: v.object(totalsFields) })),
  handler: async (ctx, { arm = DAILY }) => {
    const ofModels = await ctx.db
      .query("signalTotals")
      // The arms that begin with `daily/`.
      .withIndex("by_arm", (q) => q.gt("arm", `${DAILY}/`).lt("arm", `${DAILY}0`))
      .take(3 * MOST_MODELS);
    const models = arm === DAILY ? ofModels.filter(({ scope }) => scope === "ALL") : [];
    const wanted = [
      ...CUTS.map((scope) => ({ cut: scope, of: arm, scope })),
      ...models.map((row) => ({ cut: row.arm.slice(DAILY.length + 1), of: row.arm, scope: row.scope })),
    ];
    return Promise.all(
      wanted.map(async ({ cut, of, scope }) => ({ cut, totals: await totalsOf(ctx, of, scope) })),
    );
  },
});
