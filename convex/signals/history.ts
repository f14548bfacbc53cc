import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { findAnswer } from "../platform/answers";
import { beginRefresh } from "../platform/cache";
import { defineMutation, defineCron } from "../platform/changes";
import { vCaller } from "../platform/limits/callers";
import { MINUTE } from "../lib/time";
import { broadcast } from "../messenger/subscriptions";
import { enqueueOwnCard } from "../messenger/model";
import { createPicture, buildSignalsCard, buildWeekCard } from "./cards";
import { getPublishedHead } from "./chain";
import { listAllSignals, listLatestSignals, getRecord, toSignal, listSignalsOfDay } from "./model";
import { computeTotals } from "./record";
import { listDaysOfWeek, toSignalId, getDueWeek, type Token } from "./rules";
import { vRecord, vSignal, vToken, type Signal } from "./tables";

/** Queries and cards of the signals: their history, the totals of days, and the recaps of weeks. */

/** The newest signal of each of the tokens that has one. */
export const readLatestSignals = internalQuery({
  args: { tokens: v.array(vToken) },
  returns: v.array(vSignal),
  handler: async (ctx, { tokens }) => listLatestSignals(ctx, tokens),
});

/** Every signal, oldest first. */
export const readAllSignals = internalQuery({
  args: {},
  returns: v.array(vSignal),
  handler: listAllSignals,
});

/** A page of signals, newest first, of a token or of both, generated from `since` to `before` (epoch ms); and the record of all of them. */
export const listSignalPage = internalQuery({
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
    const found = (await indexed.order("desc").take(limit)).map(toSignal);
    return { signals: found, record: await getRecord(ctx, token ?? "ALL") };
  },
});

const vId = v.union(v.string(), v.null());

/** The ids of a token's signals next to one, which was generated at a moment (epoch ms). */
export const findNeighbours = internalQuery({
  args: { token: vToken, generatedAt: v.number() },
  returns: v.object({ earlier: vId, later: vId }),
  handler: async ({ db }, { token, generatedAt: at }) => {
    const [earlier, later] = await Promise.all([
      db
        .query("signals")
        .withIndex("by_token", (q) => q.eq("token", token).lt("generatedAt", at))
        .order("desc")
        .first(),
      db
        .query("signals")
        .withIndex("by_token", (q) => q.eq("token", token).gt("generatedAt", at))
        .first(),
    ]);
    const toId = (row: Signal | null) => (row === null ? null : toSignalId(row));
    return { earlier: toId(earlier), later: toId(later) };
  },
});

/** Queues a card with the newest signals for a user's messenger; `null` without a signal or a chat. */
export const sendLatest = internalMutation({
  args: { tokens: v.array(vToken), userId: v.string() },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { tokens, userId }) => {
    const signals = await listLatestSignals(ctx, tokens);
    if (signals.length === 0) return null;
    const paragraphs = buildSignalsCard("Latest signals", signals, await getPublishedHead(ctx));
    const picture = await createPicture("signals", signals.map(toSignalId).join(","));
    return enqueueOwnCard(ctx, { userId, kind: "latest signals", paragraphs, picture });
  },
});

/** The cache key of a review: the levels of a signal are fixed, so a review depends on the statuses alone. */
function buildReviewKey(day: string, signals: readonly Signal[]): string {
  return `signals review:${day} ${signals.map(({ token, status }) => `${token} ${status}`).join(", ")}`;
}

/** The signals of a UTC day (`2026-11-20`), and the review of exactly these outcomes; `null` while there is no review. */
export const getDay = internalQuery({
  args: { day: v.string() },
  returns: v.object({ signals: v.array(vSignal), review: v.union(v.string(), v.null()) }),
  handler: async (ctx, { day }) => {
    const signals = await listSignalsOfDay(ctx, day);
    return { signals, review: (await findAnswer(ctx, buildReviewKey(day, signals)))?.body ?? null };
  },
});

/** The cooldown after a failed review, so that callers do not wait for a gateway that is down. */
const COOLDOWN_MS = MINUTE;

/** Starts the review of a day, unless one is under way or failed within the cooldown. @returns Its cache key. */
export const beginReview = internalMutation({
  args: { day: v.string(), caller: vCaller },
  returns: v.string(),
  handler: async (ctx, { day, caller }): Promise<string> => {
    const key = buildReviewKey(day, await listSignalsOfDay(ctx, day));
    return beginRefresh(
      ctx,
      { key, restMs: COOLDOWN_MS, caller, queue: "models" },
      internal.signals.actions.reviewDay,
      { day },
    );
  },
});

/** The weekly job: starts the recap of the latest due week. A late run, on Monday or after, still takes the week before. */
export const recapDue = defineCron("recap the week's signals", async (ctx) => {
  if (!(await recapWeek(ctx)))
    await finishWeek(ctx, { week: getDueWeek(Date.now()), review: null, model: null });
});

/** Starts the recap of the latest due week, unless it is stored. @returns Whether the week had a signal. */
export async function recapWeek(ctx: MutationCtx): Promise<boolean> {
  const week = getDueWeek(Date.now());
  if ((await listSignalsOfWeek(ctx, week)).length === 0) return false;
  if ((await findRecap(ctx, week)) === null)
    await ctx.scheduler.runAfter(0, internal.signals.actions.reviewWeek, { week });
  return true;
}

async function findRecap(ctx: QueryCtx, week: string) {
  return ctx.db
    .query("signalSummaries")
    .withIndex("by_period", (q) => q.eq("period", "week").eq("of", week))
    .unique();
}

async function listSignalsOfWeek(ctx: QueryCtx, week: string): Promise<Signal[]> {
  return (await Promise.all(listDaysOfWeek(week).map((day) => listSignalsOfDay(ctx, day)))).flat();
}

export const getWeek = internalQuery({
  args: { week: v.string() },
  returns: v.array(vSignal),
  handler: async (ctx, { week }) => listSignalsOfWeek(ctx, week),
});

const vReview = v.union(v.string(), v.null());

/** Stores the recap and sends its card, once, in one transaction; `review` and `model` are `null` without a model's review. */
export const storeWeek = defineMutation({ week: v.string(), review: vReview, model: vReview }, finishWeek);

async function finishWeek(
  ctx: MutationCtx,
  { week, ...written }: { week: string; review: string | null; model: string | null },
): Promise<void> {
  if ((await findRecap(ctx, week)) !== null) return;
  const signals = await listSignalsOfWeek(ctx, week);
  const of = (day: string, token: Token) =>
    signals.find((one) => one.day === day && one.token === token) ?? null;
  const days = listDaysOfWeek(week).map(
    (day) => [day, { BTC: of(day, "BTC"), ETH: of(day, "ETH") }] as const,
  );
  await ctx.db.insert("signalSummaries", {
    period: "week",
    of: week,
    days: Object.fromEntries(days),
    results: computeTotals(signals),
    ...written,
    generatedAt: Date.now(),
  });
  const [whole, head] = [await getRecord(ctx, "ALL"), await getPublishedHead(ctx)];
  await broadcast(ctx, "weekly", {
    kind: "weekly recap",
    paragraphs: buildWeekCard(week, signals, { review: written.review, whole, head }),
    picture: await createPicture("week", week),
  });
}
