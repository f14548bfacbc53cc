import { v, type Infer } from "convex/values";
import { getOrThrow } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { authorize, requireAllowed } from "../identity/access";
import { findOwner, readMode, requireUnfrozenRules } from "../identity/model";
import { sha256Hex } from "../lib/crypto";
import { AppError } from "../lib/errors";
import { defined } from "../lib/objects";
import { defineMutation } from "../platform/changes";
import { DAY } from "../lib/time";
import { createSecret, enqueueCard, enqueueOwnCard, findApprovingLink } from "../messenger/model";
import { vSecret, type Secret } from "../messenger/tables";
import { queryByBoth } from "../platform/records";
import { findWallet, NO_WALLET } from "../wallets/model";
import { vSwap } from "../wallets/tables";
import { countTimes, getNextTime, isReached, toWatch } from "./grammar";
import {
  activate,
  insertProposal,
  queryInState,
  requireAlert,
  requireAskable,
  switchOff,
  vAlert,
} from "./model";
import { findLastObservation } from "./observations";
import { vCondition, vStandingOrder, type Alert, type Condition, type Firing, type Standing } from "./tables";
import { buildEndedOrdersCard, buildStandingProposal } from "./standingCards";
import { isStanding } from "./standingTerms";

/** Standing orders: proposed, set, listed, ended. What a firing does is in `firings`. */

const MOST_STANDING = 10;
/** More than an account can have, ended ones included. */
const ALL = 100;
/** Without an end of its own, and at most. */
const LIFETIME_MS = 90 * DAY;
const LONGEST_MS = 366 * DAY;
/** How long an ended one is listed. */
const LISTED_MS = 30 * DAY;

/** What a standing order is to do, and when it ends (epoch ms) or how often it fires. */
const vWish = {
  userId: v.string(),
  swap: vSwap,
  condition: vCondition,
  times: v.optional(v.number()),
  until: v.optional(v.number()),
};
type Wish = Pick<Standing, "userId" | "condition"> & {
  swap: Standing["order"]["swap"];
  times?: number | undefined;
  until?: number | undefined;
};
type Authority = Pick<Standing["order"], "by" | "keyId" | "messengerId">;

const NO_STANDING = "There is no such standing order: GET /mcp/defi/standing lists them";

async function requireStanding(ctx: QueryCtx, userId: string, standingId: string): Promise<Standing> {
  const row = await requireAlert(ctx, userId, standingId);
  if (!isStanding(row)) throw new AppError("not_found", NO_STANDING);
  return row;
}

/**
 * Sets a standing order for a caller who may swap, once a key; or puts it to the owner's chat, whose tap sets it.
 * @param args.callHash Of the token in its address, for one that a call triggers.
 * @returns The order; `isRepeat`: it was there already.
 * @throws AppError `unauthorized`, `forbidden`, `not_found`, `conflict`, `paused`, `rate_limited`, `invalid_request`.
 */
export const setStanding = internalMutation({
  args: {
    ...vWish,
    keyHash: v.optional(v.string()),
    callHash: v.optional(v.string()),
    idempotencyKey: v.optional(v.string()),
  },
  returns: v.object({ alert: vAlert, isRepeat: v.boolean() }),
  handler: async (ctx, { keyHash, callHash, idempotencyKey, ...wish }) => {
    const { userId } = wish;
    const now = Date.now();
    const decision = await authorize(ctx, userId, "swap", now, keyHash);
    if (decision.kind === "refused") throw decision.error;
    const link = decision.kind === "asks" ? await findApprovingLink(ctx, userId, now) : null;
    if (decision.kind === "asks" && link === null) throw decision.error;
    if (decision.kind === "allowed" && decision.by === "unclaimed")
      throw new AppError(
        "forbidden",
        "Standing orders are for accounts with an owner: own this userId by the ownerUrl that /mcp/defi/connect answers",
      );
    const earlier =
      idempotencyKey === undefined
        ? null
        : await queryByBoth(
            ctx.db.query("alerts"),
            "userId",
            userId,
            "idempotencyKey",
            idempotencyKey,
          ).first();
    if (earlier !== null && !isSame(earlier, wish))
      throw new AppError("conflict", "This idempotency key was used for another standing order");
    if (earlier !== null) return { alert: earlier, isRepeat: true };
    const by: Authority =
      decision.kind === "allowed"
        ? { by: decision.key === undefined ? "owner" : "key", ...defined({ keyId: decision.key?._id }) }
        : { by: "tap", ...defined({ messengerId: link?.messengerId }) };
    const stored = await storeWish(ctx, wish, by, now, defined({ callHash, idempotencyKey }));
    const { alert, isRepeat } = stored;
    if (link === null) return isRepeat ? stored : { alert: await begin(ctx, alert, now), isRepeat };
    if (isRepeat) return stored;
    const { answer, buttons } = buildStandingProposal(alert, now, getEnd(alert, now));
    const paragraphs = [["Somebody who knows your account id asks for a standing order."], ...answer];
    const to = { userId, chatId: link.messengerId, bot: "default" as const };
    await enqueueCard(ctx, { ...to, kind: "alert", paragraphs, buttons });
    return stored;
  },
});

/** Proposes a standing order to the chat that has said it. @throws AppError as `setStanding`. */
export const proposeStanding = internalMutation({
  args: { ...vWish, messengerId: v.string() },
  returns: vAlert,
  handler: async (ctx, { messengerId, ...wish }) => {
    const now = Date.now();
    await requireSay(ctx, wish.userId, messengerId, now);
    return (await storeWish(ctx, wish, { by: "chat", messengerId }, now, {})).alert;
  },
});

async function requireSay(ctx: QueryCtx, userId: string, messengerId: string, now: number): Promise<void> {
  const link = await findApprovingLink(ctx, userId, now);
  if (link?.messengerId !== messengerId || (await findOwner(ctx, userId)) === null)
    throw new AppError(
      "forbidden",
      "This chat may not order for that account: link it in private first, and a newly linked chat waits two hours",
    );
}

/** The same order at the same trigger, with the same end. */
function isSame(row: Alert, { swap, condition, times, until }: Wish): boolean {
  if (!isStanding(row) || row.order.times !== times || row.until !== until) return false;
  const terms = (one: object) => JSON.stringify(Object.entries(one).sort());
  return terms(row.order.swap) === terms(swap) && terms(row.condition) === terms(condition);
}

/** Stores a proposal, or finds the one with the same terms, set or not. */
async function storeWish(
  ctx: MutationCtx,
  wish: Wish,
  by: Authority,
  now: number,
  fields: Pick<Partial<Standing>, "callHash" | "idempotencyKey">,
): Promise<{ alert: Standing; isRepeat: boolean }> {
  const { userId, swap, condition, times, until } = wish;
  await requireUnfrozenRules(ctx, userId);
  const wallet = await findWallet(ctx, userId, "custody");
  if (wallet === null) throw new AppError("not_found", NO_WALLET);
  for (const state of ["active", "proposed"] as const)
    for (const row of await queryInState(ctx, userId, state).take(ALL))
      if (isStanding(row) && isSame(row, wish)) return { alert: row, isRepeat: true };
  await requireRoom(ctx, userId);
  if (by.by === "tap") await requireAskable(ctx, userId);
  const mode = { paper: await readMode(ctx, userId) };
  const order = {
    ...{ swap, walletId: wallet.walletId, ...by, refusals: 0 },
    ...defined({ ...mode, times, timesLeft: times }),
  };
  const row = { userId, condition, ...toWatch(condition, true), order, ...defined({ until }), ...fields };
  requireTime(condition, now, getEnd(row, now));
  const alert = await insertProposal(ctx, row);
  return { alert: { ...alert, order }, isRepeat: false };
}

async function requireRoom(ctx: QueryCtx, userId: string): Promise<void> {
  const active = (await queryInState(ctx, userId, "active").take(ALL)).filter(isStanding);
  if (active.length >= MOST_STANDING)
    throw new AppError("conflict", `At most ${MOST_STANDING} standing orders can be active: stop one first`);
}

function requireTime(condition: Condition, now: number, end: number): void {
  if (condition.kind === "clock" && countTimes(condition, now, end) === 0)
    throw new AppError("invalid_request", "until is before its first time: name a later end");
}

/** When a standing order that is set now ends by itself, epoch ms. */
export function getEnd({ until, order }: Pick<Standing, "until" | "order">, now: number): number {
  const life = order.timesLeft === undefined ? LIFETIME_MS : LONGEST_MS;
  return until ?? now + life;
}

/** Switches a proposal on. @throws AppError `conflict`, `paused`; `invalid_request` for a level that is reached already. */
async function begin(ctx: MutationCtx, row: Standing, now: number): Promise<Standing> {
  const { _id, userId, order, subject } = row;
  await requireUnfrozenRules(ctx, userId);
  await requireRoom(ctx, userId);
  const loss = await findLoss(ctx, row, now);
  if (loss !== null) throw new AppError("conflict", `It cannot be set any more: ${loss}`);
  const present = row.condition.kind === "price" ? await findLastObservation(ctx, subject, now) : null;
  if (present !== null && isReached(row, present.value)) throw new AppError("invalid_request", TRUE_NOW);
  const key = order.keyId === undefined ? null : await ctx.db.get("keys", order.keyId);
  const end = Math.min(getEnd(row, now), key?.expiresAt ?? Infinity);
  requireTime(row.condition, now, end);
  await activate(ctx, row, end, now);
  return { ...(await getOrThrow(ctx, "alerts", _id)), order };
}

const TRUE_NOW = "That is true now, and a standing order waits for it to become true: swap instead";

/**
 * The tap of its owner's chat: sets a proposal. Of one that a call triggers, the token is drawn.
 * @returns The order, and the token in its address.
 * @throws AppError as `setStanding`.
 */
export const confirmStanding = internalMutation({
  args: { userId: v.string(), standingId: v.string(), messengerId: v.string() },
  returns: v.object({ alert: vAlert, secret: v.optional(vSecret) }),
  handler: async (ctx, { userId, standingId, messengerId }) => {
    const row = await requireStanding(ctx, userId, standingId);
    const now = Date.now();
    await requireSay(ctx, userId, messengerId, now);
    if (row.state === "off")
      throw new AppError("conflict", "This standing order has ended: say it again for a new one");
    if (row.state === "active") return { alert: row };
    const order = { ...row.order, messengerId };
    await ctx.db.patch("alerts", row._id, { order });
    const alert = await begin(ctx, { ...row, order }, now);
    return row.condition.kind === "call" ? giveAddress(ctx, alert) : { alert };
  },
});

/** Proposes one that has ended to its owner's chat again, with what was left of it. @throws AppError as `setStanding`. */
export const repeatStanding = internalMutation({
  args: { userId: v.string(), standingId: v.string(), messengerId: v.string() },
  returns: vAlert,
  handler: async (ctx, { userId, standingId, messengerId }) => {
    const { condition, order, until = 0 } = await requireStanding(ctx, userId, standingId);
    const now = Date.now();
    await requireSay(ctx, userId, messengerId, now);
    const { swap, timesLeft = 0 } = order;
    const left = { ...(timesLeft > 0 ? { times: timesLeft } : {}), ...(until > now ? { until } : {}) };
    return (await storeWish(ctx, { userId, condition, swap, ...left }, { by: "chat", messengerId }, now, {}))
      .alert;
  },
});

async function giveAddress(ctx: MutationCtx, { _id }: Standing): Promise<{ alert: Alert; secret: Secret }> {
  const { secret, text } = createSecret("call");
  await ctx.db.patch("alerts", _id, { callHash: sha256Hex(text) });
  return { alert: await getOrThrow(ctx, "alerts", _id), secret };
}

const vChange = { userId: v.string(), standingId: v.string() };

/** Gives an order another address; the old one is dead. For the owner's chat. @returns As `confirmStanding`. */
export const rotateAddress = internalMutation({
  args: { ...vChange, messengerId: v.string() },
  returns: v.object({ alert: vAlert, secret: v.optional(vSecret) }),
  handler: async (ctx, { userId, standingId, messengerId }) => {
    const row = await requireStanding(ctx, userId, standingId);
    await requireSay(ctx, userId, messengerId, Date.now());
    if (row.state !== "active" || row.condition.kind !== "call")
      throw new AppError("conflict", "Only a standing order that a call triggers has an address");
    return giveAddress(ctx, row);
  },
});

/**
 * Stops a standing order for good, or passes over its next time.
 * @param args.keyHash Of the caller over HTTP, who has to be allowed to swap; absent with `isChat`.
 * @param args.skips The time to pass over (epoch ms), or `true` for the next one; a time that has passed changes nothing.
 * @throws AppError `unauthorized`, `forbidden`, `not_found`; `conflict` if there is no time to pass over.
 */
export const stopStanding = internalMutation({
  args: {
    ...vChange,
    keyHash: v.optional(v.string()),
    isChat: v.optional(v.boolean()),
    skips: v.optional(v.union(v.boolean(), v.number())),
  },
  returns: vAlert,
  handler: async (ctx, { userId, standingId, keyHash, isChat, skips = false }) => {
    if (isChat !== true) requireAllowed(await authorize(ctx, userId, "swap", Date.now(), keyHash));
    const row = await requireStanding(ctx, userId, standingId);
    if (skips === false) return switchOff(ctx, row);
    const { condition, readyAt, state } = row;
    if (state !== "active" || condition.kind !== "clock")
      throw new AppError("conflict", "Only an active standing order on the clock has a next time to skip");
    if (skips === true || skips === readyAt)
      await ctx.db.patch("alerts", row._id, { readyAt: getNextTime(condition, readyAt) });
    return getOrThrow(ctx, "alerts", row._id);
  },
});

/**
 * Ends an account's standing orders, proposals too, with one card. A step of its caller's mutation.
 * @param why Half a sentence, for their owner.
 */
export async function endStandingOrders(
  ctx: MutationCtx,
  userId: string,
  why: string,
  isMeant: (row: Standing) => boolean = () => true,
): Promise<void> {
  const ended: Standing[] = [];
  for (const state of ["active", "proposed"] as const)
    for (const row of await queryInState(ctx, userId, state).take(ALL))
      if (isStanding(row) && isMeant(row)) {
        await endForReason(ctx, row, why);
        if (state === "active") ended.push(row);
      }
  if (ended.length === 0) return;
  await enqueueOwnCard(ctx, { userId, kind: "alert", paragraphs: buildEndedOrdersCard(ended, why) });
}

export const CHANGED_MODE = "the account changed between live and paper";
/** Why one ends whose time has come. */
export const OVER = "its time is over";

export async function endForReason(ctx: MutationCtx, row: Alert, why: string): Promise<void> {
  await switchOff(ctx, row);
  await ctx.db.patch("alerts", row._id, { endReason: why });
}

/** Ends a standing order whose time is over. */
export const endOverdue = defineMutation({ standingId: v.id("alerts") }, async (ctx, { standingId }) => {
  const row = await ctx.db.get("alerts", standingId);
  if (row?.state !== "active" || !isStanding(row)) return;
  const why = (await findLoss(ctx, row, Date.now())) ?? OVER;
  await endStandingOrders(ctx, row.userId, why, ({ _id }) => _id === standingId);
});

/** Why a standing order has lost its authority, half a sentence; `null` while it has it. */
export async function findLoss(
  ctx: QueryCtx,
  { userId, order }: Standing,
  now: number,
): Promise<string | null> {
  const { keyId, messengerId } = order;
  if ((await findOwner(ctx, userId)) === null) return "the account has no owner";
  if ((await readMode(ctx, userId)) !== order.paper) return CHANGED_MODE;
  const key = keyId === undefined ? null : await ctx.db.get("keys", keyId);
  if (keyId !== undefined && !isUsable(key, now)) return "the key that set it is not valid any more";
  const link = messengerId === undefined ? null : await findApprovingLink(ctx, userId, now);
  return messengerId !== undefined && link?.messengerId !== messengerId
    ? "the chat that set it is not linked any more"
    : null;
}

function isUsable(key: Doc<"keys"> | null, now: number): boolean {
  if (key === null || key.revokedAt !== undefined || (key.expiresAt ?? Infinity) <= now) return false;
  return key.scopes.includes("trade");
}

const vLastFiring = v.object({
  at: v.number(),
  outcome: v.optional(v.string()),
  orderId: v.optional(v.id("orders")),
  txHash: v.optional(v.string()),
  reason: v.optional(v.string()),
});
const vListedStanding = v.object({
  alert: vAlert.extend({ order: vStandingOrder }),
  last: v.union(vLastFiring, v.null()),
});

/** The last firing of a standing order that has an outcome. */
async function findLastFiring(ctx: QueryCtx, { _id }: Alert): Promise<Infer<typeof vLastFiring> | null> {
  const firings = ctx.db
    .query("alertFirings")
    .withIndex("by_alertId_and_observation", (q) => q.eq("alertId", _id))
    .order("desc");
  const found: Firing | undefined = (await firings.take(2)).find(({ outcome }) => outcome !== "due");
  if (found === undefined) return null;
  const { observation, outcome, orderId, reason } = found;
  const order = orderId === undefined ? null : await ctx.db.get("orders", orderId);
  return { at: observation.observedAt, ...defined({ outcome, orderId, reason, txHash: order?.txHash }) };
}

/** An account's standing orders: active ones, proposals, and those that ended in the last 30 days, each newest first. */
export const listStanding = internalQuery({
  args: { userId: v.string(), now: v.number() },
  returns: v.array(vListedStanding),
  handler: async (ctx, { userId, now }) => {
    const rows: Standing[] = [];
    for (const state of ["active", "proposed", "off"] as const) {
      const some = await queryInState(ctx, userId, state).order("desc").take(ALL);
      rows.push(...some.filter(isStanding).filter(({ endedAt = now }) => endedAt > now - LISTED_MS));
    }
    return Promise.all(rows.map(async (alert) => ({ alert, last: await findLastFiring(ctx, alert) })));
  },
});
