import { v, type Infer } from "convex/values";
import { getOneFrom, getOrThrow } from "convex-helpers/server/relationships";
import type { Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { AppError, isErrorCode, vErrorCode, type ErrorCode } from "../lib/errors";
import { defined } from "../lib/objects";
import { PRICE_MOVED, WORSE_THAN_MARKET } from "../lib/refusals";
import { DAY, MINUTE, SECOND, toIso } from "../lib/time";
import { enqueueOwnCard } from "../messenger/model";
import { emitToOwner } from "../messenger/webhooks/events";
import { defineMutation } from "../platform/changes";
import { flushUsage, vProviderUsage } from "../platform/outside/calls";
import { completeWork, getRunningWork, snoozeWork, vFailure, vJob, type Job } from "../platform/work";
import { isEnded, openOrder, type Order } from "../wallets/orders/model";
import { vOrderRow, vUserRequest } from "../wallets/tables";
import { buildOutcomeCard } from "./cards";
import { enqueueOrder, fireOrder, LATEST_MS, toText } from "./watch";
import { switchOff, vAlert } from "./model";
import { findLoss } from "./standing";
import { vStandingTerms, type Firing, type StandingOrder } from "./tables";
import { describeStandingOrder, isStandingOrder, MOST_CALLS_A_DAY, OVER } from "./terms";

/**
 * What becomes of a standing order's firing: its order is opened once by the firing's key, and its outcome told in the
 * mutation that decides it: done, refused or missed.
 */

/** How long an order is tried again that another moment may allow, and the pause between two tries. */
const RETRIED_FOR_MS = 15 * MINUTE;
const RETRY_MS = MINUTE;
/** The pause before a signed order is looked at again. */
const LOOK_MS = 15 * SECOND;
/** So many refusals in a row end an order that fires again and again. */
const MOST_REFUSALS = 3;
const CALL_PAUSE_MS = MINUTE;

/**
 * A call of an order's address. Anybody may call: one that fires nothing writes nothing.
 * @returns Whether it fires; `null` for an address that is dead.
 */
export const receiveCall = internalMutation({
  args: { callHash: v.string() },
  returns: v.union(v.boolean(), v.null()),
  handler: async (ctx, { callHash }) => {
    const row = await getOneFrom(ctx.db, "alerts", "by_callHash", callHash);
    if (row?.state !== "active" || !isStandingOrder(row)) return null;
    const now = Date.now();
    const earlier = (row.order.calls ?? []).filter((at) => at > now - DAY);
    if (earlier.length >= MOST_CALLS_A_DAY || (earlier.at(-1) ?? 0) > now - CALL_PAUSE_MS) return false;
    await ctx.db.patch("alerts", row._id, { order: { ...row.order, calls: [...earlier, now] } });
    await fireOrder(ctx, row, { at: now, observedAt: now, value: 0, source: "call" }, row.readyAt);
    return true;
  },
});

type Due = { firing: Firing; alert: StandingOrder; order: Order | null };

/** A firing without an outcome; `null` if it has one. */
async function findDue(ctx: QueryCtx, firingId: Id<"alertFirings">): Promise<Due | null> {
  const firing = await ctx.db.get("alertFirings", firingId);
  const alert = firing === null ? null : await ctx.db.get("alerts", firing.alertId);
  if (firing?.outcome !== "due" || alert === null || !isStandingOrder(alert)) return null;
  const order = firing.orderId === undefined ? null : await ctx.db.get("orders", firing.orderId);
  return { firing, alert, order };
}

const vDueFiring = v.object({
  alert: vAlert.extend({ order: vStandingTerms }),
  order: v.union(vOrderRow, v.null()),
  /** Whether it is too late to begin. */
  isLate: v.boolean(),
});
export type DueFiring = Infer<typeof vDueFiring>;

/** A firing that is to be carried out; `null` if there is nothing to do. */
export const readFiring = internalQuery({
  args: { firingId: v.id("alertFirings"), now: v.number() },
  returns: v.union(vDueFiring, v.null()),
  handler: async (ctx, { firingId, now }) => {
    const due = await findDue(ctx, firingId);
    if (due === null) return null;
    const { firing, alert, order } = due;
    return { alert, order, isLate: now - firing.observation.at > LATEST_MS };
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
    walletId: v.string(),
    request: vUserRequest,
    value: v.optional(v.string()),
    etherPrice: v.string(),
    least: v.optional(v.string()),
  },
  returns: v.union(v.id("orders"), v.null()),
  handler: async (ctx, { firingId, job, least, ...terms }): Promise<Id<"orders"> | null> => {
    const due = await findDue(ctx, firingId);
    if (due === null || (await getRunningWork(ctx, job)) === null) return null;
    const { firing, alert, order: earlier } = due;
    if (earlier !== null && !isUnsigned(earlier)) return earlier._id;
    const { userId, order, endReason } = alert;
    // One whose time is over carries out what it had begun.
    if (alert.state !== "active" && endReason !== OVER)
      throw new AppError("forbidden", `It had ended before it could order: ${endReason ?? "it was stopped"}`);
    const loss = await findLoss(ctx, alert, Date.now());
    if (loss !== null) throw new AppError("forbidden", `It may not order: ${loss}`);
    const key = order.keyId === undefined ? null : await ctx.db.get("keys", order.keyId);
    const { _id: orderId } = await openOrder(ctx, {
      ...{ userId, key: key ?? undefined, ...terms, by: order.by, address: null },
      idempotencyKey: `standing ${alert._id} ${firing.observation.observedAt}`,
      standingId: alert._id,
      estimate: defined({ minBuyAmount: least }),
    });
    await ctx.db.patch("alertFirings", firingId, { orderId });
    return orderId;
  },
});

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
    const due = await findDue(ctx, firingId);
    if (due === null) {
      await completeWork(ctx, job);
      return;
    }
    const { firing, alert, order } = due;
    if (order !== null && !isEnded(order)) {
      await snoozeWork(ctx, job, LOOK_MS);
      return;
    }
    if (order?.state === "confirmed") return tellOutcome(ctx, due, job, "done");
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
    await tellOutcome(ctx, due, job, outcome, why);
  },
);

const toCode = ({ errorCode = "" }: Order): ErrorCode => (isErrorCode(errorCode) ? errorCode : "upstream");

/** A try that was lost or has thrown: the last one is missed, unless its order has gone its way. */
export const storeFailure = defineMutation(
  { firingId: v.id("alertFirings"), ...vFailure },
  async (ctx, { firingId, isLast }) => {
    if (!isLast) return;
    const due = await findDue(ctx, firingId);
    if (due === null) return;
    // Something may be on the chain.
    if (due.order !== null && !isUnsigned(due.order)) return enqueueOrder(ctx, firingId);
    await tellOutcome(ctx, due, null, "missed", { code: "upstream", message: LATE });
  },
);

const OUT_OF_REACH = "The price did not stay at its level, or no offer kept to it";
export const LATE = "It could not be carried out in time";

type Outcome = Exclude<NonNullable<Firing["outcome"]>, "due">;
type Why = { code: ErrorCode; message: string };

/** Stores a firing's outcome with its card and its posts, and what it means for the standing order. */
async function tellOutcome(
  ctx: MutationCtx,
  { alert, firing, order }: Due,
  job: Job | null,
  outcome: Outcome,
  why?: Why,
): Promise<void> {
  if (job !== null) await completeWork(ctx, job);
  const { _id: standingId, userId } = alert;
  const after = await advance(ctx, alert, outcome, why);
  const reason = why?.message === PRICE_MOVED ? OUT_OF_REACH : why?.message;
  const told = { outcome, reason, order, at: firing.observation.at };
  const { answer: paragraphs, buttons } = buildOutcomeCard(after, told);
  const text = toText(paragraphs);
  await ctx.db.patch("alertFirings", firing._id, { outcome, text, ...defined({ reason }) });
  await enqueueOwnCard(ctx, { userId, kind: "alert", topic: `alert:${standingId}`, paragraphs, buttons });
  await emitToOwner(ctx, userId, "standing.fired", {
    ...{ firingId: firing._id, standingId, outcome, text },
    words: describeStandingOrder(alert),
    at: toIso(firing.observation.observedAt),
    reason: reason ?? null,
    orderId: order?._id ?? null,
    txHash: order?.txHash ?? null,
    ...defined({ paper: alert.order.paper }),
  });
}

/** What an outcome means for a standing order: its count, and its end. @returns It afterwards. */
async function advance(
  ctx: MutationCtx,
  alert: StandingOrder,
  outcome: Outcome,
  why: Why | undefined,
): Promise<StandingOrder> {
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
  const row = await getOrThrow(ctx, "alerts", _id);
  return { ...(end === null ? row : await switchOff(ctx, row, end)), order: changed };
}
