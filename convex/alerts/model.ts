import { v, type Infer } from "convex/values";
import { getOneFrom, getOrThrow } from "convex-helpers/server/relationships";
import { parse } from "convex-helpers/validators";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { rowsByBoth } from "../lib/records/rows";
import { allowOneMore, inState, MOST_ACTIVE } from "./allowances";
import { lifeFrom } from "./lifetimes";
import { watchOf } from "./history/subjects";
import { lastObservation } from "./history/observations";
import { alertTables } from "./tables";
import { nextTime } from "./language/times";
import { describe } from "./language/sentences";

/** Users' alerts: proposed, confirmed, ended. */

/** The most open proposals of a user: a further one replaces the oldest. */
const MAX_PROPOSED = 10;
/** How many ended alerts are shown, newest first. */
const SHOWN_ENDED = 10;

/** An alert as its user sees it. Times in epoch ms. */
export const vAlert = alertTables.alerts.validator
  .pick("number", "state", "condition", "asked", "readBy", "createdAt", "fired")
  .extend({
    alertId: v.id("alerts"),
    /** What it waits for, in words. */
    words: v.string(),
    confirmedAt: v.union(v.number(), v.null()),
    endedAt: v.union(v.number(), v.null()),
    /** When an active alert ends by itself unless its user confirms it again; when an ended one would have. */
    expiresAt: v.union(v.number(), v.null()),
    lastFiredAt: v.union(v.number(), v.null()),
  });
export type Alert = Infer<typeof vAlert>;

export const vProposal = alertTables.alerts.validator.pick("userId", "asked", "condition", "readBy");

/**
 * Stores a proposal until its user confirms it. If the user already has an alert with the same line, proposed or
 * active, that one is returned.
 */
export async function propose(ctx: MutationCtx, proposal: Infer<typeof vProposal>): Promise<Alert> {
  const { userId, condition } = proposal;
  const proposed = await inState(ctx, userId, "proposed").take(MOST_ACTIVE);
  const open = [...(await inState(ctx, userId, "active").take(MOST_ACTIVE)), ...proposed];
  const words = describe(condition);
  const same = open.find((row) => describe(row.condition) === words);
  if (same !== undefined) return alertOf(same);
  const [oldest] = proposed;
  if (oldest !== undefined && proposed.length >= MAX_PROPOSED) await ctx.db.delete("alerts", oldest._id);
  const now = Date.now();
  const alertId = await ctx.db.insert("alerts", {
    ...proposal,
    ...watchOf(condition),
    number: await nextNumber(ctx, userId),
    state: "proposed",
    watched: false,
    phase: "ended",
    readyAt: 0,
    createdAt: now,
    fired: 0,
  });
  return alertOf(await getOrThrow(ctx, "alerts", alertId));
}

export async function nextNumber(ctx: QueryCtx, userId: string): Promise<number> {
  const latest = await ctx.db
    .query("alerts")
    .withIndex("by_userId_and_number", (q) => q.eq("userId", userId))
    .order("desc")
    .first();
  return (latest?.number ?? 0) + 1;
}

/**
 * Switches a proposal on, or prolongs an active alert from now on.
 * @param address The address that the confirmation came from; `null` if it came without a network.
 * @throws AppError `conflict` if the user has as many active alerts as `allowances` permits, or if the alert has ended.
 */
export async function confirm(ctx: MutationCtx, row: Doc<"alerts">, address: string | null): Promise<Alert> {
  const now = Date.now();
  if (row.state === "off") throw new AppError("conflict", "This alert was switched off: ask for it again");
  if (row.state === "active") {
    await ctx.db.patch("alerts", row._id, await lifeFrom(ctx, row, now));
    return alertOf(await getOrThrow(ctx, "alerts", row._id));
  }
  const allowed = await allowOneMore(ctx, row.userId, address);
  const { condition } = row;
  if (condition.kind !== "digest") await follow(ctx, row.subject, now);
  const readyAt = condition.kind === "digest" ? nextTime(condition.time, condition.timeZone, now) : now + 1;
  await ctx.db.patch("alerts", row._id, {
    ...{ state: "active", watched: true, phase: "waiting", readyAt },
    ...{ confirmedAt: now, ...(await lifeFrom(ctx, row, now)), ...allowed },
  });
  return alertOf(await getOrThrow(ctx, "alerts", row._id));
}

/** The first alert of a subject is compared with observations from now on, and begins with the present state. */
async function follow(ctx: MutationCtx, subject: string, now: number): Promise<void> {
  const other = await ctx.db
    .query("alerts")
    .withIndex("by_level", (q) => q.eq("watched", true).eq("subject", subject))
    .first();
  if (other !== null) return;
  const cursor = await cursorOf(ctx, subject);
  const start = { subject, at: now, last: await lastObservation(ctx, subject, now) };
  if (cursor === null) await ctx.db.insert("alertCursors", start);
  else await ctx.db.replace("alertCursors", cursor._id, start);
}

export async function cursorOf(ctx: QueryCtx, subject: string): Promise<Doc<"alertCursors"> | null> {
  return getOneFrom(ctx.db, "alertCursors", "by_subject", subject);
}

/** Switches a proposed or active alert off; an alert that is off stays off. */
export async function switchOff(ctx: MutationCtx, row: Doc<"alerts">): Promise<Alert> {
  if (row.state !== "off") {
    const ended = { state: "off", watched: false, phase: "ended", endedAt: Date.now() } as const;
    await ctx.db.patch("alerts", row._id, ended);
  }
  return alertOf(await getOrThrow(ctx, "alerts", row._id));
}

/** Mutes an active alert until a moment (epoch ms); then it is compared again. */
export async function muteUntil(ctx: MutationCtx, row: Doc<"alerts">, readyAt: number): Promise<Alert> {
  if (row.state !== "active") throw new AppError("conflict", "This alert is off: ask for it again");
  await ctx.db.patch("alerts", row._id, { phase: "waiting", readyAt });
  return alertOf(await getOrThrow(ctx, "alerts", row._id));
}

/** A user's alert by its id; `null` for none. */
export async function findAlert(ctx: QueryCtx, userId: string, id: string): Promise<Doc<"alerts"> | null> {
  const alertId = ctx.db.normalizeId("alerts", id);
  const row = alertId === null ? null : await ctx.db.get("alerts", alertId);
  return row?.userId === userId ? row : null;
}

/** A user's alert by its id. @throws AppError `not_found` if the user has no such alert. */
export async function ownAlert(ctx: QueryCtx, userId: string, id: string): Promise<Doc<"alerts">> {
  const row = await findAlert(ctx, userId, id);
  if (row === null) throw new AppError("not_found", "This user has no such alert");
  return row;
}

/** A user's alert by its number; `null` for none. */
export async function numberedAlert(
  ctx: QueryCtx,
  userId: string,
  number: number,
): Promise<Doc<"alerts"> | null> {
  return rowsByBoth(ctx.db.query("alerts"), "userId", userId, "number", number).unique();
}

/** Active alerts, then proposals, by their numbers; then those that ended last, newest first. */
export async function alertsOf(ctx: QueryCtx, userId: string): Promise<Alert[]> {
  const active = await inState(ctx, userId, "active").take(MOST_ACTIVE);
  const proposed = await inState(ctx, userId, "proposed").take(MOST_ACTIVE);
  const ended = await inState(ctx, userId, "off").order("desc").take(SHOWN_ENDED);
  return [...active, ...proposed, ...ended].map(alertOf);
}

export function alertOf(row: Doc<"alerts">): Alert {
  const none = { confirmedAt: null, endedAt: null, expiresAt: null, lastFiredAt: null };
  return parse(vAlert, { ...none, ...row, alertId: row._id, words: describe(row.condition) });
}
