import { v } from "convex/values";
import { getOneFrom, getOrThrow } from "convex-helpers/server/relationships";
import type { WithoutSystemFields } from "convex/server";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { AppError, limitExceeded } from "../lib/errors";
import { HOUR, MINUTE } from "../lib/time";
import { enqueueCard, enqueueOwnCard } from "../messenger/model";
import { hasLeft } from "../platform/limits/charges";
import { queryByBoth } from "../platform/records";
import { buildEndedAlertsCard, buildProposalCard } from "./cards";
import { COMPARED, isMeasured, isTimed, toBasis } from "./conditions";
import { findLastObservation } from "./observations";
import { getNextTime } from "./schedule";
import { alertTables, type Alert, type StandingOrder } from "./tables";
import { isStandingOrder } from "./terms";

/** Rows of alerts and standing orders: proposed, switched on, ended. Plain functions, part of their caller's transaction. */

/** The most open proposals of a user: a further one replaces the oldest. */
const MOST_PROPOSED = 10;
/** The most open proposals that callers with only the id may add to. */
const MOST_ASKED = 3;
/** More than a user can have, even with the alerts of a linked chat. */
export const ALL = 100;

export const vAlert = alertTables.alerts.validator.extend({ _id: v.id("alerts"), _creationTime: v.number() });

/** A user's alerts and standing orders, oldest first. */
export function queryInState(ctx: QueryCtx, userId: string, state: Alert["state"]) {
  return queryByBoth(ctx.db.query("alerts"), "userId", userId, "state", state);
}

/** A user's active alerts and proposals. */
export async function listLiving(ctx: QueryCtx, userId: string): Promise<Alert[]> {
  const active = await queryInState(ctx, userId, "active").take(ALL);
  return [...active, ...(await queryInState(ctx, userId, "proposed").take(ALL))];
}

/** Active alerts, then proposals, then the last ended ones, newest first. */
export async function listUserAlerts(ctx: QueryCtx, userId: string, mostEnded = 10): Promise<Alert[]> {
  const ended = await queryInState(ctx, userId, "off").order("desc").take(mostEnded);
  return [...(await listLiving(ctx, userId)), ...ended];
}

export async function requireAlert(ctx: QueryCtx, userId: string, id: string): Promise<Alert> {
  const alertId = ctx.db.normalizeId("alerts", id);
  const row = alertId === null ? null : await ctx.db.get("alerts", alertId);
  if (row?.userId === userId) return row;
  throw new AppError("not_found", NO_ALERT);
}

export const NO_ALERT = "There is no such alert: a proposal expires after a day, so ask for it again";

/** Stores a proposal, in the place of the oldest where there are too many. */
export async function insertProposal(
  ctx: MutationCtx,
  proposal: Omit<WithoutSystemFields<Alert>, "state" | "readyAt" | "fired">,
): Promise<Alert> {
  const proposed = await queryInState(ctx, proposal.userId, "proposed").take(MOST_PROPOSED);
  const [oldest] = proposed;
  if (oldest !== undefined && proposed.length >= MOST_PROPOSED) await ctx.db.delete("alerts", oldest._id);
  const begun = { state: "proposed", readyAt: 0, fired: 0 } as const;
  return getOrThrow(ctx, "alerts", await ctx.db.insert("alerts", { ...proposal, ...begun }));
}

/** Counts a card that asks an owner on the word of a caller with only the id. @throws AppError `rate_limited` */
export async function requireAskable(ctx: MutationCtx, userId: string): Promise<void> {
  const open = await queryInState(ctx, userId, "proposed").take(MOST_ASKED);
  if (open.length === MOST_ASKED)
    throw limitExceeded("The owner has not answered the last proposals of alerts yet", HOUR);
  if (!(await hasLeft(ctx, "askedAlert", userId)))
    throw limitExceeded("The owner was asked for ten alerts in a day by callers with only the userId", HOUR);
}

/** Sends a proposal to its owner's chat, whose tap sets it. */
export async function askOwner(ctx: MutationCtx, alert: Alert, chatId: string): Promise<void> {
  const what = isStandingOrder(alert) ? "a standing order" : "an alert";
  const { answer, buttons } = buildProposalCard(alert);
  const paragraphs = [[`Somebody who knows your account id asks for ${what}.`], ...answer];
  await enqueueCard(ctx, {
    ...{ userId: alert.userId, chatId, bot: "default", kind: "alert" },
    ...{ paragraphs, buttons },
  });
}

/** Switches an alert on from now on. @returns It afterwards. */
export async function activate(ctx: MutationCtx, row: Alert, expiresAt: number, now: number): Promise<Alert> {
  const { _id, condition, subject } = row;
  // Nothing was overdue before the first alert.
  if (!(await hasActiveAlert(ctx))) await storeComparedAt(ctx, now);
  if (isMeasured(condition)) await follow(ctx, subject, now);
  const readyAt = isTimed(condition) ? getNextTime(condition, now) : now + 1;
  await ctx.db.patch("alerts", _id, { state: "active", readyAt, confirmedAt: now, expiresAt });
  return getOrThrow(ctx, "alerts", _id);
}

/** Starts the cursor of a subject at its first alert: its observations are compared from now on, the first with the present value. */
async function follow(ctx: MutationCtx, subject: string, now: number): Promise<void> {
  if (await isFollowed(ctx, subject)) return;
  await placeCursor(ctx, subject, now, await findLastObservation(ctx, subject, now));
}

/** Whether a subject has an active alert. */
export async function isFollowed(ctx: QueryCtx, subject: string): Promise<boolean> {
  const active = ctx.db
    .query("alerts")
    .withIndex("by_level", (q) => q.eq("state", "active").eq("subject", subject));
  return (await active.first()) !== null;
}

async function placeCursor(
  ctx: MutationCtx,
  subject: string,
  at: number,
  last: Doc<"alertCursors">["last"],
): Promise<void> {
  const cursor = await getOneFrom(ctx.db, "alertCursors", "by_subject", subject);
  const placed = { subject, basis: toBasis(subject), at, last };
  if (cursor === null) await ctx.db.insert("alertCursors", placed);
  else await ctx.db.replace("alertCursors", cursor._id, placed);
}

/** Stores that all subjects have been compared with their alerts. */
export async function storeComparedAt(ctx: MutationCtx, now: number): Promise<void> {
  await placeCursor(ctx, COMPARED, now, null);
}

/** When active alerts have to be compared with new observations next, epoch ms; `null` without active alerts. */
export async function getComparisonDueAt(ctx: QueryCtx): Promise<number | null> {
  if (!(await hasActiveAlert(ctx))) return null;
  const last = await getOneFrom(ctx.db, "alertCursors", "by_subject", COMPARED);
  return last === null ? 0 : last.at + MINUTE;
}

async function hasActiveAlert(ctx: QueryCtx): Promise<boolean> {
  const active = ctx.db.query("alerts").withIndex("by_level", (q) => q.eq("state", "active"));
  return (await active.first()) !== null;
}

/** Active alerts of a clock that are due at `now`. */
export function queryDueAlerts(ctx: QueryCtx, subject: string, now: number) {
  return ctx.db
    .query("alerts")
    .withIndex("by_readyAt", (q) => q.eq("state", "active").eq("subject", subject).lte("readyAt", now));
}

/** Switches a proposed or active alert off; one that is off stays off. @param endReason Where its user did not end it. */
export async function switchOff(ctx: MutationCtx, row: Alert, endReason?: string): Promise<Alert> {
  if (row.state !== "off")
    await ctx.db.patch("alerts", row._id, {
      ...{ state: "off", endedAt: Date.now() },
      ...(endReason === undefined ? {} : { endReason }),
    });
  return getOrThrow(ctx, "alerts", row._id);
}

/** Ends alerts of one user, proposals too, and tells of the active ones in one card. @param why Half a sentence. */
export async function endAlerts(ctx: MutationCtx, rows: readonly Alert[], why: string): Promise<void> {
  for (const row of rows) await switchOff(ctx, row, why);
  const active = rows.filter(({ state }) => state === "active");
  const [first] = active;
  if (first === undefined) return;
  const { answer: paragraphs, buttons } = buildEndedAlertsCard(active, why);
  await enqueueOwnCard(ctx, { userId: first.userId, kind: "alert", paragraphs, buttons });
}

/** `endAlerts` of an account's standing orders. */
export async function endStandingOrders(
  ctx: MutationCtx,
  userId: string,
  why: string,
  isMeant: (row: StandingOrder) => boolean = () => true,
): Promise<void> {
  const living = (await listLiving(ctx, userId)).filter(isStandingOrder);
  await endAlerts(ctx, living.filter(isMeant), why);
}
