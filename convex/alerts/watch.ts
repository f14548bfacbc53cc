import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { defineMutation } from "../platform/changes";
import { formatDollars, formatSignedPercent } from "../lib/text/numbers";
import { HOUR, toIso } from "../lib/time";
import { getSpanText, type Paragraph } from "../messenger/format";
import { enqueueOwnCard } from "../messenger/model";
import { emitToOwner } from "../messenger/webhooks/events";
import { PRICED_TOKENS } from "../market/tables";
import { buildSignalsDigest } from "../signals/cards";
import { areSignalsDue } from "../signals/model";
import { buildWalletDigest } from "../wallets/past/looks";
import { buildWhalesDigest } from "../whales/cards";
import { buildExpiredCard, buildFiredButtons, buildFiringCard, type Move } from "./cards";
import {
  BRIEFS,
  CLOCK,
  describe,
  isEvent,
  isNews,
  isTimed,
  getDemand,
  getNextTime,
  ORDERS,
  QUIET_MS,
  parseSubject,
} from "./grammar";
import { queryDueAlerts, storeComparedAt, switchOff } from "./model";
import { findLastObservation, getNewestTime, listObservationsAfter } from "./observations";
import { isStanding } from "./standingTerms";
import { vObservation, type Observation } from "./tables";

/**
 * Compares new observations with the alerts on their subjects. The tick reads two rows for each basis (a coin's price, a
 * movement), and what is new for its subjects; a comparison reads only the alerts whose levels an observation has crossed.
 */

/** Alerts that fire in one transaction: each writes a card, a firing and posts to webhooks. */
const BATCH = 50;
/** Observations of one subject that are compared in one transaction. */
const OBSERVATIONS = 20;
/** Subjects of one basis that are read at a time. */
const SUBJECTS = 100;
/** About how many ranges one transaction reads: the platform allows 4,096. */
const MOST_READS = 2_500;
/** At most so many of them for a basis, and for each observation of a subject. */
const READS_OF_ONE = 4;
/** A digest that is later than this is skipped. */
const LATEST_MS = HOUR;

/** What takes up what is due at a time. */
const CLOCKS = [
  [CLOCK, internal.alerts.watch.sendDigests],
  [ORDERS, internal.alerts.standingFirings.fireDue],
  [BRIEFS, internal.alerts.briefs.beginBriefs],
] as const;

/** For the cron, every minute. */
export const checkAlerts = defineMutation({}, async (ctx) => {
  const now = Date.now();
  await endExpired(ctx, now);
  for (const [subject, takeUp] of CLOCKS)
    if ((await queryDueAlerts(ctx, subject, now).first()) !== null)
      await ctx.scheduler.runAfter(0, takeUp, {});
  await comparePage(ctx, "", true);
});

/** Compares what is new, from a basis on. @param isTick Whether old values are asked for again. */
export const compareNews = defineMutation(
  { from: v.string(), isTick: v.boolean() },
  async (ctx, { from, isTick }) => comparePage(ctx, from, isTick),
);

/** Compares as many subjects as one transaction may read; the next one goes on from there. */
async function comparePage(ctx: MutationCtx, from: string, isTick: boolean): Promise<void> {
  const now = Date.now();
  const stale: string[] = [];
  let reads = 0;
  let next = await queryCursors(ctx, "gte", from).first();
  while (next !== null && reads < MOST_READS) {
    const { basis, at } = next;
    const newest = await getNewestTime(ctx, basis);
    const demand = getDemand(basis);
    reads += READS_OF_ONE;
    if (newest > at) reads += await compareBasis(ctx, basis, newest);
    else if (isTick && demand !== null && now - at >= demand.everyMs && (await isInUse(ctx, basis)))
      stale.push(basis);
    // A basis that was compared is looked at again: it may have more subjects.
    next = await queryCursors(ctx, newest > at ? "gte" : "gt", basis).first();
  }
  if (stale.length > 0) await ctx.scheduler.runAfter(0, internal.alerts.service.observe, { stale });
  if (next === null && isTick) await storeComparedAt(ctx, now);
  if (next !== null)
    await ctx.scheduler.runAfter(0, internal.alerts.watch.compareNews, { from: next.basis, isTick });
}

/** The cursors from a basis on, those that are furthest behind first. */
function queryCursors(ctx: QueryCtx, bound: "gte" | "gt", basis: string) {
  return ctx.db.query("alertCursors").withIndex("by_basis_and_at", (q) => q[bound]("basis", basis));
}

/** Whether a subject of a basis has an active alert; the cursors of the others go. */
async function isInUse(ctx: MutationCtx, basis: string): Promise<boolean> {
  const cursors = ctx.db.query("alertCursors").withIndex("by_basis_and_at", (q) => q.eq("basis", basis));
  for (const { _id, subject } of await cursors.take(SUBJECTS)) {
    const active = ctx.db.query("alerts").withIndex("by_level", (q) => {
      return q.eq("state", "active").eq("subject", subject);
    });
    if ((await active.first()) !== null) return true;
    await ctx.db.delete("alertCursors", _id);
  }
  return false;
}

/** Ends expired alerts, each with a card: an alert that its user has forgotten does not send messages for ever. */
async function endExpired(ctx: MutationCtx, now: number): Promise<void> {
  const due = await ctx.db
    .query("alerts")
    .withIndex("by_expiresAt", (q) => q.eq("state", "active").lte("expiresAt", now))
    .take(BATCH);
  for (const row of due) {
    if (isStanding(row)) {
      // One that is due fires first.
      if (row.condition.kind !== "clock" || row.readyAt > now)
        await ctx.scheduler.runAfter(0, internal.alerts.standingOrders.endOverdue, { standingId: row._id });
      continue;
    }
    await switchOff(ctx, row);
    const { answer: paragraphs, buttons } = buildExpiredCard(row);
    await enqueueOwnCard(ctx, { userId: row.userId, kind: "alert", paragraphs, buttons });
  }
}

/**
 * Compares the observations of a basis's subjects, up to the newest (epoch ms), with their alerts, in their order, and fires
 * the alerts whose level was crossed. Idempotent: an alert that has fired is quiet.
 * @returns How many ranges it has read.
 */
async function compareBasis(ctx: MutationCtx, basis: string, newest: number): Promise<number> {
  const behind = await ctx.db
    .query("alertCursors")
    .withIndex("by_basis_and_at", (q) => q.eq("basis", basis).lt("at", newest))
    .take(SUBJECTS);
  let reads = 0;
  for (const cursor of behind) {
    const { subject } = cursor;
    const found = await listObservationsAfter(ctx, subject, cursor.at, OBSERVATIONS);
    let { last } = cursor;
    for (const one of found.observations) {
      if (!isNews(one, last, subject)) continue;
      const crossed = queryCrossed(ctx, subject, one, last);
      if (crossed !== null && (await crossed.first()) !== null) {
        const next = { subject, one, last, page: null };
        await ctx.scheduler.runAfter(0, internal.alerts.watch.fireAlerts, next);
      }
      last = one;
    }
    const at = found.more ? found.at : Math.max(found.at, newest);
    await ctx.db.patch("alertCursors", cursor._id, { at, last });
    reads += READS_OF_ONE * (1 + found.observations.length);
    if (reads >= MOST_READS / 2) break;
  }
  return reads;
}

/** The alerts whose level lies between the last observation and this one; `null` if there can be none. */
function queryCrossed(ctx: QueryCtx, subject: string, { value }: Observation, last: Observation | null) {
  const isNew = isEvent(subject);
  if (!isNew && (last === null || last.value === value)) return null;
  const from = last?.value ?? 0;
  const side = isNew || from < value ? "over" : "under";
  return ctx.db.query("alerts").withIndex("by_level", (q) => {
    const levels = q.eq("state", "active").eq("subject", subject).eq("side", side);
    if (isNew) return levels.lte("level", value);
    return side === "over"
      ? levels.gt("level", from).lte("level", value)
      : levels.gte("level", value).lt("level", from);
  });
}

/** Fires the alerts that an observation has crossed, except for quiet ones, page after page. */
export const fireAlerts = defineMutation(
  {
    subject: v.string(),
    one: vObservation,
    last: v.union(vObservation, v.null()),
    page: v.union(v.string(), v.null()),
  },
  async (ctx, { subject, one, last, page: cursor }) => {
    const crossed = await queryCrossed(ctx, subject, one, last)?.paginate({ numItems: BATCH, cursor });
    if (crossed === undefined) return;
    const ready = crossed.page.filter(({ readyAt }) => readyAt <= one.at);
    const move = ready.length === 0 ? null : await getMove(ctx, subject, one);
    for (const alert of ready)
      // Loaded for itself: a tick without one evaluates no orders.
      if (isStanding(alert))
        await ctx.scheduler.runAfter(0, internal.alerts.standingFirings.fireCrossed, {
          standingId: alert._id,
          one,
        });
      else await fire(ctx, alert, one, one.at + QUIET_MS, buildFiringCard(alert.condition, one, move));
    if (crossed.isDone) return;
    const next = { subject, one, last, page: crossed.continueCursor };
    await ctx.scheduler.runAfter(0, internal.alerts.watch.fireAlerts, next);
  },
);

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
  const earlierFiring = await ctx.db
    .query("alertFirings")
    .withIndex("by_alertId_and_observation", (q) =>
      q.eq("alertId", alertId).eq("observation.observedAt", observedAt),
    )
    .unique();
  if (earlierFiring !== null) return;
  await ctx.db.patch("alerts", alertId, { readyAt, fired: alert.fired + 1, ...end });
  const text = paragraphs.map((spans) => spans.map(getSpanText).join("")).join("\n");
  const firingId = await ctx.db.insert("alertFirings", { alertId, userId, observation, text });
  const handle = isTimed(condition) ? null : await createFunctionHandle(internal.pictures.drawings.alert);
  await enqueueOwnCard(ctx, {
    userId,
    kind: "alert",
    topic: `alert:${alertId}`,
    paragraphs,
    buttons: buildFiredButtons(alert),
    picture: handle === null ? undefined : { handle, subject: JSON.stringify(condition) },
  });
  const publicObservation = { ...observation, at: toIso(observation.at), observedAt: toIso(observedAt) };
  const event = {
    firingId,
    observation: publicObservation,
    alertId,
    condition,
    words: describe(condition),
    text,
  };
  await emitToOwner(ctx, userId, "alert.fired", event);
}

/** The move of a coin's price that an observation shows; `null` if it is not about a price. */
async function getMove(ctx: QueryCtx, subject: string, one: Observation): Promise<Move | null> {
  const about = parseSubject(subject);
  if (about.kind !== "price" && about.kind !== "change") return null;
  const windowHours = about.kind === "change" ? about.windowHours : 1;
  const of = (subject: string) => findLastObservation(ctx, subject, one.at);
  const price = about.kind === "price" ? one : await of(`price:${about.token}`);
  const change = about.kind === "change" ? one : await of(`change:${about.token}:1`);
  return price === null ? null : { priceUsd: price.value, percent: change?.value ?? null, windowHours };
}

/** Sends the digests that are due, each once, and sets the time of the next. */
export const sendDigests = defineMutation({}, async (ctx) => {
  const now = Date.now();
  const due = await queryDueAlerts(ctx, CLOCK, now).take(BATCH);
  // The day's signals are in a digest that is due with them.
  if (due.length === 0 || (await areSignalsDue(ctx, now))) return;
  const parts = await Promise.all([
    buildPricesDigest(ctx, now),
    buildSignalsDigest(ctx, now),
    buildWhalesDigest(ctx, now),
  ]);
  for (const alert of due) {
    const { condition, readyAt } = alert;
    if (condition.kind !== "digest") continue;
    const next = getNextTime(condition, now);
    if (now - readyAt > LATEST_MS) {
      await ctx.db.patch("alerts", alert._id, { readyAt: next });
      continue;
    }
    const one = { at: readyAt, observedAt: readyAt, value: 0, source: "clock" };
    const title = { bold: `🗞 Digest, ${condition.time} ${condition.timeZone}` };
    const own = await buildWalletDigest(ctx, alert.userId, now);
    await fire(ctx, alert, one, next, [[title], ...own, ...parts]);
  }
  if (due.length === BATCH) await ctx.scheduler.runAfter(0, internal.alerts.watch.sendDigests, {});
});

async function buildPricesDigest(ctx: QueryCtx, now: number): Promise<Paragraph> {
  const lines = PRICED_TOKENS.map(async (token) => {
    const price = await findLastObservation(ctx, `price:${token}`, now);
    if (price === null) return `\n${token}: not known`;
    const change = await findLastObservation(ctx, `change:${token}:24`, now);
    const moved = change === null ? "" : ` (${formatSignedPercent(change.value)} in 24 hours)`;
    return `\n${token} ${formatDollars(price.value)}${moved}`;
  });
  return [{ bold: "Prices" }, ...(await Promise.all(lines))];
}
