import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import {
  internalMutation,
  internalQuery,
  type ActionCtx,
  type MutationCtx,
  type QueryCtx,
} from "../../_generated/server";
import { change } from "../changes";
import { setting } from "../env";
import { AppError, messageOf } from "../errors";
import { log } from "../log";
import { quotaHeaders, type Quota } from "../limits/quotas";
import { rowsBy } from "../records/rows";
import { addTo, countFor, mayHave } from "../limits/shares";
import { noteAgain, noteSpent, takeNoted } from "../outside/notes";
import { keepNoted, vNoted } from "../outside/tallies";
import { addSpent, anyShard, SHARDS, spentOn, type Share } from "../outside/expenses";
import { vBilled, vPayer, vPayingClass, vPrepaid } from "../tables";
import { DAY, dayOf, iso } from "../time";

/**
 * The day's budget: `DAILY_BUDGET_USD` for each provider that bills. Money is held before each call and settled by its
 * usage afterwards. Amounts are in millionths of a USD; days are UTC.
 *
 * Strangers and signed-in users have a share each; each caller may have a tenth of what is left in it
 * (`lib/limits/shares`). The rest is kept for the service's own work, which the clock bounds, and for paid reports,
 * which pay for themselves. Neither is ever refused. The signals' shadow arms may take at most half of that rest,
 * because nobody waits for them.
 */

/** Who pays for a call: the service, a paid report, or the caller who asked for it. */
export type Payer = Infer<typeof vPayer>;
type Class = Share["payer"];
/** The classes of callers. */
export type CallerClass = "signedIn" | "anonymous";
/** A provider that bills by the call. */
export type Billed = Infer<typeof vBilled>;

/** What a class of callers may spend of a provider's budget; a class that is not here is never refused. */
const SHARES: Partial<Record<Class, number>> = { anonymous: 0.4, signedIn: 0.4, lab: 0.1 };
/** From here on the operator is warned: of a provider's budget, or of a class of callers' share in it. */
export const NEARLY_USED = 0.8;
const MICROS = 1_000_000;
const CENT = MICROS / 100;

/** Providers, payers and shards of a day. */
const ROWS_OF_DAY = 3 * 6 * SHARDS;

const vAmount = { payer: vPayer, provider: vBilled, micros: v.number() };
const vHeld = v.object({ day: v.string(), shard: v.number() });
/** Money that was paid in advance and is not used up. */
export type Prepaid = Infer<typeof vPrepaid>;

const vShare = { day: v.string(), payer: vPayingClass, provider: vBilled };

/** How much of a budget, or of a class's share in it, is spent: 0 to 1. */
export type Used = { provider: Billed; whose: string; part: number };
/** One provider's budget, and what of it is spent. */
export type Spent = { limitUsd: number; spentUsd: number; leftUsd: number; by: Record<string, number> };

/** Pays for calls; asked before each one. */
export type Purse = {
  /** @param micros What the call costs at most. @throws AppError `rate_limited` when nothing is left. */
  hold: (provider: Billed, micros: number) => Promise<Hold>;
};
/** Money held for a call. */
type Hold = {
  /** Replaces the held amount by the real cost. */
  settle: (micros: number) => Promise<void>;
};

/** For the operator's own scripts, outside a deployment. */
export const UNCOUNTED: Purse = { hold: () => Promise.resolve({ settle: () => Promise.resolve() }) };

export function purseOf(ctx: ActionCtx, payer: Payer): Purse {
  return {
    hold: async (provider, micros) => {
      const { class: of } = named(payer);
      let counted = 0;
      // A class that is never refused need not ask: its costs are stored with the action's other notes.
      if (SHARES[of] === undefined)
        return {
          settle: (cost) => {
            noteSpent({ day: dayOf(Date.now()), payer: of, provider, micros: cost - counted });
            counted = cost;
            return Promise.resolve();
          },
        };
      const reservation = await ctx.runMutation(internal.lib.budget.ledger.hold, { payer, provider, micros });
      counted = micros;
      return {
        settle: async (cost) => {
          const more = cost - counted;
          counted = cost;
          if (more === 0) return;
          const amount = { payer, provider, micros: more, ...reservation };
          // Stored together with the call counts: a mutation of its own would be another call.
          const noted = takeNoted();
          try {
            await ctx.runMutation(internal.lib.budget.ledger.settle, { ...amount, noted });
          } catch (error) {
            noteAgain(noted);
            // An answered call is not lost if it cannot be settled: the held amount stands.
            log.error("budget.unsettled", { provider, message: messageOf(error) });
          }
        },
      };
    },
  };
}

/** Holds a call's greatest cost in its payer's share. @throws AppError `rate_limited` */
export const hold = internalMutation({
  args: vAmount,
  returns: vHeld,
  handler: async (ctx, amount) => {
    const day = dayOf(Date.now());
    return { day, shard: await take(ctx, day, amount) };
  },
});

export const settle = change(
  { ...vAmount, ...vHeld.fields, noted: vNoted },
  async (ctx, { micros, payer, noted, ...reservation }) => {
    await settleNow(ctx, payer, reservation, micros);
    await keepNoted(ctx, noted);
  },
);

async function settleNow(
  ctx: MutationCtx,
  payer: Payer,
  reservation: { day: string; shard: number; provider: Billed },
  micros: number,
): Promise<void> {
  const { class: of, holders } = named(payer);
  const cell = { ...reservation, payer: of };
  await addSpent(ctx, cell, micros);
  await addTo(ctx, poolOf(cell), holders, micros);
}

/** What is left of a share of the day; negative if a call cost more than was held for it. */
export const left = internalQuery({
  args: vShare,
  returns: v.number(),
  handler: async (ctx, share) => sum(await roomsOf(ctx, share)),
});

/**
 * Refuses a payer whose share of the model gateway's budget is used up, before any work begins for it.
 * @throws AppError `rate_limited`, with the time at which the budget is restored.
 */
export async function refuseBeyond(ctx: MutationCtx, payer: Payer): Promise<void> {
  const { class: of, holders } = named(payer);
  const share = { day: dayOf(Date.now()), payer: of, provider: "llm" as const };
  if (partOf(of) === Infinity) return;
  const own = await spentOn(ctx, { ...share, shard: anyShard() });
  if (own >= partOf(of) && sum(await roomsOf(ctx, share)) <= 0) throw refusal(share, "class");
  if (holders.length === 0) return;
  if (!(await mayHave(ctx, poolOf(share), holders, 1, await leftLately(ctx, share))))
    throw refusal(share, "caller");
}

/** Takes the cost of long work out of its starter's share in advance, all or nothing. @throws AppError `rate_limited` */
export const prepay = internalMutation({
  args: { payer: vPayer, amounts: vPrepaid.omit("day") },
  returns: vPrepaid,
  handler: async (ctx, { payer, amounts }) => {
    const day = dayOf(Date.now());
    for (const provider of ["llm", "sentiment"] as const)
      await take(ctx, day, { payer, provider, micros: amounts[provider] });
    return { day, ...amounts };
  },
});

/** Returns the unused part of a prepayment. A prepayment from an earlier day's budget is lost with that day. */
export async function giveBack(ctx: MutationCtx, payer: Payer, { day, ...rest }: Prepaid): Promise<void> {
  if (day !== dayOf(Date.now())) return;
  for (const provider of ["llm", "sentiment"] as const)
    if (rest[provider] > 0)
      await settleNow(ctx, payer, { day, provider, shard: anyShard() }, -rest[provider]);
}

/** What each provider has cost on the day of `now`, and what is left of its budget. Reads 144 rows at most. */
export async function spentToday(
  ctx: QueryCtx,
  now: number,
): Promise<{ resetsAt: number; providers: Record<Billed, Spent>; used: Used[] }> {
  const rows = await rowsBy(ctx.db.query("spending"), "day", dayOf(now)).take(ROWS_OF_DAY);
  const limit = budgetMicros();
  const used: Used[] = [];
  const of = (provider: Billed): Spent => {
    const by: Partial<Record<Class, number>> = {};
    for (const row of rows) {
      if (row.provider === provider) by[row.payer] = (by[row.payer] ?? 0) + row.micros;
    }
    // Calls of a running shift were paid for when its stages began.
    const { shift: _paidAlready, ...counted } = by;
    const spent = sum(Object.values(counted));
    used.push({ provider, whose: "everybody", part: spent / limit });
    for (const payer of ["anonymous", "signedIn"] as const) {
      const part = (by[payer] ?? 0) / (limit * (SHARES[payer] ?? 1));
      used.push({ provider, whose: WHOSE[payer] ?? payer, part });
    }
    return {
      limitUsd: usd(limit),
      spentUsd: usd(spent),
      leftUsd: usd(Math.max(0, limit - spent)),
      by: Object.fromEntries(Object.entries(by).map(([payer, micros]) => [payer, usd(micros)])),
    };
  };
  const providers = { llm: of("llm"), sentiment: of("sentiment"), agentApi: of("agentApi") };
  return { resetsAt: resetAfter(now), providers, used };
}

/**
 * Takes an amount out of a share (out of one row's part if it fits, else out of the remainder of all rows) and out of
 * its payer's part of it.
 * @returns The row on which it is settled.
 * @throws AppError `rate_limited` when not enough is left.
 */
async function take(
  ctx: MutationCtx,
  day: string,
  { micros, payer, provider }: { payer: Payer; provider: Billed; micros: number },
): Promise<number> {
  const { class: of, holders } = named(payer);
  const share = { day, payer: of, provider };
  const shard = await takeFrom(ctx, share, micros);
  if (holders.length === 0) return shard;
  const leftNow = await leftLately(ctx, share);
  if (!(await countFor(ctx, poolOf(share), holders, micros, leftNow))) throw refusal(share, "caller");
  return shard;
}

async function takeFrom(ctx: MutationCtx, share: Share, micros: number): Promise<number> {
  const shard = anyShard();
  const cell = { ...share, shard };
  if ((await spentOn(ctx, cell)) + micros <= partOf(share.payer)) {
    await addSpent(ctx, cell, micros);
    return shard;
  }
  const rooms = await roomsOf(ctx, share);
  if (sum(rooms) < micros) throw refusal(share, "class");
  let rest = micros;
  for (const [other, room] of rooms.entries()) {
    const some = Math.min(rest, Math.max(0, room));
    if (some > 0) await addSpent(ctx, { ...share, shard: other }, some);
    rest -= some;
  }
  return shard;
}

/** What is left of a share, from a snapshot that may be a moment old: a current read would make all spenders conflict. */
async function leftLately(ctx: MutationCtx, share: Share): Promise<number> {
  return ctx.runQuery(internal.lib.budget.ledger.left, share, { useStaleSnapshot: true });
}

function named(payer: Payer): { class: Class; holders: readonly string[] } {
  return typeof payer === "string" ? { class: payer, holders: [] } : payer;
}

function poolOf({ provider, payer, day }: Share): { pool: string; window: number } {
  return { pool: `${provider}:${payer}`, window: Date.parse(day) };
}

/**
 * What each row's part of a share has left; the parts are equal, and all rows are read only if one is not enough.
 * Negative if a call cost more than was held for it.
 */
async function roomsOf(ctx: QueryCtx, { day, payer, provider }: Share): Promise<number[]> {
  const rows = await ctx.db
    .query("spending")
    .withIndex("by_day", (q) => q.eq("day", day).eq("payer", payer).eq("provider", provider))
    .take(SHARDS);
  const used = new Map(rows.map(({ shard, micros }) => [shard, micros]));
  return Array.from({ length: SHARDS }, (_, shard) => partOf(payer) - (used.get(shard) ?? 0));
}

/** One row's part of a payer's share; the whole budget if the payer has no share. */
function partOf(payer: Class): number {
  const share = SHARES[payer];
  return share === undefined ? Infinity : Math.floor((budgetMicros() * share) / SHARDS);
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}

const WHOSE: Partial<Record<Class, string>> = {
  anonymous: "callers who are not signed in",
  signedIn: "signed-in users",
  lab: "shadow signals",
};

const NAMES: Record<Billed, string> = {
  llm: "the LLM gateway",
  sentiment: "the sentiment model",
  agentApi: "the agent API",
};

/** @param what Whether the whole class has used it up, or this caller its own part. */
function refusal({ payer, provider }: Omit<Share, "day">, what: "class" | "caller"): AppError {
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
  const budget = `today's budget of ${NAMES[provider]} for ${WHOSE[payer] ?? "this work"}`;
  const subject =
    what === "class" ? `T${budget.slice(1)}` : `Your part, a tenth of what is left, of ${budget}`;
  return new AppError("rate_limited", `${subject} is used up: it is restored at ${iso(resetAt)}`, {
    retryAfterMs: resetAt - now,
    headers: quotaHeaders([quota]),
  });
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
