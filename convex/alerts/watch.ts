import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { HOUR, NEVER, toIso } from "../lib/time";
import { getSpanText, type Paragraph } from "../messenger/format";
import { enqueueOwnCard } from "../messenger/model";
import { emitToOwner } from "../messenger/webhooks/events";
import { defineMutation } from "../platform/changes";
import { buildFailureHandler, enqueueWork } from "../platform/work";
import { buildFiredButtons, buildFiringCard, type Move } from "./cards";
import {
  CLOCKS,
  formatCondition,
  getDemand,
  isEvent,
  isMeasured,
  isNews,
  parseSubject,
  QUIET_MS,
} from "./conditions";
import { endAlerts, isFollowed, queryDueAlerts, storeComparedAt } from "./model";
import { findLastObservation, getNewestTime, listObservationsAfter } from "./observations";
import { findLoss } from "./standing";
import { vObservation, type Alert, type Firing, type Observation, type StandingOrder } from "./tables";
import { isStandingOrder, OVER } from "./terms";

/**
 * Compares new observations with the alerts on their subjects. The tick reads two rows for each basis (a coin's price, a
 * movement), and what is new for its subjects; a comparison reads only the alerts whose levels an observation has crossed.
 * Each firing is one row, unique for its alert and observation, and all that follows from it follows from that row.
 */

/** Alerts that fire in the transaction that compares; more of them in pages of their own. */
const FIRED_AT_ONCE = 10;
/** Observations of one subject that are compared in one transaction. */
const OBSERVATIONS = 20;
/** Subjects of one basis that are read at a time. */
const SUBJECTS = 100;
/** About how many ranges one transaction reads: the platform allows 4,096. */
const MOST_READS = 2_500;
/** At most so many of them for a basis, and for each observation of a subject; about so many for a firing. */
const READS_OF_ONE = 4;
const READS_OF_FIRING = 20;

/** For the cron, every minute. */
export const checkAlerts = defineMutation({}, async (ctx) => {
  const now = Date.now();
  await endExpired(ctx, now);
  for (const subject of CLOCKS)
    if ((await queryDueAlerts(ctx, subject, now).first()) !== null)
      await ctx.scheduler.runAfter(0, internal.alerts.due.fireDue, { subject });
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
    if (await isFollowed(ctx, subject)) return true;
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
    // One that is due fires first.
    if (isStandingOrder(row) && row.condition.kind === "clock" && row.readyAt <= now) continue;
    const loss = isStandingOrder(row) ? await findLoss(ctx, row, now) : null;
    await endAlerts(ctx, [row], loss ?? OVER);
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
  let left = FIRED_AT_ONCE;
  for (const cursor of behind) {
    const { subject } = cursor;
    const found = await listObservationsAfter(ctx, subject, cursor.at, OBSERVATIONS);
    let { last } = cursor;
    for (const one of found.observations) {
      if (!isNews(one, last, subject)) continue;
      const crossed = (await queryCrossed(ctx, subject, one, last)?.take(left + 1)) ?? [];
      const next = { subject, one, last, page: null };
      if (crossed.length <= left) await fireCrossed(ctx, crossed, subject, one);
      else await ctx.scheduler.runAfter(0, internal.alerts.watch.fireAlerts, next);
      // What comes later fires later.
      left = Math.max(0, left - crossed.length);
      reads += READS_OF_FIRING * crossed.length;
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

/** Fires the alerts that an observation has crossed, page after page. */
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
    await fireCrossed(ctx, crossed.page, subject, one);
    if (crossed.isDone) return;
    const next = { subject, one, last, page: crossed.continueCursor };
    await ctx.scheduler.runAfter(0, internal.alerts.watch.fireAlerts, next);
  },
);

/** Fires alerts that an observation has crossed, except for quiet ones, and orders that carry one out. */
async function fireCrossed(
  ctx: MutationCtx,
  crossed: readonly Alert[],
  subject: string,
  one: Observation,
): Promise<void> {
  const ready = crossed.filter(({ readyAt }) => readyAt <= one.at);
  const move = ready.length === 0 ? null : await getMove(ctx, subject, one);
  for (const alert of ready)
    if (isStandingOrder(alert)) await fireOrder(ctx, alert, one, NEVER);
    else await fireAlert(ctx, alert, one, one.at + QUIET_MS, buildFiringCard(alert.condition, one, move));
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

/** How late what is due may still be carried out; later it is skipped, or missed. */
export const LATEST_MS = HOUR;
/** Firings that one transaction writes: each may write a card, and posts to webhooks. */
export const BATCH = 50;

/** Writes an alert's firing for an observation, once, and when it may fire next. @returns Its id; `null`: it was there. */
async function insertFiring(
  ctx: MutationCtx,
  { _id: alertId, userId }: Alert,
  observation: Observation,
  changes: Partial<Alert>,
  fields: Pick<Firing, "text" | "outcome">,
): Promise<Id<"alertFirings"> | null> {
  const { observedAt } = observation;
  const earlier = ctx.db
    .query("alertFirings")
    .withIndex("by_alertId_and_observation", (q) =>
      q.eq("alertId", alertId).eq("observation.observedAt", observedAt),
    );
  if ((await earlier.unique()) !== null) return null;
  await ctx.db.patch("alerts", alertId, changes);
  return ctx.db.insert("alertFirings", { alertId, userId, observation, ...fields });
}

export function toText(paragraphs: readonly Paragraph[]): string {
  return paragraphs.map((spans) => spans.map(getSpanText).join("")).join("\n");
}

/** Fires an alert: its card goes to the user's own chat, and a post to each webhook. @param readyAt When it may fire next. */
export async function fireAlert(
  ctx: MutationCtx,
  alert: Alert,
  observation: Observation,
  readyAt: number,
  paragraphs: readonly Paragraph[],
): Promise<void> {
  const { _id: alertId, userId, condition } = alert;
  const end = alert.once === true ? ({ state: "off", endedAt: Date.now() } as const) : {};
  const text = toText(paragraphs);
  const changes = { readyAt, fired: alert.fired + 1, ...end };
  const firingId = await insertFiring(ctx, alert, observation, changes, { text });
  if (firingId === null) return;
  const handle = isMeasured(condition) ? await createFunctionHandle(internal.pictures.drawings.alert) : null;
  await enqueueOwnCard(ctx, {
    ...{ userId, kind: "alert", topic: `alert:${alertId}`, paragraphs },
    buttons: buildFiredButtons(alert),
    picture: handle === null ? undefined : { handle, subject: JSON.stringify(condition) },
  });
  const [at, observedAt] = [toIso(observation.at), toIso(observation.observedAt)];
  await emitToOwner(ctx, userId, "alert.fired", {
    ...{ firingId, alertId, condition, text },
    observation: { ...observation, at, observedAt },
    words: formatCondition(condition),
  });
}

/** Fires a standing order: leased work carries it out. */
export async function fireOrder(
  ctx: MutationCtx,
  row: StandingOrder,
  observation: Observation,
  readyAt: number,
): Promise<void> {
  const firingId = await insertFiring(ctx, row, observation, { readyAt }, { text: "", outcome: "due" });
  if (firingId !== null) await enqueueOrder(ctx, firingId, observation.at + LATEST_MS);
}

/** @param until Epoch ms: when it is given up; absent: what it has sent is awaited however long that takes. */
export async function enqueueOrder(
  ctx: MutationCtx,
  firingId: Id<"alertFirings">,
  until?: number,
): Promise<void> {
  const onFailure = buildFailureHandler(internal.alerts.outcomes.storeFailure, { firingId });
  await enqueueWork(
    ctx,
    internal.alerts.actions.carryOut,
    { firingId },
    {
      ...{ queue: "orders", subject: firingId, onFailure },
      ...(until === undefined ? {} : { until }),
    },
  );
}
