import { v, type Infer } from "convex/values";
import { getOrThrow } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { authorize, requireAllowed } from "../identity/access";
import { findOwner, readMode, requireUnfrozenRules } from "../identity/model";
import { sha256Hex } from "../lib/crypto";
import { AppError } from "../lib/errors";
import { defined } from "../lib/objects";
import { createSecret, findApprovingLink } from "../messenger/model";
import { vSecret } from "../messenger/tables";
import { queryByBoth } from "../platform/records";
import { findWallet, NO_WALLET } from "../wallets/model";
import { vSwap } from "../wallets/tables";
import { isReached, toWatch } from "./conditions";
import {
  activate,
  askOwner,
  insertProposal,
  listLiving,
  requireAlert,
  requireAskable,
  switchOff,
  vAlert,
} from "./model";
import { findLastObservation } from "./observations";
import { getNextTime } from "./schedule";
import { vCondition, type Alert, type StandingOrder } from "./tables";
import { getEnd, isStandingOrder, requireBounds } from "./terms";

/** What a standing order needs besides what every alert does: who may set it, and what it is set for. */

const MOST_STANDING = 10;

/** What a standing order is to do, and when it ends (epoch ms) or how often it fires. */
const vRequest = v.object({
  userId: v.string(),
  swap: vSwap,
  condition: vCondition,
  times: v.optional(v.number()),
  until: v.optional(v.number()),
});
type StandingRequest = Infer<typeof vRequest>;
type Authority = Pick<StandingOrder["order"], "by" | "keyId" | "messengerId">;

/** An alert that is set; `secret`: the token in the address that a standing order has just got. */
export const vSet = v.object({ alert: vAlert, secret: v.optional(vSecret) });
type Set = Infer<typeof vSet>;

async function requireStandingOrder(
  ctx: QueryCtx,
  userId: string,
  standingId: string,
): Promise<StandingOrder> {
  const row = await requireAlert(ctx, userId, standingId);
  if (isStandingOrder(row)) return row;
  throw new AppError("not_found", "There is no such standing order: GET /mcp/defi/standing lists them");
}

/**
 * Proposes a standing order to the chat that has said it; for a caller over HTTP who may swap it is set at once, or put to
 * the owner's chat. The same terms are the same order, and so is a key.
 * @param args.messengerId The chat that has said it.
 * @returns Also whether it was there already.
 * @throws AppError `unauthorized`, `forbidden`, `not_found`, `conflict`, `paused`, `rate_limited`, `invalid_request`.
 */
export const proposeStanding = internalMutation({
  args: vRequest.extend({
    messengerId: v.optional(v.string()),
    keyHash: v.optional(v.string()),
    idempotencyKey: v.optional(v.string()),
  }),
  returns: vSet.extend({ isRepeat: v.boolean() }),
  handler: async (ctx, { messengerId, keyHash, idempotencyKey, ...request }) => {
    const { userId } = request;
    const now = Date.now();
    const authority =
      messengerId === undefined
        ? await requireAuthority(ctx, userId, keyHash, now)
        : await requireSay(ctx, userId, messengerId, now);
    const earlier = idempotencyKey === undefined ? null : await findKeyed(ctx, request, idempotencyKey);
    if (earlier !== null) return { alert: earlier, isRepeat: true };
    const { alert, isRepeat } = await storeRequest(ctx, request, authority, defined({ idempotencyKey }));
    const { by, messengerId: chatId = "" } = authority;
    if (by === "tap" && !isRepeat) await askOwner(ctx, alert, chatId);
    const isProposed = isRepeat || by === "tap" || by === "chat";
    return { ...(isProposed ? { alert } : await begin(ctx, alert)), isRepeat };
  },
});

/** The authority of a caller over HTTP to set one, or to ask for it. @throws AppError `unauthorized`, `forbidden` */
async function requireAuthority(
  ctx: QueryCtx,
  userId: string,
  keyHash: string | undefined,
  now: number,
): Promise<Authority> {
  const decision = await authorize(ctx, userId, "swap", now, keyHash);
  if (decision.kind === "allowed" && decision.by !== "unclaimed")
    return decision.key === undefined ? { by: "owner" } : { by: "key", keyId: decision.key._id };
  if (decision.kind === "allowed")
    throw new AppError(
      "forbidden",
      "Standing orders are for accounts with an owner: own this userId by the ownerUrl that /mcp/defi/connect answers",
    );
  const link = decision.kind === "asks" ? await findApprovingLink(ctx, userId, now) : null;
  if (link === null) throw decision.error;
  return { by: "tap", messengerId: link.messengerId };
}

/** The authority of a chat. @throws AppError `forbidden` */
async function requireSay(
  ctx: QueryCtx,
  userId: string,
  messengerId: string,
  now: number,
): Promise<Authority> {
  const link = await findApprovingLink(ctx, userId, now);
  if (link?.messengerId === messengerId && (await findOwner(ctx, userId)) !== null)
    return { by: "chat", messengerId };
  throw new AppError(
    "forbidden",
    "This chat may not order for that account: link it in private first, and a newly linked chat waits two hours",
  );
}

/** The order that a key has made. @throws AppError `conflict` if its terms differ */
async function findKeyed(ctx: QueryCtx, request: StandingRequest, key: string): Promise<Alert | null> {
  const rows = ctx.db.query("alerts");
  const row = await queryByBoth(rows, "userId", request.userId, "idempotencyKey", key).first();
  if (row !== null && !isSame(row, request))
    throw new AppError("conflict", "This idempotency key was used for another standing order");
  return row;
}

/** The same order at the same trigger, with the same end. */
function isSame(row: Alert, { swap, condition, times, until }: StandingRequest): boolean {
  if (!isStandingOrder(row) || row.order.times !== times || row.until !== until) return false;
  const terms = (one: object) => JSON.stringify(Object.entries(one).sort());
  return terms(row.order.swap) === terms(swap) && terms(row.condition) === terms(condition);
}

/** Stores a proposal, or finds the one with the same terms, set or not. */
async function storeRequest(
  ctx: MutationCtx,
  request: StandingRequest,
  authority: Authority,
  fields: Pick<Partial<Alert>, "idempotencyKey">,
): Promise<{ alert: StandingOrder; isRepeat: boolean }> {
  const { userId, swap, condition, times, until } = request;
  await requireUnfrozenRules(ctx, userId);
  if ((await findWallet(ctx, userId, "custody")) === null) throw new AppError("not_found", NO_WALLET);
  const left = defined({ paper: await readMode(ctx, userId), times, timesLeft: times });
  const order = { swap, ...authority, refusals: 0, ...left };
  const row = { userId, condition, ...toWatch(condition, true), order, ...defined({ until }), ...fields };
  const now = Date.now();
  requireBounds(row, now, getEnd(row, now));
  const living = (await listLiving(ctx, userId)).filter(isStandingOrder);
  const same = living.find((one) => isSame(one, request));
  if (same !== undefined) return { alert: same, isRepeat: true };
  requireRoom(living);
  if (authority.by === "tap") await requireAskable(ctx, userId);
  return { alert: { ...(await insertProposal(ctx, row)), order }, isRepeat: false };
}

function requireRoom(living: readonly StandingOrder[]): void {
  if (living.filter(({ state }) => state === "active").length >= MOST_STANDING)
    throw new AppError("conflict", `At most ${MOST_STANDING} standing orders can be active: stop one first`);
}

/** Switches a proposal on. @throws AppError `conflict`, `paused`; `invalid_request` for a level that is reached already. */
async function begin(ctx: MutationCtx, row: StandingOrder): Promise<Set> {
  const { userId, order, subject, condition } = row;
  const now = Date.now();
  await requireUnfrozenRules(ctx, userId);
  requireRoom((await listLiving(ctx, userId)).filter(isStandingOrder));
  const loss = await findLoss(ctx, row, now);
  if (loss !== null) throw new AppError("conflict", `It cannot be set any more: ${loss}`);
  const present = condition.kind === "price" ? await findLastObservation(ctx, subject, now) : null;
  if (present !== null && isReached(row, present.value))
    throw new AppError(
      "invalid_request",
      "That is true now, and a standing order waits for it to become true: swap instead",
    );
  const key = order.keyId === undefined ? null : await ctx.db.get("keys", order.keyId);
  const end = Math.min(getEnd(row, now), key?.expiresAt ?? Infinity);
  requireBounds(row, now, end);
  const alert = await activate(ctx, row, end, now);
  return condition.kind === "call" ? giveAddress(ctx, alert) : { alert };
}

/** The tap of its owner's chat on a proposal. @throws AppError as `proposeStanding` */
export async function confirmStandingOrder(
  ctx: MutationCtx,
  row: StandingOrder,
  messengerId: string,
): Promise<Set> {
  await requireSay(ctx, row.userId, messengerId, Date.now());
  if (row.state === "active") return { alert: row };
  const order = { ...row.order, messengerId };
  await ctx.db.patch("alerts", row._id, { order });
  return begin(ctx, { ...row, order });
}

/** Proposes one that has ended to its owner's chat again, with what was left of it. @throws AppError as `proposeStanding` */
export async function repeatStandingOrder(
  ctx: MutationCtx,
  row: StandingOrder,
  messengerId: string,
): Promise<Alert> {
  const { userId, condition, order, until = 0 } = row;
  const now = Date.now();
  const authority = await requireSay(ctx, userId, messengerId, now);
  const { swap, timesLeft = 0 } = order;
  const left = { ...(timesLeft > 0 ? { times: timesLeft } : {}), ...(until > now ? { until } : {}) };
  return (await storeRequest(ctx, { userId, condition, swap, ...left }, authority, {})).alert;
}

async function giveAddress(ctx: MutationCtx, { _id }: Alert): Promise<Set> {
  const { secret, text } = createSecret("call");
  await ctx.db.patch("alerts", _id, { callHash: sha256Hex(text) });
  return { alert: await getOrThrow(ctx, "alerts", _id), secret };
}

const vOwn = { userId: v.string(), standingId: v.string() };

/** Gives an order another address; the old one is dead. For the owner's chat. */
export const rotateAddress = internalMutation({
  args: { ...vOwn, messengerId: v.string() },
  returns: vSet,
  handler: async (ctx, { userId, standingId, messengerId }) => {
    const row = await requireStandingOrder(ctx, userId, standingId);
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
    ...vOwn,
    keyHash: v.optional(v.string()),
    isChat: v.optional(v.boolean()),
    skips: v.optional(v.union(v.boolean(), v.number())),
  },
  returns: vAlert,
  handler: async (ctx, { userId, standingId, keyHash, isChat, skips = false }) => {
    if (isChat !== true) requireAllowed(await authorize(ctx, userId, "swap", Date.now(), keyHash));
    const row = await requireStandingOrder(ctx, userId, standingId);
    if (skips === false) return switchOff(ctx, row);
    const { condition, readyAt, state } = row;
    if (state !== "active" || condition.kind !== "clock")
      throw new AppError("conflict", "Only an active standing order on the clock has a next time to skip");
    if (skips === true || skips === readyAt)
      await ctx.db.patch("alerts", row._id, { readyAt: getNextTime(condition, readyAt) });
    return getOrThrow(ctx, "alerts", row._id);
  },
});

export const CHANGED_MODE = "the account changed between live and paper";

/** Why a standing order has lost its authority, half a sentence; `null` while it has it. */
export async function findLoss(
  ctx: QueryCtx,
  { userId, order }: StandingOrder,
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
