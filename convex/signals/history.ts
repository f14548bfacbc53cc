import { v } from "convex/values";
import { internalMutation, internalQuery } from "../_generated/server";
import { DAY, dayOf } from "../lib/time";
import { enqueueOwnCard } from "../messenger/notices";
import { publishedHead } from "./anchors";
import { latestCard, picturesOf, recapCard, todayNotice } from "./cards";
import { allSignals, latestSignals, recordFor, signalIn, signalsOfDay } from "./model";
import { reviewedDay } from "./recaps";
import { isIssueTime } from "./rules";
import { vSignal, vToken } from "./tables";
import { vRecord } from "./validators";

/** Signals and their history, and their card for those who ask. */

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
  handler: async (ctx, { token, day }) =>
    (await signalsOfDay(ctx, day)).find((one) => one.token === token) ?? null,
});

/** Every signal, oldest first. */
export const all = internalQuery({
  args: {},
  returns: v.array(vSignal),
  handler: allSignals,
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
    return enqueueOwnCard(ctx, { userId, kind: "latest signals", paragraphs, picture });
  },
});

/** Queues today's recap for a user's messenger; `null` if it is not queued. */
export const sendRecap = internalMutation({
  args: { userId: v.string() },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { userId }) => {
    const now = Date.now();
    const day = dayOf(now);
    const { signals, review } = await reviewedDay(ctx, day);
    const notice = todayNotice(signals, isIssueTime(now));
    const yesterday = await signalsOfDay(ctx, dayOf(now - DAY));
    const paragraphs = recapCard(
      { day, signals, notice },
      { yesterday, review, whole: await recordFor(ctx, "ALL") },
    );
    return enqueueOwnCard(ctx, { userId, kind: "daily recap", paragraphs });
  },
});

/**
 * A page of signals, newest first: of a token or of both, generated since a moment and before another (epoch ms); and
 * the record of their whole scope.
 */
export const page = internalQuery({
  args: {
    token: v.union(vToken, v.null()),
    limit: v.number(),
    since: v.optional(v.number()),
    before: v.optional(v.number()),
  },
  returns: v.object({ signals: v.array(vSignal), record: vRecord }),
  handler: async (ctx, { token, limit, since = 0, before = Infinity }) => {
    const signals = ctx.db.query("signals");
    const indexed =
      token === null
        ? signals.withIndex("by_generatedAt", (q) => q.gte("generatedAt", since).lt("generatedAt", before))
        : signals.withIndex("by_token", (q) =>
            q.eq("token", token).gte("generatedAt", since).lt("generatedAt", before),
          );
    const found = (await indexed.order("desc").take(limit)).map(signalIn);
    return { signals: found, record: await recordFor(ctx, token ?? "ALL") };
  },
});
