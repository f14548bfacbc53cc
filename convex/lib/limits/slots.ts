import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type ActionCtx, type MutationCtx } from "../../_generated/server";
import { refusePast, spentFor, vSpent } from "./budget";
import { vCaller, type Payer, type Caller } from "./callers";
import { change } from "../changes";
import { AppError, failureOf, messageOf } from "../errors";
import { log } from "../log";
import { afterwards, takeNoted, keepNoted, vNoted } from "../outside/calls";
import { rowsBy } from "../records/rows";
import { sha256Hex } from "../security/crypto";
import { vPayer } from "../tables";
import { SECOND } from "../time";
import { charge, vLimitName, type LimitName } from "./charges";

/**
 * Who may wait for an answer at the same time. The small platform class runs 64 actions at once, HTTP requests among
 * them: the rest is kept for what answers at once. These slots are the only count of who waits.
 */

const ALL = 48;
/** How many of them callers without a sign-in may hold. */
const ANONYMOUS = 36;
const BY_ADDRESS = 30;
const BY_USER = 10;
/** When to try again if there is no slot. */
const RETRY_MS = 5 * SECOND;

/**
 * Does work while its caller waits in a slot. A caller who has hung up gives nothing back, so a slot ends with its deadline.
 * @param options.heldMs How long the work takes at most.
 * @param options.payer Whose part of the day's budget the work spends, if it asks a model.
 * @param options.limit The limit that it counts against, if the endpoint has not counted it.
 * @throws AppError `rate_limited` when no slot is free, or the budget is used up.
 */
export async function waitingAs<Value>(
  ctx: ActionCtx,
  caller: Caller,
  work: () => Promise<Value>,
  options: { heldMs: number; payer?: Payer; limit?: LimitName },
): Promise<Value> {
  const slot = await enterAs(ctx, caller, options);
  if (slot === null) return work();
  try {
    return await work();
  } finally {
    await afterwards(() => ctx.runMutation(internal.lib.limits.slots.leave, { slot, noted: takeNoted() }));
  }
}

/** @returns `null` if the slots could not be asked: who waits is bookkeeping, and refuses nobody by failing. */
async function enterAs(
  ctx: ActionCtx,
  caller: Caller,
  options: { heldMs: number; payer?: Payer; limit?: LimitName },
): Promise<Id<"slots"> | null> {
  try {
    return await ctx.runMutation(internal.lib.limits.slots.enter, { caller, ...options });
  } catch (error) {
    if (failureOf(error) !== null) throw error;
    log.error("slots.unasked", { message: messageOf(error) });
    return null;
  }
}

/** Whose slot it is, hashed. A user's own chat has no address; whoever only names an id counts by the address. */
function holderOf({ userId, address, identity }: Caller): { user?: string; address?: string } {
  const user = identity ?? (address === null ? userId : undefined);
  return {
    ...(user === undefined ? {} : { user: sha256Hex(`user:${user}`) }),
    ...(address === null ? {} : { address: sha256Hex(`address:${address}`) }),
  };
}

/**
 * Takes a slot. Which ones are free, and what has been spent, is read from a snapshot that may be a moment old: a current
 * read would make all callers conflict.
 */
export const enter = internalMutation({
  args: {
    caller: vCaller,
    heldMs: v.number(),
    payer: v.optional(vPayer),
    limit: v.optional(vLimitName),
  },
  returns: v.id("slots"),
  handler: async (ctx, { caller, heldMs, payer, limit }) => {
    const now = Date.now();
    const who = holderOf(caller);
    if (limit !== undefined) await charge(ctx, limit, caller);
    await refuseHolders(ctx, who, now);
    const most = who.user === undefined ? ANONYMOUS : ALL;
    const seen: Infer<typeof vSeen> = await ctx.runQuery(
      internal.lib.limits.slots.look,
      { now, ...(payer === undefined ? {} : { payer }) },
      { useStaleSnapshot: true },
    );
    const { held, spent } = seen;
    if (payer !== undefined && spent !== null) refusePast(payer, spent, now);
    const free = Array.from({ length: most }, (_, shard) => shard).filter((shard) => !held.includes(shard));
    const turn = Math.floor(Math.random() * free.length);
    for (const shard of [...free.slice(turn), ...free.slice(0, turn)]) {
      const row = await rowsBy(ctx.db.query("slots"), "shard", shard).first();
      if (row !== null && row.until > now) continue;
      if (row !== null) await ctx.db.delete("slots", row._id);
      return ctx.db.insert("slots", { shard, ...who, until: now + heldMs });
    }
    throw tooMany(
      who.user === undefined
        ? "Callers without a sign-in hold all the slots they have to wait for an answer"
        : "All slots to wait for an answer are held",
    );
  },
});

const vSeen = v.object({ held: v.array(v.number()), spent: v.union(vSpent, v.null()) });

/** Which slots are held, and what counts against a payer's part of the budget. */
export const look = internalQuery({
  args: { now: v.number(), payer: v.optional(vPayer) },
  returns: vSeen,
  handler: async (ctx, { now, payer }) => {
    const rows = await ctx.db.query("slots").withIndex("by_shard").take(ALL);
    return {
      held: rows.filter(({ until }) => until > now).map(({ shard }) => shard),
      spent: payer === undefined ? null : await spentFor(ctx, payer, now),
    };
  },
});

async function refuseHolders(
  ctx: MutationCtx,
  { user, address }: { user?: string; address?: string },
  now: number,
): Promise<void> {
  const rows = () => ctx.db.query("slots");
  if (user !== undefined) {
    const own = await rows()
      .withIndex("by_user", (q) => q.eq("user", user).gt("until", now))
      .take(BY_USER);
    if (own.length >= BY_USER) throw tooMany(`${BY_USER} of your requests wait for an answer`);
  }
  if (address === undefined) return;
  const around = await rows()
    .withIndex("by_address", (q) => q.eq("address", address).gt("until", now))
    .take(BY_ADDRESS);
  if (around.length >= BY_ADDRESS)
    throw tooMany(`${BY_ADDRESS} requests of your network address wait for an answer`);
}

function tooMany(what: string): AppError {
  const text = `${what}, which is the most at once: try again when one of them is answered`;
  return new AppError("rate_limited", text, { retryAfterMs: RETRY_MS });
}

/** Gives a slot back, and stores what its holder has asked of outside services. */
export const leave = change({ slot: v.id("slots"), noted: vNoted }, async (ctx, { slot, noted }) => {
  if ((await ctx.db.get("slots", slot)) !== null) await ctx.db.delete("slots", slot);
  await keepNoted(ctx, noted);
});
