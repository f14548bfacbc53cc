import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, type ActionCtx, type MutationCtx, type QueryCtx } from "../_generated/server";
import { setting } from "./env";
import { AppError, messageOf } from "./errors";
import type { Caller } from "./limits";
import { log } from "./log";
import { quotaHeaders, type Quota } from "./quotas";
import { rowsBy } from "./rows";
import { BILLED, vBilled, vPayer } from "./tables";
import { DAY, dayOf, iso } from "./time";

/**
 * The day's budget: `DAILY_BUDGET_USD` for each provider that bills. A call is asked for before it is made, and counted by
 * its usage behind it. Amounts are in millionths of a USD; days are UTC.
 *
 * Strangers and signed-in users have a share each, and no more. The rest is kept for what they cannot make more of: the
 * service's own work, which the clock bounds, and paid reports, which pay for themselves. Neither is ever refused. Half of
 * that rest is the most that the signals' shadow arms may take: nobody waits for them.
 */

/** Whose money a call is: the service's own work, a paid report, or the class of caller that asked for it. */
export type Payer = Infer<typeof vPayer>;
/** A provider that bills by the call. */
export type Billed = Infer<typeof vBilled>;

/** What a class of callers may spend of a provider's budget; who is not here is not refused. */
const SHARES: Partial<Record<Payer, number>> = { anonymous: 0.4, signedIn: 0.4, lab: 0.1 };
/**
 * So many rows count together, so that calls made at the same time do not wait for one another. An even part of a share
 * is each row's; only where that is not enough are all of them read.
 */
const SHARDS = 8;
const MICROS = 1_000_000;
const CENT = MICROS / 100;

/** Providers, payers and shards of a day. */
const ROWS_OF_DAY = 3 * 6 * SHARDS;

const vAmount = { payer: vPayer, provider: vBilled, micros: v.number() };
const vHeld = v.object({ day: v.string(), shard: v.number() });

/** A class of caller's money of a day, and one row of it. */
type Share = { day: string; payer: Payer; provider: Billed };
type Cell = Share & { shard: number };

/** What is spent so far and may be spent, of one provider. */
export type Spent = { limitUsd: number; spentUsd: number; leftUsd: number; by: Record<string, number> };

/** Who pays for calls. Asked before each one. */
export type Purse = {
  /** @param micros What the call costs at most. @throws AppError `rate_limited` when nothing is left. */
  hold: (provider: Billed, micros: number) => Promise<Hold>;
};
/** Money held for a call. */
type Hold = {
  /** Counts what the call cost; until then a stranger's or a user's counts with its greatest cost. */
  settle: (micros: number) => Promise<void>;
};

/** For what the operator does by hand, outside a deployment. */
export const UNCOUNTED: Purse = { hold: () => Promise.resolve({ settle: () => Promise.resolve() }) };

/** Whose money a caller's requests are. */
export function payerOf({ signedIn }: Caller): "signedIn" | "anonymous" {
  return signedIn === true ? "signedIn" : "anonymous";
}

export function purseOf(ctx: ActionCtx, payer: Payer): Purse {
  return {
    hold: async (provider, micros) => {
      // Who is never refused need not ask.
      const asks = SHARES[payer] !== undefined;
      const held = asks
        ? await ctx.runMutation(internal.lib.budget.hold, { payer, provider, micros })
        : { day: dayOf(Date.now()), shard: anyShard() };
      let counted = asks ? micros : 0;
      return {
        settle: async (cost) => {
          const more = cost - counted;
          counted = cost;
          if (more === 0) return;
          const amount = { payer, provider, micros: more, ...held };
          try {
            await ctx.runMutation(internal.lib.budget.settle, amount);
          } catch (error) {
            // What has been answered is not lost for its price: the amount held stands.
            log.error("budget.unsettled", { provider, message: messageOf(error) });
          }
        },
      };
    },
  };
}

/** Takes a call's greatest cost out of its payer's share. @throws AppError `rate_limited` */
export const hold = internalMutation({
  args: vAmount,
  returns: vHeld,
  handler: async (ctx, amount) => {
    const day = dayOf(Date.now());
    return { day, shard: await take(ctx, { ...amount, day }) };
  },
});

export const settle = internalMutation({
  args: { ...vAmount, ...vHeld.fields },
  returns: v.null(),
  handler: async (ctx, { micros, ...cell }) => {
    await add(ctx, cell, micros);
    return null;
  },
});

/**
 * Refuses a payer whose share of what the model gateway may cost is used up, before anything is begun for it.
 * @throws AppError `rate_limited`, with the time at which the budget is whole again.
 */
export async function refuseBeyond(ctx: MutationCtx, payer: Payer): Promise<void> {
  const share = { day: dayOf(Date.now()), payer, provider: "llm" as const };
  const own = await spentOn(ctx, { ...share, shard: anyShard() });
  if (own < partOf(payer)) return;
  if (sum(await roomsOf(ctx, share)) <= 0) throw usedUp(payer);
}

/**
 * Takes what long work will cost out of its starter's share, all at once: what has begun is then never refused.
 * @throws AppError `rate_limited`
 */
export async function prepay(
  ctx: MutationCtx,
  payer: Payer,
  amounts: Partial<Record<Billed, number>>,
): Promise<void> {
  const day = dayOf(Date.now());
  for (const provider of BILLED) {
    const micros = amounts[provider];
    if (micros !== undefined) await take(ctx, { day, payer, provider, micros });
  }
}

/** What each provider has cost on the day of `now`, and what is left of its budget. Reads 144 rows at most. */
export async function spentToday(
  ctx: QueryCtx,
  now: number,
): Promise<{ resetsAt: number; providers: Record<Billed, Spent>; fullest: number }> {
  const rows = await rowsBy(ctx.db.query("spending"), "day", dayOf(now)).take(ROWS_OF_DAY);
  const limit = budgetMicros();
  let fullest = 0;
  const of = (provider: Billed): Spent => {
    const by: Partial<Record<Payer, number>> = {};
    for (const row of rows) {
      if (row.provider === provider) by[row.payer] = (by[row.payer] ?? 0) + row.micros;
    }
    // What begun shifts really cost was paid when they were started.
    const { shift: _paidAlready, ...counted } = by;
    const spent = sum(Object.values(counted));
    const used = [spent / limit];
    for (const payer of ["anonymous", "signedIn"] as const) {
      used.push((by[payer] ?? 0) / (limit * (SHARES[payer] ?? 1)));
    }
    fullest = Math.max(fullest, ...used);
    return {
      limitUsd: usd(limit),
      spentUsd: usd(spent),
      leftUsd: usd(Math.max(0, limit - spent)),
      by: Object.fromEntries(Object.entries(by).map(([payer, micros]) => [payer, usd(micros)])),
    };
  };
  const providers = { llm: of("llm"), sentiment: of("sentiment"), agentApi: of("agentApi") };
  return { resetsAt: resetAfter(now), providers, fullest };
}

/**
 * Takes an amount out of a share: out of one row's part where it fits, else out of what all rows have left together.
 * @returns The row on which it is settled.
 * @throws AppError `rate_limited` when there is not as much left.
 */
async function take(ctx: MutationCtx, { micros, ...share }: Share & { micros: number }): Promise<number> {
  const shard = anyShard();
  const cell = { ...share, shard };
  if ((await spentOn(ctx, cell)) + micros <= partOf(share.payer)) {
    await add(ctx, cell, micros);
    return shard;
  }
  const rooms = await roomsOf(ctx, share);
  if (sum(rooms) < micros) throw usedUp(share.payer);
  let rest = micros;
  for (const [other, room] of rooms.entries()) {
    const some = Math.min(rest, Math.max(0, room));
    if (some > 0) await add(ctx, { ...share, shard: other }, some);
    rest -= some;
  }
  return shard;
}

/** What each row's part of a share has left: less than nothing where a call cost more than was held for it. */
async function roomsOf(ctx: QueryCtx, { day, payer, provider }: Share): Promise<number[]> {
  const rows = await ctx.db
    .query("spending")
    .withIndex("by_day", (q) => q.eq("day", day).eq("payer", payer).eq("provider", provider))
    .take(SHARDS);
  const used = new Map(rows.map(({ shard, micros }) => [shard, micros]));
  return Array.from({ length: SHARDS }, (_, shard) => partOf(payer) - (used.get(shard) ?? 0));
}

/** What one row's part of a payer's share is; all there is for whom none is set. */
function partOf(payer: Payer): number {
  const share = SHARES[payer];
  return share === undefined ? Infinity : Math.floor((budgetMicros() * share) / SHARDS);
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}

const WHOSE: Partial<Record<Payer, string>> = {
  anonymous: "callers who are not signed in",
  signedIn: "signed-in users",
  lab: "shadow signals",
};

function usedUp(payer: Payer): AppError {
  const now = Date.now();
  const resetAt = resetAfter(now);
  const quota: Quota = {
    name: "daily-budget",
    most: Math.round((budgetMicros() * (SHARES[payer] ?? 1)) / CENT),
    unit: "cents",
    windowMs: DAY,
    left: 0,
    againMs: resetAt - now,
  };
  const whose = WHOSE[payer] ?? "this work";
  return new AppError(
    "rate_limited",
    `Today's budget for ${whose} is used up: it is restored at ${iso(resetAt)}`,
    { retryAfterMs: resetAt - now, headers: quotaHeaders([quota]) },
  );
}

async function add(ctx: MutationCtx, cell: Cell, micros: number): Promise<void> {
  const row = await find(ctx, cell);
  if (row === null) await ctx.db.insert("spending", { ...cell, micros });
  else await ctx.db.patch("spending", row._id, { micros: row.micros + micros });
}

async function spentOn(ctx: QueryCtx, cell: Cell): Promise<number> {
  return (await find(ctx, cell))?.micros ?? 0;
}

async function find(ctx: QueryCtx, { day, payer, provider, shard }: Cell) {
  return ctx.db
    .query("spending")
    .withIndex("by_day", (q) =>
      q.eq("day", day).eq("payer", payer).eq("provider", provider).eq("shard", shard),
    )
    .unique();
}

function anyShard(): number {
  return Math.floor(Math.random() * SHARDS);
}

function budgetMicros(): number {
  return Number(setting("DAILY_BUDGET_USD")) * MICROS;
}

function resetAfter(now: number): number {
  return (Math.floor(now / DAY) + 1) * DAY;
}

/** To a hundredth of a cent. */
function usd(micros: number): number {
  return Math.round(micros / 100) / 10_000;
}
