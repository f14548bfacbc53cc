import type { WithoutSystemFields } from "convex/server";
import { v, type Infer } from "convex/values";
import { getOneFrom, getOrThrow } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { defineMutation } from "../platform/changes";
import { AppError, limitExceeded } from "../lib/errors";
import { hasLeft } from "../platform/limits/charges";
import { queryBy, queryByBoth } from "../platform/records";
import { DAY, HOUR, MINUTE } from "../lib/time";
import type { Paragraph } from "../messenger/format";
import { enqueueCard, findApprovingLink, findLinkedChat, isChatUser } from "../messenger/model";
import { findOwner } from "../identity/model";
import { buildProposalCard } from "./cards";
import { CLOCK, describe, getNextTime, isTimed, toBasis, toWatch } from "./grammar";
import { findLastObservation } from "./observations";
import { alertTables, vObservation, type Alert, type Condition, type Observation } from "./tables";

/** Users' alerts: proposed, confirmed, ended. */

/** Active alerts of a user with a login, and of a `userId` without one, since inventing ids costs nothing. */
const MOST_ACTIVE = 20;
const MOST_UNPROVEN = 5;
/** The most of them that research: each costs the report of a model. */
const MOST_RESEARCHED = 3;
/** The most open proposals of a user: a further one replaces the oldest. */
const MOST_PROPOSED = 10;
/** The most open proposals that callers with only the id may add to. */
const MOST_ASKED = 3;
/** More than a user can have, even with the alerts of a linked chat. */
const ALL = 100;
/** How many ended alerts are shown, newest first. */
const SHOWN_ENDED = 10;
/** From each confirmation on; shorter for alerts of a `userId` without a login. */
const LIFETIME_MS = 90 * DAY;
const UNPROVEN_LIFETIME_MS = 30 * DAY;
const MUTED_MS = 2 * HOUR;
/** A question is answered within this time. */
const ANSWERED_WITHIN_MS = 10 * MINUTE;

const vProposal = alertTables.alerts.validator.pick("userId", "condition", "once", "until", "replaces");
export const vAlert = alertTables.alerts.validator.extend({ _id: v.id("alerts"), _creationTime: v.number() });

/**
 * Stores a proposal until its user confirms it. If the user has an alert with the same line, that one is returned: an
 * active alert if it ends as requested, otherwise the proposal, updated to the requested end.
 */
export const storeProposal = internalMutation({
  args: vProposal,
  returns: vAlert,
  handler: (ctx, proposal) => propose(ctx, proposal),
});

/**
 * Stores a proposal of a caller with only the id of an owned account, and sends its card to the owner's chat: their tap
 * sets it. A proposal with the same line stays as its owner was shown it.
 * @throws AppError `forbidden` without a chat that can tap; `rate_limited` while the owner has three such cards to answer,
 * and after ten of them in a day.
 */
export const proposeToOwner = internalMutation({
  args: vProposal,
  returns: vAlert,
  handler: async (ctx, proposal) => {
    const { userId } = proposal;
    const link = await findApprovingLink(ctx, userId, Date.now());
    if (link === null)
      throw new AppError(
        "forbidden",
        "This userId has an owner: setting an alert needs the owner's token, a key with the scope withdraw, or a tap in the owner's chat, which has to be linked with the service's bot",
      );
    const shown = findSame(proposal.condition, await queryInState(ctx, userId, "proposed").take(ALL));
    if (shown !== undefined) return getOrThrow(ctx, "alerts", shown._id);
    await requireAskable(ctx, userId);
    const alert = await propose(ctx, proposal);
    if (alert.state === "active") return alert;
    const { answer, buttons } = buildProposalCard(alert, { latest: null, holds: false });
    const asks: Paragraph = ["Somebody who knows your account id asks for an alert."];
    const to = { userId, chatId: link.messengerId, bot: "default" as const };
    await enqueueCard(ctx, { ...to, kind: "alert", paragraphs: [asks, ...answer], buttons });
    return alert;
  },
});

/** Counts a card that asks an owner on the word of a caller with only the id. @throws AppError `rate_limited` */
export async function requireAskable(ctx: MutationCtx, userId: string): Promise<void> {
  const open = await queryInState(ctx, userId, "proposed").take(MOST_ASKED);
  if (open.length === MOST_ASKED)
    throw limitExceeded("The owner has not answered the last proposals of alerts yet", HOUR);
  if (!(await hasLeft(ctx, "askedAlert", userId)))
    throw limitExceeded("The owner was asked for ten alerts in a day by callers with only the userId", HOUR);
}

async function propose(ctx: MutationCtx, proposal: Infer<typeof vProposal>): Promise<Alert> {
  const { userId, condition, ...requestedEnd } = proposal;
  const proposed = await queryInState(ctx, userId, "proposed").take(ALL);
  const active = findSame(condition, await queryInState(ctx, userId, "active").take(ALL));
  if (active !== undefined && hasEnd(active, requestedEnd)) return active;
  const same = findSame(condition, proposed);
  if (same !== undefined) {
    if (!hasEnd(same, requestedEnd) || same.replaces !== requestedEnd.replaces)
      await ctx.db.patch("alerts", same._id, requestedEnd);
    return getOrThrow(ctx, "alerts", same._id);
  }
  return insertProposal(ctx, { ...proposal, ...toWatch(condition) });
}

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

/** Whether an alert has the end that a request names. */
const hasEnd = (row: Alert, { once, until }: Pick<Alert, "once" | "until">): boolean =>
  (once === undefined || once === (row.once ?? false)) && (until === undefined || until === row.until);

/** The alert with the same line. */
const findSame = (condition: Condition, rows: readonly Alert[]): Alert | undefined =>
  rows.find((row) => row.order === undefined && describe(row.condition) === describe(condition));

/** Switches an alert on from now on. */
export async function activate(ctx: MutationCtx, row: Alert, expiresAt: number, now: number): Promise<void> {
  const { condition, subject } = row;
  // Nothing was overdue before the first alert.
  if (!(await hasActiveAlert(ctx))) await storeComparedAt(ctx, now);
  if (!isTimed(condition) && condition.kind !== "call") await follow(ctx, subject, now);
  const readyAt = isTimed(condition) ? getNextTime(condition, now) : now + 1;
  await ctx.db.patch("alerts", row._id, { state: "active", readyAt, confirmedAt: now, expiresAt });
}

/** Starts the cursor of a subject at its first alert: its observations are compared from now on, the first with the present value. */
async function follow(ctx: MutationCtx, subject: string, now: number): Promise<void> {
  const other = await ctx.db
    .query("alerts")
    .withIndex("by_level", (q) => q.eq("state", "active").eq("subject", subject))
    .first();
  if (other !== null) return;
  await placeCursor(ctx, subject, now, await findLastObservation(ctx, subject, now));
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
  await placeCursor(ctx, CLOCK, now, null);
}

/** When active alerts have to be compared with new observations next, epoch ms; `null` without active alerts. */
export async function getComparisonDueAt(ctx: QueryCtx): Promise<number | null> {
  if (!(await hasActiveAlert(ctx))) return null;
  const last = await getOneFrom(ctx.db, "alertCursors", "by_subject", CLOCK);
  return last === null ? 0 : last.at + MINUTE;
}

async function hasActiveAlert(ctx: QueryCtx): Promise<boolean> {
  const active = ctx.db.query("alerts").withIndex("by_level", (q) => q.eq("state", "active"));
  return (await active.first()) !== null;
}

/** Switches a proposed or active alert off; an alert that is off stays off. */
export async function switchOff(ctx: MutationCtx, row: Doc<"alerts">): Promise<Alert> {
  if (row.state !== "off") await ctx.db.patch("alerts", row._id, { state: "off", endedAt: Date.now() });
  return getOrThrow(ctx, "alerts", row._id);
}

/** Active alerts of a clock that are due at `now`. */
export function queryDueAlerts(ctx: QueryCtx, subject: string, now: number) {
  return ctx.db
    .query("alerts")
    .withIndex("by_readyAt", (q) => q.eq("state", "active").eq("subject", subject).lte("readyAt", now));
}

/** A user's alerts and standing orders, oldest first. */
export function queryInState(ctx: QueryCtx, userId: string, state: Doc<"alerts">["state"]) {
  return queryByBoth(ctx.db.query("alerts"), "userId", userId, "state", state);
}

/** Active alerts, then proposals, then the last ended ones, newest first. */
export async function listUserAlerts(ctx: QueryCtx, userId: string): Promise<Alert[]> {
  const active = await queryInState(ctx, userId, "active").take(ALL);
  const proposed = await queryInState(ctx, userId, "proposed").take(ALL);
  const ended = await queryInState(ctx, userId, "off").order("desc").take(SHOWN_ENDED);
  return [...active, ...proposed, ...ended];
}

export async function requireAlert(ctx: QueryCtx, userId: string, id: string): Promise<Doc<"alerts">> {
  const alertId = ctx.db.normalizeId("alerts", id);
  const row = alertId === null ? null : await ctx.db.get("alerts", alertId);
  if (row?.userId === userId) return row;
  throw new AppError("not_found", NO_ALERT);
}

const NO_ALERT = "There is no such alert: a proposal expires after a day, so ask for it again";

/**
 * Switches a user's proposal on, or prolongs an active alert from now on, at most until the end that its user chose. With
 * `once` it ends at its first firing.
 * @throws AppError `not_found` for another user's alert; `conflict` for an ended one, and beyond the number of active alerts.
 */
export const accept = internalMutation({
  args: { userId: v.string(), alertId: v.string(), once: v.optional(v.boolean()) },
  returns: vAlert,
  handler: async (ctx, { userId, alertId, once }): Promise<Alert> => {
    const row = await requireAlert(ctx, userId, alertId);
    const now = Date.now();
    const { condition } = row;
    if (!isAlert(row))
      throw new AppError("forbidden", "A standing order is set by a tap in its owner's chat");
    if (row.state === "off") throw new AppError("conflict", "This alert was switched off: ask for it again");
    const isProven = (await findOwner(ctx, userId)) !== null;
    // A chat with the bot has a person behind it.
    const life = isProven || isChatUser(userId) ? LIFETIME_MS : UNPROVEN_LIFETIME_MS;
    const expiresAt = Math.min(now + life, row.until ?? Infinity);
    if (row.state === "proposed") {
      // It replaces the active alert with the same line and another end.
      const former = findSame(condition, await queryInState(ctx, userId, "active").take(ALL));
      if (former !== undefined) await switchOff(ctx, former);
      const edited = row.replaces === undefined ? null : await ctx.db.get("alerts", row.replaces);
      if (edited?.userId === userId) await switchOff(ctx, edited);
      const most = isProven ? MOST_ACTIVE : MOST_UNPROVEN;
      const active = (await queryInState(ctx, userId, "active").take(ALL)).filter(isAlert);
      if (active.length >= most) {
        const more = isProven ? "" : `, or sign in for up to ${MOST_ACTIVE}`;
        throw new AppError("conflict", `At most ${most} alerts can be active: switch one off first${more}`);
      }
      if (condition.kind === "research") await requireReader(ctx, userId, active);
      await activate(ctx, row, expiresAt, now);
    }
    await ctx.db.patch("alerts", row._id, { expiresAt, ...(once === true ? { once } : {}) });
    return getOrThrow(ctx, "alerts", row._id);
  },
});

/** Whether a row is an alert, and no standing order. */
const isAlert = ({ order }: Alert): boolean => order === undefined;

/** @throws AppError `forbidden` without an owner and a confirmed chat, `conflict` with three already. */
async function requireReader(ctx: QueryCtx, userId: string, active: readonly Alert[]): Promise<void> {
  if ((await findOwner(ctx, userId)) === null || (await findLinkedChat(ctx, userId)) === null)
    throw new AppError(
      "forbidden",
      "Research at an hour is for accounts with an owner and a chat linked with the service's bot",
    );
  if (active.filter(({ condition }) => condition.kind === "research").length >= MOST_RESEARCHED)
    throw new AppError("conflict", `At most ${MOST_RESEARCHED} alerts can research: switch one off first`);
}

/** Switches a user's alert off. @throws AppError `not_found` for another user's alert, and for a standing order. */
export const endAlert = internalMutation({
  args: { userId: v.string(), alertId: v.string() },
  returns: vAlert,
  handler: async (ctx, { userId, alertId }): Promise<Alert> => {
    const row = await requireAlert(ctx, userId, alertId);
    if (!isAlert(row)) throw new AppError("not_found", NO_ALERT);
    return switchOff(ctx, row);
  },
});

/** Keeps an active alert quiet for two hours, or ends that (`isOver`). @throws AppError `not_found`; `conflict` for one that is not active. */
export const mute = internalMutation({
  args: { userId: v.string(), alertId: v.string(), isOver: v.boolean() },
  returns: vAlert,
  handler: async (ctx, { userId, alertId, isOver }): Promise<Alert> => {
    const row = await requireAlert(ctx, userId, alertId);
    if (row.state !== "active" || isTimed(row.condition) || !isAlert(row))
      throw new AppError("conflict", "Only an active alert on a value can be muted");
    const now = Date.now();
    const readyAt = isOver ? Math.min(row.readyAt, now) : Math.max(row.readyAt, now + MUTED_MS);
    await ctx.db.patch("alerts", row._id, { readyAt });
    return getOrThrow(ctx, "alerts", row._id);
  },
});

const vListed = v.object({ alert: vAlert, latest: v.union(vObservation, v.null()) });

/** A user's alerts with the present values of the active ones. */
export async function listWithValues(ctx: QueryCtx, userId: string): Promise<Infer<typeof vListed>[]> {
  const now = Date.now();
  const values = new Map<string, Promise<Observation | null>>();
  const find = ({ state, subject }: Alert) => {
    if (state !== "active" || subject === "call" || subject.startsWith(CLOCK)) return null;
    const found = values.get(subject) ?? findLastObservation(ctx, subject, now);
    values.set(subject, found);
    return found;
  };
  const alerts = await listUserAlerts(ctx, userId);
  return Promise.all(alerts.map(async (alert) => ({ alert, latest: await find(alert) })));
}

/** For the bot's card. */
export const listForCard = internalQuery({
  args: { userId: v.string() },
  returns: v.array(vListed),
  handler: (ctx, { userId }) => listWithValues(ctx, userId),
});

/** Keeps the last question to a user. */
export const keepQuestion = defineMutation(
  alertTables.alertQuestions.validator.fields,
  async (ctx, asked) => {
    const former = await getOneFrom(ctx.db, "alertQuestions", "by_userId", asked.userId);
    if (former !== null) await ctx.db.delete("alertQuestions", former._id);
    await ctx.db.insert("alertQuestions", asked);
  },
);

/** The question to a user that is not older than ten minutes. @param at Epoch ms: now. */
export const getQuestion = internalQuery({
  args: { userId: v.string(), at: v.number() },
  returns: v.union(v.object({ template: v.string(), alertId: v.optional(v.id("alerts")) }), v.null()),
  handler: async (ctx, { userId, at }) => {
    const row = await getOneFrom(ctx.db, "alertQuestions", "by_userId", userId);
    if (row === null || row._creationTime < at - ANSWERED_WITHIN_MS) return null;
    const { template, alertId } = row;
    return alertId === undefined ? { template } : { template, alertId };
  },
});

/** A user's alerts, without standing orders. */
export const listAlerts = internalQuery({
  args: { userId: v.string() },
  returns: v.array(vAlert),
  handler: async (ctx, { userId }) => (await listUserAlerts(ctx, userId)).filter(isAlert),
});

const MOVED_AT_ONCE = 500;

/** Ends all of a user's alerts; proposals too, since a late confirmation would switch them on. */
export const endAllAlerts = defineMutation({ userId: v.string() }, async (ctx, { userId }) => {
  for (const state of ["active", "proposed"] as const)
    for (const row of await queryInState(ctx, userId, state).take(ALL)) await switchOff(ctx, row);
});

/** Moves a chat's alerts and firings to the user whom the chat is linked to, however many alerts are active. */
export const adoptAlerts = defineMutation({ from: v.string(), to: v.string() }, async (ctx, { from, to }) => {
  for (const state of ["active", "proposed", "off"] as const)
    for (const { _id } of await queryInState(ctx, from, state).take(ALL))
      await ctx.db.patch("alerts", _id, { userId: to });
  const firings = await queryBy(ctx.db.query("alertFirings"), "userId", from).take(MOVED_AT_ONCE);
  for (const { _id } of firings) await ctx.db.patch("alertFirings", _id, { userId: to });
  if (firings.length === MOVED_AT_ONCE)
    await ctx.scheduler.runAfter(0, internal.alerts.model.adoptAlerts, { from, to });
});
