import { v, type Infer } from "convex/values";
import { getOrThrow } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { findOwner } from "../identity/model";
import { AppError } from "../lib/errors";
import { defined } from "../lib/objects";
import { DAY, HOUR } from "../lib/time";
import { findApprovingLink, findLinkedChat, isChatUser } from "../messenger/model";
import { defineMutation } from "../platform/changes";
import { queryBy } from "../platform/records";
import { formatCondition, isMeasured, toWatch } from "./conditions";
import {
  activate,
  ALL,
  askOwner,
  insertProposal,
  listLiving,
  listUserAlerts,
  NO_ALERT,
  queryInState,
  requireAlert,
  requireAskable,
  switchOff,
  vAlert,
} from "./model";
import { findLastObservation } from "./observations";
import { confirmStandingOrder, repeatStandingOrder, vSet } from "./standing";
import { alertTables, vObservation, type Alert, type Condition } from "./tables";
import { isStandingOrder } from "./terms";

/** The transactions behind people's commands: alerts are proposed, confirmed, muted, ended and listed. */

/** The most active alerts of a user with a login, and of a `userId` without one: inventing ids costs nothing. */
const MOST_ACTIVE = 20;
const MOST_UNPROVEN = 5;
/** The most active alerts that research: each firing costs a model's report. */
const MOST_RESEARCHED = 3;
/** An alert's life from its last confirmation; shorter for a `userId` without a login. */
const LIFETIME_MS = 90 * DAY;
const UNPROVEN_LIFETIME_MS = 30 * DAY;
const MUTED_MS = 2 * HOUR;

const vProposal = alertTables.alerts.validator.pick("userId", "condition", "once", "until");

/**
 * Stores a proposal until its user confirms it. If the user has an alert with the same line, that one is returned: an
 * active alert if it ends as requested, otherwise the proposal, updated to the requested end.
 * @param args.asksOwner For a caller with only the id of an owned account: the card goes to the owner's chat, whose tap sets
 * it. A proposal with the same line stays as its owner was shown it.
 * @throws AppError for such a caller `forbidden` without a chat that can tap; `rate_limited` while the owner has three such
 * cards to answer, and after ten of them in a day.
 */
export const storeProposal = internalMutation({
  args: vProposal.extend({ asksOwner: v.boolean() }),
  returns: vAlert,
  handler: async (ctx, { asksOwner, ...proposal }) => {
    const link = asksOwner ? await findApprovingLink(ctx, proposal.userId, Date.now()) : null;
    if (asksOwner && link === null)
      throw new AppError(
        "forbidden",
        "This userId has an owner: setting an alert needs the owner's token, a key with the scope withdraw, or a tap in the owner's chat, which has to be linked with the service's bot",
      );
    return propose(ctx, proposal, link);
  },
});

async function propose(
  ctx: MutationCtx,
  proposal: Infer<typeof vProposal>,
  asked: Doc<"messengerLinks"> | null,
): Promise<Alert> {
  const { userId, condition, ...requestedEnd } = proposal;
  const living = await listLiving(ctx, userId);
  const active = findSame(condition, living, "active");
  if (active !== undefined && hasEnd(active, requestedEnd)) return active;
  const same = findSame(condition, living, "proposed");
  if (same !== undefined) {
    if (asked === null && !hasEnd(same, requestedEnd)) await ctx.db.patch("alerts", same._id, requestedEnd);
    return getOrThrow(ctx, "alerts", same._id);
  }
  if (asked !== null) await requireAskable(ctx, userId);
  const alert = await insertProposal(ctx, { ...proposal, ...toWatch(condition) });
  if (asked !== null) await askOwner(ctx, alert, asked.messengerId);
  return alert;
}

/** Whether an alert ends as a request asks; a request without `once` and `until` accepts any end. */
const hasEnd = (row: Alert, { once, until }: Pick<Alert, "once" | "until">): boolean =>
  (once === undefined || once === (row.once ?? false)) && (until === undefined || until === row.until);

/** The alert in this state whose condition reads the same. */
const findSame = (condition: Condition, rows: readonly Alert[], state: Alert["state"]): Alert | undefined =>
  rows.find(
    (row) =>
      row.state === state &&
      !isStandingOrder(row) &&
      formatCondition(row.condition) === formatCondition(condition),
  );

const vOwn = { userId: v.string(), alertId: v.string() };

/**
 * Switches a user's proposal on, or prolongs an active alert from now on, at most until the end that its user chose. With
 * `once` it ends at its first firing.
 * @param args.messengerId The chat that taps, which a standing order needs.
 * @throws AppError `not_found` for another user's alert; `conflict` for an ended one, and beyond the number of active alerts.
 */
export const accept = internalMutation({
  args: { ...vOwn, once: v.optional(v.boolean()), messengerId: v.optional(v.string()) },
  returns: vSet,
  handler: async (ctx, { userId, alertId, once, messengerId }): Promise<Infer<typeof vSet>> => {
    const row = await requireAlert(ctx, userId, alertId);
    if (isStandingOrder(row) && messengerId === undefined)
      throw new AppError("forbidden", "A standing order is set by a tap in its owner's chat");
    if (row.state === "off") throw new AppError("conflict", "This one was switched off: ask for it again");
    if (isStandingOrder(row)) return confirmStandingOrder(ctx, row, messengerId ?? "");
    return { alert: await confirmAlert(ctx, row, once === true) };
  },
});

async function confirmAlert(ctx: MutationCtx, row: Alert, once: boolean): Promise<Alert> {
  const { _id, userId, condition, until = Infinity } = row;
  const now = Date.now();
  const isProven = (await findOwner(ctx, userId)) !== null;
  // A chat with the bot has a person behind it.
  const life = isProven || isChatUser(userId) ? LIFETIME_MS : UNPROVEN_LIFETIME_MS;
  const expiresAt = Math.min(now + life, until);
  if (row.state === "proposed") {
    const active = (await queryInState(ctx, userId, "active").take(ALL)).filter(
      (one) => !isStandingOrder(one),
    );
    // The proposal replaces the active alert with the same line, which has another end.
    const former = findSame(condition, active, "active");
    if (former !== undefined) await switchOff(ctx, former);
    const others = active.filter((one) => one !== former);
    await requireRoom(ctx, row, others, isProven);
    await activate(ctx, row, expiresAt, now);
  }
  await ctx.db.patch("alerts", _id, { expiresAt, ...(once ? { once } : {}) });
  return getOrThrow(ctx, "alerts", _id);
}

/** @throws AppError `conflict` beyond the number of active alerts; `forbidden` for research without an owner and a confirmed chat */
async function requireRoom(
  ctx: QueryCtx,
  { userId, condition }: Alert,
  active: readonly Alert[],
  isProven: boolean,
): Promise<void> {
  const most = isProven ? MOST_ACTIVE : MOST_UNPROVEN;
  if (active.length >= most) {
    const more = isProven ? "" : `, or sign in for up to ${MOST_ACTIVE}`;
    throw new AppError("conflict", `At most ${most} alerts can be active: switch one off first${more}`);
  }
  if (condition.kind !== "research") return;
  if (!isProven || (await findLinkedChat(ctx, userId)) === null)
    throw new AppError(
      "forbidden",
      "Research at an hour is for accounts with an owner and a chat linked with the service's bot",
    );
  if (active.filter((one) => one.condition.kind === "research").length >= MOST_RESEARCHED)
    throw new AppError("conflict", `At most ${MOST_RESEARCHED} alerts can research: switch one off first`);
}

/** Switches off a user's alert; a standing order for the account's own chat alone. @throws AppError `not_found` */
export const endAlert = internalMutation({
  args: { ...vOwn, isChat: v.optional(v.boolean()) },
  returns: vAlert,
  handler: async (ctx, { userId, alertId, isChat }): Promise<Alert> => {
    const row = await requireAlert(ctx, userId, alertId);
    if (isStandingOrder(row) && isChat !== true) throw new AppError("not_found", NO_ALERT);
    return switchOff(ctx, row);
  },
});

/** Sets an ended alert again; a standing order is proposed in its owner's chat. @throws AppError as a new one would */
export const repeatAlert = internalMutation({
  args: { ...vOwn, messengerId: v.string() },
  returns: vAlert,
  handler: async (ctx, { userId, alertId, messengerId }): Promise<Alert> => {
    const row = await requireAlert(ctx, userId, alertId);
    if (isStandingOrder(row)) return repeatStandingOrder(ctx, row, messengerId);
    const { condition, once = false } = row;
    return confirmAlert(ctx, await propose(ctx, { userId, condition, once }, null), once);
  },
});

/** Keeps an active alert quiet for two hours. @throws AppError `not_found`; `conflict` for one that is not active. */
export const mute = internalMutation({
  args: vOwn,
  returns: vAlert,
  handler: async (ctx, { userId, alertId }): Promise<Alert> => {
    const row = await requireAlert(ctx, userId, alertId);
    if (row.state !== "active" || !isMeasured(row.condition) || isStandingOrder(row))
      throw new AppError("conflict", "Only an active alert on a value can be muted");
    await ctx.db.patch("alerts", row._id, { readyAt: Math.max(row.readyAt, Date.now() + MUTED_MS) });
    return getOrThrow(ctx, "alerts", row._id);
  },
});

const vLastFiring = v.object({
  at: v.number(),
  outcome: v.optional(v.string()),
  orderId: v.optional(v.id("orders")),
  txHash: v.optional(v.string()),
  reason: v.optional(v.string()),
});
const vListed = v.object({
  alert: vAlert,
  /** The present value, for active alerts. */
  latest: v.union(vObservation, v.null()),
  /** The last firing with an outcome, for standing orders. */
  last: v.union(vLastFiring, v.null()),
});
type Listed = Infer<typeof vListed>;

/** A user's alerts and standing orders: active ones, proposals, and ended ones, newest first. */
export async function listAlertsWithValues(
  ctx: QueryCtx,
  userId: string,
  mostEnded?: number,
): Promise<Listed[]> {
  const alerts = await listUserAlerts(ctx, userId, mostEnded);
  const listed: Listed[] = [];
  for (const alert of alerts) {
    const { state, subject, condition } = alert;
    const hasValue = state === "active" && isMeasured(condition);
    const known = listed.find((one) => one.latest !== null && one.alert.subject === subject)?.latest;
    const latest = hasValue ? (known ?? (await findLastObservation(ctx, subject, Date.now()))) : null;
    listed.push({ alert, latest, last: await findLastFiring(ctx, alert) });
  }
  return listed;
}

async function findLastFiring(ctx: QueryCtx, row: Alert): Promise<Listed["last"]> {
  if (!isStandingOrder(row)) return null;
  const firings = ctx.db
    .query("alertFirings")
    .withIndex("by_alertId_and_observation", (q) => q.eq("alertId", row._id))
    .order("desc");
  const found = (await firings.take(2)).find(({ outcome }) => outcome !== "due");
  if (found === undefined) return null;
  const { observation, outcome, orderId, reason } = found;
  const order = orderId === undefined ? null : await ctx.db.get("orders", orderId);
  return { at: observation.observedAt, ...defined({ outcome, orderId, reason, txHash: order?.txHash }) };
}

export const listAlerts = internalQuery({
  args: { userId: v.string(), mostEnded: v.optional(v.number()) },
  returns: v.array(vListed),
  handler: (ctx, { userId, mostEnded }) => listAlertsWithValues(ctx, userId, mostEnded),
});

const MOVED_AT_ONCE = 500;

/** Ends all of a user's alerts, and the proposals too: a late confirmation would switch those on. */
export const endAllAlerts = defineMutation({ userId: v.string() }, async (ctx, { userId }) => {
  for (const row of await listLiving(ctx, userId)) await switchOff(ctx, row);
});

/** Moves a chat's alerts and firings to the user whom the chat is linked to, however many alerts are active. */
export const adoptAlerts = defineMutation({ from: v.string(), to: v.string() }, async (ctx, { from, to }) => {
  for (const { _id } of await listUserAlerts(ctx, from, ALL))
    await ctx.db.patch("alerts", _id, { userId: to });
  const firings = await queryBy(ctx.db.query("alertFirings"), "userId", from).take(MOVED_AT_ONCE);
  for (const { _id } of firings) await ctx.db.patch("alertFirings", _id, { userId: to });
  if (firings.length === MOVED_AT_ONCE)
    await ctx.scheduler.runAfter(0, internal.alerts.proposals.adoptAlerts, { from, to });
});
