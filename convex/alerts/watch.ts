import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { dueWork } from "../lib/cronRuns";
import { HOUR, MINUTE } from "../lib/time";
import { startReview } from "./lifetimes";
import { cursorOf } from "./model";
import { lastObservation, newestAt, observationsAfter } from "./history/observations";
import { holds, isEvent, isNews, QUIET_MS } from "./history/rules";
import { CLOCK, isAlwaysSampled, subjectOf } from "./history/subjects";
import type { Observation } from "./tables";
import { hours } from "./language/sentences";
import { fire, firingCard, type Move } from "./firings";

/**
 * Compares what the service observes with the alerts that it concerns. The tick reads a row or two for each subject
 * that somebody has an alert on. A comparison reads only the alerts that it changes, no matter how many others there
 * are.
 */

/** How many alerts may change in one transaction, for each kind of change: each alert that fires is a card. */
const BATCH = 25;
/** How many observations of one subject are compared in one transaction. */
const OBSERVATIONS = 20;
/** Funding rates are asked for at most this often. */
const FUNDING_EVERY_MS = 10 * MINUTE;
/** As often as the coins that are always sampled. */
const PRICES_EVERY_MS = 5 * MINUTE;

/** For the cron, every minute. */
export const tick = dueWork(async (ctx) => {
  const now = Date.now();
  const stale: string[] = [];
  for (const subject of await subjectsInUse(ctx)) {
    if (subject === CLOCK) {
      await ctx.scheduler.runAfter(0, internal.alerts.history.digests.sendDue, {});
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
  await startReview(ctx, now);
});

/** Each subject with an active alert, with one read for each. */
async function subjectsInUse(ctx: QueryCtx): Promise<string[]> {
  const subjects: string[] = [];
  for (let last = ""; ;) {
    const after = last;
    const row = await ctx.db
      .query("alerts")
      .withIndex("by_level", (q) => q.eq("watched", true).gt("subject", after))
      .first();
    if (row === null) return subjects;
    subjects.push(row.subject);
    last = row.subject;
  }
}

/**
 * Compares the new observations of a subject with its alerts; what is too much for one transaction is done in the next.
 */
export const compare = change({ subject: v.string() }, async (ctx, { subject }) => {
  const cursor = await cursorOf(ctx, subject);
  if (cursor === null) return;
  const found = await observationsAfter(ctx, subject, cursor.at, OBSERVATIONS);
  let { last } = cursor;
  for (const one of found.observations) {
    if (!isNews(one, last, subject)) continue;
    if (!(await apply(ctx, subject, one, last))) {
      // All observations of this moment are compared again: an alert that has fired for one of them is quiet.
      await ctx.db.patch("alertCursors", cursor._id, { at: one.at - 1, last });
      await ctx.scheduler.runAfter(0, internal.alerts.watch.compare, { subject });
      return;
    }
    last = one;
  }
  await ctx.db.patch("alertCursors", cursor._id, { at: found.at, last });
  if (found.more) await ctx.scheduler.runAfter(0, internal.alerts.watch.compare, { subject });
});

/**
 * Compares one observation by the rules of `rules.replay`.
 * @returns Whether all alerts that it changes have changed.
 */
async function apply(
  ctx: MutationCtx,
  subject: string,
  one: Observation,
  last: Observation | null,
): Promise<boolean> {
  let isDone = true;
  if (last !== null || isEvent(subject)) {
    const ready = await ctx.db
      .query("alerts")
      .withIndex("by_readyAt", (q) =>
        q.eq("watched", true).eq("subject", subject).eq("phase", "waiting").lte("readyAt", one.at),
      )
      .take(BATCH);
    for (const alert of ready) {
      const rests = last !== null && !isEvent(subject) && holds(alert, last.value);
      await ctx.db.patch("alerts", alert._id, { phase: rests ? "resting" : "armed" });
    }
    isDone = ready.length < BATCH;
  }
  for (const side of ["over", "under"] as const) {
    const firing = await ctx.db
      .query("alerts")
      .withIndex("by_level", (q) => {
        const armed = q.eq("watched", true).eq("subject", subject).eq("phase", "armed").eq("side", side);
        return side === "over" ? armed.lte("level", one.value) : armed.gte("level", one.value);
      })
      .take(BATCH);
    const move = firing.length === 0 ? null : await moveOf(ctx, subject, one);
    for (const alert of firing) await tell(ctx, alert, one, move);
    const over = await ctx.db
      .query("alerts")
      .withIndex("by_level", (q) => {
        const resting = q.eq("watched", true).eq("subject", subject).eq("phase", "resting").eq("side", side);
        return side === "over" ? resting.gt("level", one.value) : resting.lt("level", one.value);
      })
      .take(BATCH);
    for (const { _id } of over) await ctx.db.patch("alerts", _id, { phase: "armed" });
    isDone &&= firing.length < BATCH && over.length < BATCH;
  }
  return isDone;
}

async function tell(
  ctx: MutationCtx,
  alert: Doc<"alerts">,
  one: Observation,
  move: Move | null,
): Promise<void> {
  await ctx.db.patch("alerts", alert._id, { phase: "waiting", readyAt: one.at + QUIET_MS });
  await fire(ctx, alert, one, firingCard(alert, one, move));
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
    return {
      priceUsd: one.value,
      before: first === undefined || minutes === 0 ? null : { priceUsd: first.value, span },
    };
  }
  if (about.kind !== "change") return null;
  const price = await lastObservation(ctx, `price:${about.token}`, one.at);
  if (price === null) return null;
  const before = { priceUsd: price.value / (1 + one.value / 100), span: hours(about.windowHours) };
  return { priceUsd: price.value, before };
}
