import { v } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import { enqueueRequestedCard } from "../messenger/notices";
import { latestCard } from "./cards";
import { signalsDrawn } from "./drawn";
import { bare, chainHeadOf, findSignal, latestSignals, totalsOf } from "./model";
import type { Token } from "./rules";
import { vHead, vSignal, vSignalEvent, vToken } from "./tables";
import { totalsFields } from "./totals";

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
    const row = await findSignal(ctx, token, day);
    return row === null ? null : bare(row);
  },
});

/** Queues a card with the newest signals for a user's messenger; `null` when none is. */
export const sendLatest = internalMutation({
  args: { tokens: v.array(vToken), userId: v.string() },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { tokens, userId }) => {
    const signals = await latestSignals(ctx, tokens);
    if (signals.length === 0) return null;
    const paragraphs = latestCard(signals, await chainHeadOf(ctx));
    const picture = await signalsDrawn(signals);
    return enqueueRequestedCard(ctx, { userId, kind: "latest signals", paragraphs, picture });
  },
});

/** Signals, newest first, and the totals of their whole scope. A page costs its own length, however long the record. */
export const page = internalQuery({
  args: {
    token: v.union(vToken, v.null()),
    limit: v.number(),
    /** Only those generated since this moment, and before the other. */
    since: v.union(v.number(), v.null()),
    before: v.union(v.number(), v.null()),
  },
  returns: v.object({ signals: v.array(vSignal), totals: v.object(totalsFields) }),
  handler: async (ctx, { token, limit, since, before }) => {
    const between = { since: since ?? 0, before: before ?? Infinity };
    const rows = await newestFirst(ctx, token, between).take(limit);
    return { signals: rows.map(bare), totals: await totalsOf(ctx, token ?? "ALL") };
  },
});

/** The end of a record with the totals of all of it, and which of its days the totals' arms count. */
export const end = internalQuery({
  args: { token: v.union(vToken, v.null()), limit: v.number() },
  returns: v.object({
    signals: v.array(vSignal),
    totals: v.object(totalsFields),
    counted: v.array(v.string()),
  }),
  handler: async (ctx, { token, limit }) => {
    const rows = await newestFirst(ctx, token, {}).take(limit);
    const days = await ctx.db
      .query("signalDays")
      .withIndex("by_day", (q) => q.gte("day", rows.at(-1)?.day ?? ""))
      .take(2 * limit);
    return {
      signals: rows.map(bare),
      totals: await totalsOf(ctx, token ?? "ALL"),
      counted: days.map(({ day }) => day),
    };
  },
});

/** Signals since a moment (epoch ms), newest first, at most `limit`. */
export const since = internalQuery({
  args: { token: v.union(vToken, v.null()), since: v.number(), limit: v.number() },
  returns: v.array(vSignal),
  handler: async (ctx, { token, since, limit }) => {
    const rows = await newestFirst(ctx, token, { since }).take(limit);
    return rows.map(bare);
  },
});

/** Events of the chain behind a sequence number, in order, and the chain's head. */
export const proof = internalQuery({
  args: { after: v.number(), limit: v.number() },
  returns: v.object({ events: v.array(vSignalEvent), head: vHead }),
  handler: async (ctx, { after, limit }) => {
    const rows = await ctx.db
      .query("signalEvents")
      .withIndex("by_sequence", (q) => q.gt("sequence", after))
      .take(limit);
    return { events: rows.map(bareEvent), head: await chainHeadOf(ctx) };
  },
});

/** Those generated since a moment and before another. */
function newestFirst(
  ctx: QueryCtx,
  token: Token | null,
  { since = 0, before = Infinity }: { since?: number; before?: number },
) {
  const signals = ctx.db.query("signals");
  const indexed =
    token === null
      ? signals.withIndex("by_generatedAt", (q) => q.gte("generatedAt", since).lt("generatedAt", before))
      : signals.withIndex("by_token", (q) =>
          q.eq("token", token).gte("generatedAt", since).lt("generatedAt", before),
        );
  return indexed.order("desc");
}

function bareEvent({ _id, _creationTime, ...event }: Doc<"signalEvents">) {
  return event;
}
