import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import { AppError, isErrorCode, vErrorCode, type ErrorCode } from "../lib/errors";
import { PRICE_MOVED, WORSE_THAN_MARKET } from "../lib/refusals";
import { defined } from "../lib/objects";
import { DAY, HOUR, MINUTE, NEVER, SECOND, toIso } from "../lib/time";
import { getSpanText } from "../messenger/format";
import { enqueueOwnCard } from "../messenger/model";
import { emitToOwner } from "../messenger/webhooks/events";
import { defineMutation } from "../platform/changes";
import { flushUsage, vProviderUsage } from "../platform/outside/calls";
import {
  buildFailureHandler,
  completeWork,
  enqueueWork,
  getRunningWork,
  snoozeWork,
  vFailure,
  vJob,
  type Job,
} from "../platform/work";
import { openOrder, type Order } from "../wallets/orders/model";
import { vOrderRow, vUserRequest } from "../wallets/tables";
import { getNextTime, ORDERS } from "./grammar";
import { queryDueAlerts, vAlert } from "./model";
import { vObservation, vStandingOrder, type Firing, type Observation, type Standing } from "./tables";
import { buildOutcomeCard } from "./standingCards";
import { endForReason, findLoss, OVER } from "./standingOrders";
import { describeStanding, isStanding, MOST_CALLS_A_DAY } from "./standingTerms";

/**
 * Firings of standing orders. The firing's row comes first, unique for its alert and observation, with leased
 * work that carries it out; its order is opened once by the firing's key, and its outcome told in the mutation that decides
 * it: done, refused or missed.
 */

/** How late an order may be carried out; later it is missed. */
const LATEST_MS = HOUR;
/** How long an order is tried again that another moment may allow, and the pause between two tries. */
const RETRIED_FOR_MS = 15 * MINUTE;
const RETRY_MS = MINUTE;
/** The pause before a signed order is looked at again. */
const LOOK_MS = 15 * SECOND;
/** So many refusals in a row end an order that fires again and again. */
const MOST_REFUSALS = 3;
/** Firings that one transaction opens. */
const BATCH = 50;
const CALL_PAUSE_MS = MINUTE;

/** Fires a standing order for an observation, once. @param readyAt When it may fire next, epoch ms. */
async function openFiring(
  ctx: MutationCtx,
  { _id: alertId, userId }: Standing,
  observation: Observation,
  readyAt: number,
): Promise<void> {
  const { observedAt } = observation;
  const earlier = ctx.db
    .query("alertFirings")
    .withIndex("by_alertId_and_observation", (q) =>
      q.eq("alertId", alertId).eq("observation.observedAt", observedAt),
    );
  if ((await earlier.unique()) !== null) return;
  await ctx.db.patch("alerts", alertId, { readyAt });
  const row = { alertId, userId, observation, text: "", outcome: "due" as const };
  const firingId = await ctx.db.insert("alertFirings", row);
  const onFailure = buildFailureHandler(internal.alerts.standingFirings.storeFailure, { firingId });
  const terms = { queue: "orders" as const, subject: firingId, until: observation.at + LATEST_MS, onFailure };
  await enqueueWork(ctx, internal.alerts.standingActions.carryOut, { firingId }, terms);
}

/** Fires an order whose level an observation has crossed, unless it carries one out. */
export const fireCrossed = defineMutation(
  { standingId: v.id("alerts"), one: vObservation },
  async (ctx, { standingId, one }) => {
    const row = await ctx.db.get("alerts", standingId);
    if (row?.state === "active" && isStanding(row) && row.readyAt <= one.at)
      await openFiring(ctx, row, one, NEVER);
  },
);

/** Opens the firings that are due by the clock. */
export const fireDue = defineMutation({}, async (ctx) => {
  const now = Date.now();
  const due = await queryDueAlerts(ctx, ORDERS, now).take(BATCH);
  for (const row of due) {
    const { condition, readyAt } = row;
    if (!isStanding(row) || condition.kind !== "clock") continue;
    const one = { at: readyAt, observedAt: readyAt, value: 0, source: "clock" };
    await openFiring(ctx, row, one, getNextTime(condition, now));
  }
  if (due.length === BATCH) await ctx.scheduler.runAfter(0, internal.alerts.standingFirings.fireDue, {});
});

/**
 * A call of an order's address.
 * @returns Whether it fires; `null` for an address that is dead.
 */
export const receiveCall = internalMutation({
  args: { standingId: v.id("alerts"), callHash: v.string() },
  returns: v.union(v.boolean(), v.null()),
  handler: async (ctx, { standingId, callHash }) => {
    const row = await ctx.db.get("alerts", standingId);
    if (row === null || !isStanding(row) || !isCallable(row, callHash)) return null;
    const now = Date.now();
    if (!acceptsCall(row, now)) return false;
    const calls = [...listCalls(row, now), now];
    await ctx.db.patch("alerts", row._id, { order: { ...row.order, calls } });
    await openFiring(ctx, row, { at: now, observedAt: now, value: 0, source: "call" }, row.readyAt);
    return true;
  },
});

const isCallable = (row: Standing, callHash: string) => row.state === "active" && row.callHash === callHash;
const listCalls = ({ order }: Standing, now: number) => (order.calls ?? []).filter((at) => at > now - DAY);
const acceptsCall = (row: Standing, now: number) => {
  const calls = listCalls(row, now);
  return calls.length < MOST_CALLS_A_DAY && (calls.at(-1) ?? 0) <= now - CALL_PAUSE_MS;
};

/** The active order behind an address, and whether it takes a call at `now`; `null` for a dead one. Writes nothing: anybody may call. */
export const findCalled = internalQuery({
  args: { callHash: v.string(), now: v.number() },
  returns: v.union(v.object({ standingId: v.id("alerts"), accepts: v.boolean() }), v.null()),
  handler: async (ctx, { callHash, now }) => {
    const row = await ctx.db
      .query("alerts")
      .withIndex("by_callHash", (q) => q.eq("callHash", callHash))
      .unique();
    if (row === null || !isStanding(row) || !isCallable(row, callHash)) return null;
    return { standingId: row._id, accepts: acceptsCall(row, now) };
  },
});

const vDueFiring = v.object({
  observation: vObservation,
  alert: vAlert.extend({ order: vStandingOrder }),
  order: v.union(vOrderRow, v.null()),
  /** Whether it is too late to begin. */
  isLate: v.boolean(),
});
export type DueFiring = Infer<typeof vDueFiring>;

/** A firing without an outcome; `null` if there is nothing to do. */
export const readFiring = internalQuery({
  args: { firingId: v.id("alertFirings"), now: v.number() },
  returns: v.union(vDueFiring, v.null()),
  handler: async (ctx, { firingId, now }) => {
    const firing = await ctx.db.get("alertFirings", firingId);
    const alert = firing === null ? null : await ctx.db.get("alerts", firing.alertId);
    if (firing?.outcome !== "due" || alert === null || !isStanding(alert)) return null;
    const { observation, orderId } = firing;
    const order = orderId === undefined ? null : await ctx.db.get("orders", orderId);
    return { observation, alert, order, isLate: now - observation.at > LATEST_MS };
  },
});

/** Whether an order has ended and left nothing on the chain: another may take its place. */
export function isUnsigned({ state, tries }: Order): boolean {
  return state === "failed" && tries.length === 0;
}

/**
 * Opens the order of a firing, under the rules and the authority of this moment; once it lives, it is the firing's only one.
 * @param args.least The least that it may buy: the bound of its level.
 * @throws AppError as `openOrder`; `forbidden` if the standing order has ended.
 */
export const placeStanding = internalMutation({
  args: {
    firingId: v.id("alertFirings"),
    job: vJob,
    request: vUserRequest,
    value: v.optional(v.string()),
    etherPrice: v.string(),
    least: v.optional(v.string()),
  },
  returns: v.union(v.id("orders"), v.null()),
  handler: async (ctx, { firingId, job, request, least, ...values }): Promise<Id<"orders"> | null> => {
    const firing = await ctx.db.get("alertFirings", firingId);
    const alert = firing === null ? null : await ctx.db.get("alerts", firing.alertId);
    if ((await getRunningWork(ctx, job)) === null || firing?.outcome !== "due") return null;
    if (alert === null || !isStanding(alert)) return null;
    const earlier = firing.orderId === undefined ? null : await ctx.db.get("orders", firing.orderId);
    if (earlier !== null && !isUnsigned(earlier)) return earlier._id;
    // One whose time is over carries out what it had begun.
    if (alert.state !== "active" && alert.endReason !== OVER)
      throw new AppError("forbidden", explainEnd(alert));
    const loss = await findLoss(ctx, alert, Date.now());
    if (loss !== null) throw new AppError("forbidden", `It may not order: ${loss}`);
    const { userId, order } = alert;
    const key =
      order.keyId === undefined ? undefined : ((await ctx.db.get("keys", order.keyId)) ?? undefined);
    const { _id: orderId } = await openOrder(ctx, {
      ...{ userId, request, key, ...values, by: order.by, walletId: order.walletId, address: null },
      idempotencyKey: `standing ${alert._id} ${firing.observation.observedAt}`,
      standingId: alert._id,
      found: defined({ minBuyAmount: least }),
    });
    await ctx.db.patch("alertFirings", firingId, { orderId });
    return orderId;
  },
});

const explainEnd = ({ endReason }: Standing): string =>
  `It had ended before it could order${endReason === undefined ? "" : `: ${endReason}`}`;

/** Refusals that another moment may not make. */
function mayPass(code: ErrorCode, error: string): boolean {
  return ["upstream", "paused", "overloaded", "rate_limited"].includes(code) || error === WORSE_THAN_MARKET;
}
/** Of them, those that say nothing about the order: the service or a provider did not work. */
const isOutage = (code: ErrorCode, error: string): boolean =>
  ["upstream", "paused", "overloaded", "internal", "not_configured"].includes(code) && error !== PRICE_MOVED;

/**
 * Decides what a try at a firing has come to: its outcome, another look, or another try.
 * @param args.triedSince Epoch ms: the first try.
 * @param args.failure Why no order was opened; absent: its order says it.
 */
export const settleFiring = defineMutation(
  {
    firingId: v.id("alertFirings"),
    job: vJob,
    triedSince: v.number(),
    failure: v.optional(v.object({ code: vErrorCode, message: v.string() })),
    usage: vProviderUsage,
  },
  async (ctx, { firingId, job, triedSince, failure, usage }) => {
    await flushUsage(ctx, usage);
    if ((await getRunningWork(ctx, job)) === null) return;
    const firing = await ctx.db.get("alertFirings", firingId);
    const alert = firing === null ? null : await ctx.db.get("alerts", firing.alertId);
    if (firing?.outcome !== "due" || alert === null || !isStanding(alert)) {
      await completeWork(ctx, job);
      return;
    }
    const order = firing.orderId === undefined ? null : await ctx.db.get("orders", firing.orderId);
    const isOpen = order !== null && order.state !== "confirmed" && order.state !== "failed";
    if (isOpen) {
      await snoozeWork(ctx, job, LOOK_MS);
      return;
    }
    if (order?.state === "confirmed") return tellOutcome(ctx, { alert, firing, job, order }, "done");
    const isSpent = order !== null && !isUnsigned(order);
    const why = failure ?? {
      code: order === null ? "upstream" : toCode(order),
      message: order?.error ?? LATE,
    };
    const now = Date.now();
    // An order that was opened and not signed was refused by rules that have changed meanwhile.
    const isVoid = failure === undefined && why.code === "forbidden";
    const passes = !isSpent && (isVoid || mayPass(why.code, why.message)) && alert.state === "active";
    if (passes && now + RETRY_MS < Math.min(triedSince + RETRIED_FOR_MS, firing.observation.at + LATEST_MS)) {
      await snoozeWork(ctx, job, RETRY_MS, { firingId, triedSince });
      return;
    }
    const outcome = !isSpent && isOutage(why.code, why.message) ? "missed" : "refused";
    await tellOutcome(ctx, { alert, firing, job, order }, outcome, why);
  },
);

const toCode = ({ errorCode = "" }: Order): ErrorCode => (isErrorCode(errorCode) ? errorCode : "upstream");

/** A try that was lost or has thrown: the last one is missed, unless its order has gone its way. */
export const storeFailure = defineMutation(
  { firingId: v.id("alertFirings"), ...vFailure },
  async (ctx, { firingId, isLast }) => {
    if (!isLast) return;
    const firing = await ctx.db.get("alertFirings", firingId);
    const alert = firing === null ? null : await ctx.db.get("alerts", firing.alertId);
    if (firing?.outcome !== "due" || alert === null || !isStanding(alert)) return;
    const order = firing.orderId === undefined ? null : await ctx.db.get("orders", firing.orderId);
    if (order !== null && !isUnsigned(order)) {
      // Something may be on the chain: its order's end is awaited however long it takes.
      const onFailure = buildFailureHandler(internal.alerts.standingFirings.storeFailure, { firingId });
      const terms = { queue: "orders" as const, subject: firingId, onFailure };
      await enqueueWork(ctx, internal.alerts.standingActions.carryOut, { firingId }, terms);
      return;
    }
    await tellOutcome(ctx, { alert, firing, job: null, order }, "missed", {
      code: "upstream",
      message: LATE,
    });
  },
);

const OUT_OF_REACH = "The price did not stay at its level, or no offer kept to it";
export const LATE = "It could not be carried out in time";

type Told = { alert: Standing; firing: Firing; job: Job | null; order: Order | null };

/** Stores a firing's outcome with its card and its posts, and what it means for the standing order. */
async function tellOutcome(
  ctx: MutationCtx,
  { alert, firing, job, order }: Told,
  outcome: "done" | "refused" | "missed",
  why?: { code: ErrorCode; message: string },
): Promise<void> {
  if (job !== null) await completeWork(ctx, job);
  const { _id: standingId, userId } = alert;
  const after = await advance(ctx, alert, outcome, why);
  const reason = why?.message === PRICE_MOVED ? OUT_OF_REACH : why?.message;
  const { paragraphs, buttons } = buildOutcomeCard(after, {
    outcome,
    reason,
    order,
    at: firing.observation.at,
  });
  const text = paragraphs.map((spans) => spans.map(getSpanText).join("")).join("\n");
  await ctx.db.patch("alertFirings", firing._id, { outcome, text, ...defined({ reason }) });
  await enqueueOwnCard(ctx, { userId, kind: "alert", topic: `alert:${standingId}`, paragraphs, buttons });
  await emitToOwner(ctx, userId, "standing.fired", {
    firingId: firing._id,
    standingId,
    words: describeStanding(alert),
    at: toIso(firing.observation.observedAt),
    outcome,
    reason: reason ?? null,
    orderId: order?._id ?? null,
    txHash: order?.txHash ?? null,
    text,
    ...defined({ paper: alert.order.paper }),
  });
}

/** What an outcome means for a standing order: its count, and its end. @returns It afterwards. */
async function advance(
  ctx: MutationCtx,
  alert: Standing,
  outcome: "done" | "refused" | "missed",
  why: { code: ErrorCode; message: string } | undefined,
): Promise<Standing> {
  const { _id, condition, order } = alert;
  const isOnce = condition.kind === "price";
  const refusals = outcome === "done" ? 0 : order.refusals + (outcome === "refused" ? 1 : 0);
  const { timesLeft } = order;
  const left = timesLeft === undefined || isOnce ? timesLeft : timesLeft - 1;
  const changed = { ...order, refusals, ...defined({ timesLeft: left }) };
  // A level is armed again where another moment may allow its order.
  const armed = isOnce ? { readyAt: Date.now() } : {};
  await ctx.db.patch("alerts", _id, { fired: alert.fired + 1, order: changed, ...armed });
  const isOver =
    isOnce &&
    (outcome === "done" || (outcome === "refused" && !mayPass(why?.code ?? "upstream", why?.message ?? "")));
  const loss = alert.state === "active" ? await findLoss(ctx, alert, Date.now()) : null;
  const end =
    loss ??
    (left === 0 ? "it has fired as often as was said" : null) ??
    (isOver ? (outcome === "done" ? "it is done" : "it was refused") : null) ??
    (!isOnce && refusals >= MOST_REFUSALS ? `it was refused ${MOST_REFUSALS} times in a row` : null);
  const row = await ctx.db.get("alerts", _id);
  if (end !== null && row?.state === "active") await endForReason(ctx, row, end);
  const after = await ctx.db.get("alerts", _id);
  return { ...(after ?? alert), order: changed };
}
