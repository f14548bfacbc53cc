import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type ActionCtx, type MutationCtx } from "../../_generated/server";
import { defineMutation } from "../changes";
import { AppError, getErrorData, getErrorMessage } from "../../lib/errors";
import { log } from "../../lib/log";
import { runAfterwards, flushUsage, takeUsage, vProviderUsage } from "../outside/calls";
import { deadlines } from "../outside/deadlines";
import { queryBy } from "../records";
import { sha256Hex } from "../../lib/crypto";
import { SECOND } from "../../lib/time";
import { refuseBeyond } from "./budget";
import { getSizes } from "./sizes";
import { vBillingSubject, vCaller, type BillingSubject, type Caller } from "./callers";
import { charge, vLimitName, type LimitName } from "./charges";

/**
 * Concurrency slots for requests that wait for an answer. The platform runs a limited number of actions at once, HTTP
 * requests among them: the rest stays free for requests that answer at once. These slots are the only count of waiting
 * requests. Orders are counted apart from questions, and have slots that no question takes.
 */

const BY_ADDRESS = 30;
const BY_USER = 10;
/** When to try again if there is no slot. */
const RETRY_MS = 5 * SECOND;

/**
 * Does work while its caller waits in a slot. A client that has disconnected releases nothing, so a slot ends with its deadline.
 * @param options.billTo The billing subject of the work, if it asks a model.
 * @param options.limit The limit that it counts against, if the endpoint has not counted it.
 * @param options.isOrder Whether the caller waits for an order or a payment.
 * @throws AppError `rate_limited` when no slot is free, or the budget is used up.
 */
export async function holdSlot<Value>(
  ctx: ActionCtx,
  caller: Caller,
  work: () => Promise<Value>,
  options: { billTo?: BillingSubject; limit?: LimitName; isOrder?: true } = {},
): Promise<Value> {
  let slot: Id<"slots">;
  try {
    slot = await ctx.runMutation(internal.platform.limits.slots.takeSlot, { caller, ...options });
  } catch (error) {
    if (getErrorData(error) !== null) throw error;
    // Counting is bookkeeping: its failure must not refuse a request.
    log.error("slots.unasked", { message: getErrorMessage(error) });
    return work();
  }
  try {
    return await work();
  } finally {
    await runAfterwards(() =>
      ctx.runMutation(internal.platform.limits.slots.releaseSlot, { slot, usage: takeUsage() }),
    );
  }
}

/**
 * Takes a slot. Which ones are free is read from a snapshot that may be a moment old: a current read would make all
 * callers conflict.
 */
export const takeSlot = internalMutation({
  args: {
    caller: vCaller,
    billTo: v.optional(vBillingSubject),
    limit: v.optional(vLimitName),
    isOrder: v.optional(v.literal(true)),
  },
  returns: v.id("slots"),
  handler: async (ctx, { caller, billTo, limit, isOrder }) => {
    const now = Date.now();
    if (limit !== undefined) await charge(ctx, limit, caller);
    const who = await getHolder(ctx, caller, now, isOrder);
    if (billTo !== undefined) await refuseBeyond(ctx, billTo);
    const { slots, keptForOrders, anonymous } = getSizes();
    const forQuestions = slots - keptForOrders;
    const most =
      isOrder === true ? slots : who.user === undefined ? Math.min(anonymous, forQuestions) : forQuestions;
    const stale = { useStaleSnapshot: true };
    const held: number[] = await ctx.runQuery(internal.platform.limits.slots.listHeld, { now }, stale);
    const taken = new Set(held);
    const free = Array.from({ length: most }, (_, shard) => shard).filter((shard) => !taken.has(shard));
    const index = Math.floor(Math.random() * free.length);
    for (const shard of [...free.slice(index), ...free.slice(0, index)]) {
      const row = await queryBy(ctx.db.query("slots"), "shard", shard).first();
      if (row !== null && row.until > now) continue;
      if (row !== null) await ctx.db.delete("slots", row._id);
      const kind = isOrder === undefined ? {} : { isOrder };
      return ctx.db.insert("slots", { shard, ...who, ...kind, until: now + deadlines.caller });
    }
    throw tooManyError(
      who.user === undefined && isOrder === undefined
        ? "All waiting slots for callers without a sign-in are taken"
        : "All waiting slots are taken",
    );
  },
});

/** The slots that are held. */
export const listHeld = internalQuery({
  args: { now: v.number() },
  returns: v.array(v.number()),
  handler: async (ctx, { now }) => {
    const rows = await ctx.db.query("slots").withIndex("by_shard").take(getSizes().slots);
    return rows.filter(({ until }) => until > now).map(({ shard }) => shard);
  },
});

/**
 * The holder of a slot, hashed: a user's own chat has no address; a caller with only an id counts by the address, or, for
 * an owned id without one, apart from its owner.
 * @throws AppError `rate_limited` for a holder with the most slots allowed.
 */
async function getHolder(
  ctx: MutationCtx,
  { userId, address, identity, credential }: Caller,
  now: number,
  isOrder: true | undefined,
): Promise<{ user?: string; address?: string }> {
  const own = credential === "id" ? `named:${userId}` : userId;
  const user = identity ?? (address === null ? own : undefined);
  const requirePlace = async (part: "user" | "address", name: string, most: number, whose: string) => {
    const hash = sha256Hex(`${part}:${name}`);
    const held = await ctx.db
      .query("slots")
      .withIndex(`by_${part}`, (q) => q.eq(part, hash).gt("until", now))
      .take(2 * most);
    if (held.filter((row) => row.isOrder === isOrder).length < most) return { [part]: hash };
    throw tooManyError(`${most} ${whose} are waiting for an answer`);
  };
  return {
    ...(user === undefined ? {} : await requirePlace("user", user, BY_USER, "of your requests")),
    ...(address === null
      ? {}
      : await requirePlace("address", address, BY_ADDRESS, "requests from your network address")),
  };
}

function tooManyError(what: string): AppError {
  const text = `${what}, the most at once: try again when one of them is answered`;
  return new AppError("rate_limited", text, { retryAfterMs: RETRY_MS });
}

/** Releases a slot, and stores the provider usage of its holder. */
export const releaseSlot = defineMutation(
  { slot: v.id("slots"), usage: vProviderUsage },
  async (ctx, { slot, usage }) => {
    if ((await ctx.db.get("slots", slot)) !== null) await ctx.db.delete("slots", slot);
    await flushUsage(ctx, usage);
  },
);
