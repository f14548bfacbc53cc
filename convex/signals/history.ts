import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { findAnswer, beginRefresh } from "../platform/cache";
import { defineMutation, defineCron } from "../platform/changes";
import { vCaller } from "../platform/limits/callers";
import { MINUTE } from "../lib/time";
import { enqueueOwnCard, enqueueServiceCard } from "../messenger/model";
import { createPicture, buildSignalsCard, buildWeekCard } from "./cards";
import { getPublishedHead } from "./chain";
import { listAllSignals, listLatestSignals, recordFor, toSignal, listSignalsOfDay } from "./model";
import { computeTotals } from "./record";
import { listDaysOfWeek, toSignalId, getDueWeek, type Token } from "./rules";
import { vSignal, vToken, type Signal } from "./tables";
import { vRecord } from "./validators";

/** What is read of the signals and told of them: their history, how days stand, and the recaps of weeks. */

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

/**
 * A page of signals, newest first: of a token or of both, generated since a moment and before another (epoch ms); and
 * the record of their whole scope.
 */
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
    return { signals: found, record: await recordFor(ctx, token ?? "ALL") };
  },
});

/** Queues a card with the newest signals for a user's messenger; `null` if none is queued. */
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

/** The answer's key (`platform/cache`): a signal's levels are fixed, so its status says all that a review depends on. */
function reviewKey(day: string, signals: readonly Signal[]): string {
  return `signals review:${day} ${signals.map(({ token, status }) => `${token} ${status}`).join(", ")}`;
}

/** The signals of a UTC day, `2026-11-20`, as they are now, and the review of exactly these outcomes; `null` while there is none. */
export const getDay = internalQuery({
  args: { day: v.string() },
  returns: v.object({ signals: v.array(vSignal), review: v.union(v.string(), v.null()) }),
  handler: async (ctx, { day }) => {
    const signals = await listSignalsOfDay(ctx, day);
    return { signals, review: (await findAnswer(ctx, reviewKey(day, signals)))?.body ?? null };
  },
});

/** After a failure no new review is begun for this long, so that callers do not wait for a gateway that is down. */
const REST_MS = MINUTE;

/** Starts the review of a day, or joins the one under way or that failed within the minute. */
export const beginReview = internalMutation({
  args: { day: v.string(), caller: vCaller },
  returns: v.string(),
  handler: async (ctx, { day, caller }): Promise<string> => {
    const key = reviewKey(day, await listSignalsOfDay(ctx, day));
    return beginRefresh(
      ctx,
      { key, restMs: REST_MS, caller, queue: "models" },
      internal.signals.actions.reviewDay,
      { day },
    );
  },
});

/** The weekly job: has the latest week that is due reviewed. If it runs late, on Monday or after, it is still the week before. */
export const recapDue = defineCron("recap the week's signals", async (ctx) => {
  if (!(await recapWeek(ctx))) await finish(ctx, { week: getDueWeek(Date.now()), review: null, model: null });
});

/** Begins the recap of a week that has none, again if it was lost. @returns Whether the week had a signal. */
export async function recapWeek(ctx: MutationCtx): Promise<boolean> {
  const week = getDueWeek(Date.now());
  if ((await signalsOfWeek(ctx, week)).length === 0) return false;
  if ((await findRecap(ctx, week)) === null)
    await ctx.scheduler.runAfter(0, internal.signals.actions.reviewWeek, { week });
  return true;
}

async function findRecap(ctx: QueryCtx, week: string) {
  return ctx.db
    .query("recaps")
    .withIndex("by_period", (q) => q.eq("period", "week").eq("of", week))
    .unique();
}

async function signalsOfWeek(ctx: QueryCtx, week: string): Promise<Signal[]> {
  return (await Promise.all(listDaysOfWeek(week).map((day) => listSignalsOfDay(ctx, day)))).flat();
}

export const getWeek = internalQuery({
  args: { week: v.string() },
  returns: v.array(vSignal),
  handler: async (ctx, { week }) => signalsOfWeek(ctx, week),
});

const vReview = v.union(v.string(), v.null());

/** Stores the recap and sends its card, once, in one transaction; `null` if no model has reviewed it. */
export const storeWeek = defineMutation({ week: v.string(), review: vReview, model: vReview }, finish);

async function finish(
  ctx: MutationCtx,
  { week, ...written }: { week: string; review: string | null; model: string | null },
): Promise<void> {
  if ((await findRecap(ctx, week)) !== null) return;
  const signals = await signalsOfWeek(ctx, week);
  const of = (day: string, token: Token) =>
    signals.find((one) => one.day === day && one.token === token) ?? null;
  const days = listDaysOfWeek(week).map(
    (day) => [day, { BTC: of(day, "BTC"), ETH: of(day, "ETH") }] as const,
  );
  await ctx.db.insert("recaps", {
    period: "week",
    of: week,
    days: Object.fromEntries(days),
    results: computeTotals(signals),
    ...written,
    generatedAt: Date.now(),
  });
  const [whole, head] = [await recordFor(ctx, "ALL"), await getPublishedHead(ctx)];
  await enqueueServiceCard(ctx, {
    kind: "weekly recap",
    paragraphs: buildWeekCard(week, signals, { review: written.review, whole, head }),
    picture: await createPicture("week", week),
  });
}
