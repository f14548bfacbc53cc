import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { dueWork } from "../lib/cronRuns";
import { signed } from "../lib/text/numbers";
import { dollars } from "../lib/text/strings";
import { HOUR, iso, MINUTE } from "../lib/time";
import { spanText, type Paragraph } from "../messenger/format";
import { enqueueOwnCard } from "../messenger/notices";
import { tellOwner } from "../messenger/webhooks/events";
import { PRICED_TOKENS } from "../market/tables";
import { signalsDigest } from "../signals/cards";
import { whalesDigest } from "../whales/cards";
import { digestCard, expiredCard, firedButtons, firingCard, type Move } from "./cards";
import {
  CLOCK,
  describe,
  hours,
  isAlwaysSampled,
  isEvent,
  isNews,
  nextTime,
  QUIET_MS,
  subjectOf,
} from "./grammar";
import { cursorOf, switchOff } from "./model";
import { lastObservation, newestAt, observationsAfter } from "./observations";
import type { Observation } from "./tables";

/**
 * Compares what the service observes with the alerts that it concerns. The tick reads a row or two for each subject
 * that somebody has an alert on. A comparison reads only the alerts whose levels an observation has crossed.
 */

/** How many alerts may fire in one transaction: each is a card, a firing and posts. */
const BATCH = 50;
/** How many observations of one subject are compared in one transaction. */
const OBSERVATIONS = 20;
/** Funding rates are asked for at most this often. */
const FUNDING_EVERY_MS = 10 * MINUTE;
/** As often as the coins that are always sampled. */
const PRICES_EVERY_MS = 5 * MINUTE;
/** A digest that would be later than this is left out, because the next one is near. */
const LATEST_MS = HOUR;

/** For the cron, every minute. */
export const tick = dueWork(async (ctx) => {
  const now = Date.now();
  const stale: string[] = [];
  for (const subject of await subjectsInUse(ctx)) {
    if (subject === CLOCK) {
      await ctx.scheduler.runAfter(0, internal.alerts.watch.sendDigests, {});
      continue;
    }
    const cursor = await cursorOf(ctx, subject);
    if (cursor === null) continue;
    const observes = subjectOf(subject);
    if (observes.kind === "funding") {
      if (now - cursor.at >= FUNDING_EVERY_MS) stale.push(subject);
      continue;
    }
    const newest = await newestAt(ctx, observes);
    if (newest > cursor.at) await ctx.scheduler.runAfter(0, internal.alerts.watch.compare, { subject });
    if (observes.kind !== "flow" && !isAlwaysSampled(observes.token) && now - newest >= PRICES_EVERY_MS)
      stale.push(subject);
  }
  if (stale.length > 0) await ctx.scheduler.runAfter(0, internal.alerts.desk.observe, { subjects: stale });
  await endExpired(ctx, now);
});

/** Each subject with an active alert, with one read for each. */
async function subjectsInUse(ctx: QueryCtx): Promise<string[]> {
  const subjects: string[] = [];
  for (let last = ""; ;) {
    const after = last;
    const row = await ctx.db
      .query("alerts")
      .withIndex("by_level", (q) => q.eq("state", "active").gt("subject", after))
      .first();
    if (row === null) return subjects;
    subjects.push(row.subject);
    last = row.subject;
  }
}

/** Ends the alerts whose time is over, and says so: nobody gets messages for ever about what they have forgotten. */
async function endExpired(ctx: MutationCtx, now: number): Promise<void> {
  const due = await ctx.db
    .query("alerts")
    .withIndex("by_expiresAt", (q) => q.eq("state", "active").lte("expiresAt", now))
    .take(BATCH);
  for (const row of due) {
    await switchOff(ctx, row);
    const { answer: paragraphs, buttons } = expiredCard(row);
    await enqueueOwnCard(ctx, { userId: row.userId, kind: "alert", paragraphs, buttons });
  }
}

/** Of the observations behind the cursor at `from`, `done` are compared, and the next one with the alerts before `page`. */
const vRest = v.object({ from: v.number(), done: v.number(), page: v.union(v.string(), v.null()) });

/**
 * Compares the new observations of a subject with its alerts, in their order. One transaction fires a page of
 * them. Doing it twice fires nothing twice, because an alert that has fired is quiet.
 */
export const compare = change(
  { subject: v.string(), rest: v.optional(vRest) },
  async (ctx, { subject, rest }) => {
    const cursor = await cursorOf(ctx, subject);
    if (cursor === null || (rest !== undefined && rest.from !== cursor.at)) return;
    const { done = 0, page = null } = rest ?? {};
    const found = await observationsAfter(ctx, subject, cursor.at, OBSERVATIONS);
    let { last } = cursor;
    for (const [n, one] of found.observations.entries()) {
      if (!isNews(one, last, subject)) continue;
      const crossed = n < done ? null : crossedBy(ctx, subject, one, last);
      last = one;
      if (crossed === null || (await crossed().first()) === null) continue;
      const alerts = await crossed().paginate({ numItems: BATCH, cursor: n === done ? page : null });
      await fireAll(ctx, subject, one, alerts.page);
      // One page of a query is what a transaction may read.
      const next = {
        from: cursor.at,
        ...(alerts.isDone ? { done: n + 1, page: null } : { done: n, page: alerts.continueCursor }),
      };
      await ctx.scheduler.runAfter(0, internal.alerts.watch.compare, { subject, rest: next });
      return;
    }
    await ctx.db.patch("alertCursors", cursor._id, { at: found.at, last });
    if (found.more) await ctx.scheduler.runAfter(0, internal.alerts.watch.compare, { subject });
  },
);

/** The alerts whose level the last observation was not beyond, and this one is; `null` if there can be none. */
function crossedBy(ctx: QueryCtx, subject: string, { value }: Observation, last: Observation | null) {
  const of = (side: "over" | "under") => {
    const from = last?.value ?? 0;
    return ctx.db.query("alerts").withIndex("by_level", (q) => {
      const levels = q.eq("state", "active").eq("subject", subject).eq("side", side);
      if (isEvent(subject)) return levels.lte("level", value);
      return side === "over"
        ? levels.gt("level", from).lte("level", value)
        : levels.gte("level", value).lt("level", from);
    });
  };
  if (isEvent(subject)) return () => of("over");
  if (last === null || last.value === value) return null;
  return () => of(last.value < value ? "over" : "under");
}

async function fireAll(ctx: MutationCtx, subject: string, one: Observation, alerts: Doc<"alerts">[]) {
  const ready = alerts.filter(({ readyAt }) => readyAt <= one.at);
  if (ready.length === 0) return;
  const move = await moveOf(ctx, subject, one);
  for (const alert of ready)
    await fire(ctx, alert, one, one.at + QUIET_MS, firingCard(alert.condition, one, move));
}

/**
 * Fires an alert for an observation, once, in one transaction: a row, a card for the user's own chat, and a row for each
 * webhook.
 */
async function fire(
  ctx: MutationCtx,
  alert: Doc<"alerts">,
  observation: Observation,
  readyAt: number,
  paragraphs: readonly Paragraph[],
): Promise<void> {
  const { _id: alertId, userId, condition } = alert;
  const { observedAt } = observation;
  const end = alert.once === true ? ({ state: "off", endedAt: Date.now() } as const) : {};
  const known = await ctx.db
    .query("alertFirings")
    .withIndex("by_alertId_and_observedAt", (q) => q.eq("alertId", alertId).eq("observedAt", observedAt))
    .unique();
  if (known !== null) return;
  await ctx.db.patch("alerts", alertId, { readyAt, fired: alert.fired + 1, lastFiredAt: Date.now(), ...end });
  const text = paragraphs.map((spans) => spans.map(spanText).join("")).join("\n");
  const firingId = await ctx.db.insert("alertFirings", { alertId, userId, observation, text, observedAt });
  const handle =
    condition.kind === "digest" ? null : await createFunctionHandle(internal.pages.pictures.alert);
  await enqueueOwnCard(ctx, {
    userId,
    kind: "alert",
    topic: `alert:${alertId}`,
    paragraphs,
    buttons: firedButtons(alert),
    picture: handle === null ? undefined : { handle, subject: alertId },
  });
  await tellOwner(ctx, userId, "alert.fired", () => {
    const seen = { ...observation, at: iso(observation.at), observedAt: iso(observedAt) };
    return { firingId, observation: seen, alertId, condition, words: describe(condition), text };
  });
}

/** The samples of an hour and a few minutes. */
const HOUR_ROWS = 70;

/** The move of a coin's price that an observation shows; `null` if it is not about a price. */
async function moveOf(ctx: QueryCtx, subject: string, one: Observation): Promise<Move | null> {
  const about = subjectOf(subject);
  if (about.kind === "price") {
    const { observations } = await observationsAfter(ctx, subject, one.at - HOUR - 5 * MINUTE, HOUR_ROWS);
    const [first] = observations;
    const minutes = first === undefined ? 0 : Math.round((one.at - first.at) / MINUTE);
    const span = minutes < 50 ? `${minutes} min` : hours(1);
    const before = first === undefined || minutes === 0 ? null : { priceUsd: first.value, span };
    return { priceUsd: one.value, before };
  }
  if (about.kind !== "change") return null;
  const price = await lastObservation(ctx, `price:${about.token}`, one.at);
  if (price === null) return null;
  const before = { priceUsd: price.value / (1 + one.value / 100), span: hours(about.windowHours) };
  return { priceUsd: price.value, before };
}

/** Sends the digests whose time has come, each once, and says when the next one is due. */
export const sendDigests = change({}, async (ctx) => {
  const now = Date.now();
  const due = await ctx.db
    .query("alerts")
    .withIndex("by_readyAt", (q) => q.eq("state", "active").eq("subject", CLOCK).lte("readyAt", now))
    .take(BATCH);
  if (due.length === 0) return;
  const parts = await Promise.all([pricesDigest(ctx, now), signalsDigest(ctx, now), whalesDigest(ctx, now)]);
  for (const alert of due) {
    const { condition, readyAt } = alert;
    if (condition.kind !== "digest") continue;
    const next = nextTime(condition.time, condition.timeZone, now);
    if (now - readyAt > LATEST_MS) {
      await ctx.db.patch("alerts", alert._id, { readyAt: next });
      continue;
    }
    const one = { at: readyAt, observedAt: readyAt, value: 0, source: "clock" };
    await fire(ctx, alert, one, next, digestCard(condition, parts));
  }
  if (due.length === BATCH) await ctx.scheduler.runAfter(0, internal.alerts.watch.sendDigests, {});
});

async function pricesDigest(ctx: QueryCtx, now: number): Promise<Paragraph> {
  const lines = PRICED_TOKENS.map(async (token) => {
    const price = await lastObservation(ctx, `price:${token}`, now);
    if (price === null) return `\n${token}: not known`;
    const change = await lastObservation(ctx, `change:${token}:24`, now);
    const moved = change === null ? "" : ` (${signed(change.value)} in 24 hours)`;
    return `\n${token} ${dollars(price.value)}${moved}`;
  });
  return [{ bold: "Prices" }, ...(await Promise.all(lines))];
}
