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
 * The day's budget: `DAILY_BUDGET_USD` for each provider that bills. A call is asked for before it is made, and counted by
 * its usage behind it. Amounts are in millionths of a USD; days are UTC.
 *
 * Strangers and signed-in users have a share each, and no more; and of what is left there, each of them a tenth
 * (`lib/limits/shares`). The rest is kept for what they cannot make more of: the service's own work, which the clock bounds, and
 * paid reports, which pay for themselves. Neither is ever refused. Half of that rest is the most that the signals' shadow
 * arms may take: nobody waits for them.
 */

/** Whose money a call is: the service's own work, a paid report, or the caller who asked for it. */
export type Payer = Infer<typeof vPayer>;
type Class = Share["payer"];
/** The classes of callers. */
export type CallerClass = "signedIn" | "anonymous";
/** A provider that bills by the call. */
export type Billed = Infer<typeof vBilled>;

/** What a class of callers may spend of a provider's budget; a class that is not here is never refused. */
const SHARES: Partial<Record<Class, number>> = { anonymous: 0.4, signedIn: 0.4, lab: 0.1 };
/** From here on whoever watches is told: of a provider's budget, or of a class of callers' share in it. */
export const NEARLY_USED = 0.8;
const MICROS = 1_000_000;
const CENT = MICROS / 100;

/** Providers, payers and shards of a day. */
const ROWS_OF_DAY = 3 * 6 * SHARDS;

const vAmount = { payer: vPayer, provider: vBilled, micros: v.number() };
const vHeld = v.object({ day: v.string(), shard: v.number() });
/** What was paid for in advance and is not used up. */
export type Prepaid = Infer<typeof vPrepaid>;

const vShare = { day: v.string(), payer: vPayingClass, provider: vBilled };

/** How much of a budget or of a class's share in it is spent, 0 to 1. */
export type Used = { provider: Billed; whose: string; part: number };
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

export function purseOf(ctx: ActionCtx, payer: Payer): Purse {
  return {
    hold: async (provider, micros) => {
      const { class: of } = named(payer);
      let counted = 0;
      // A class that is never refused need not ask: the cost is stored with what its action notes.
      if (SHARES[of] === undefined)
        return {
          settle: (cost) => {
            noteSpent({ day: dayOf(Date.now()), payer: of, provider, micros: cost - counted });
            counted = cost;
            return Promise.resolve();
          },
        };
      const held = await ctx.runMutation(internal.lib.budget.ledger.hold, { payer, provider, micros });
      counted = micros;
      return {
        settle: async (cost) => {
          const more = cost - counted;
          counted = cost;
          if (more === 0) return;
          const amount = { payer, provider, micros: more, ...held };
          // Stored beside it: a mutation of its own would be another call.
          const noted = takeNoted();
          try {
            await ctx.runMutation(internal.lib.budget.ledger.settle, { ...amount, noted });
          } catch (error) {
            noteAgain(noted);
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
    return { day, shard: await take(ctx, day, amount) };
  },
});

export const settle = change(
  { ...vAmount, ...vHeld.fields, noted: vNoted },
  async (ctx, { micros, payer, noted, ...held }) => {
    await settleNow(ctx, payer, held, micros);
    await keepNoted(ctx, noted);
  },
);

async function settleNow(
  ctx: MutationCtx,
  payer: Payer,
  held: { day: string; shard: number; provider: Billed },
  micros: number,
): Promise<void> {
  const { class: of, holders } = named(payer);
  const cell = { ...held, payer: of };
  await addSpent(ctx, cell, micros);
  await addTo(ctx, poolOf(cell), holders, micros);
}

/** What a share of the day has left, less than nothing where a call cost more than was held for it. */
export const left = internalQuery({
  args: vShare,
  returns: v.number(),
  handler: async (ctx, share) => sum(await roomsOf(ctx, share)),
});

/**
 * Refuses a payer whose share of what the model gateway may cost is used up, before anything is begun for it.
 * @throws AppError `rate_limited`, with the time at which the budget is whole again.
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

/**
 * Takes what long work will cost for a while out of its starter's share, all at once. Nothing is taken where it throws.
 * @throws AppError `rate_limited`
 */
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

/** Gives back what was paid for and is not needed any more. What was taken from an earlier day's budget is gone with it. */
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
    // What begun shifts really cost was paid for when their stages began.
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
 * Takes an amount out of a share: out of one row's part where it fits, else out of what all rows have left together; and
 * out of what its payer may have of that.
 * @returns The row on which it is settled.
 * @throws AppError `rate_limited` when there is not as much left.
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

/** What is left of a share, as it was a moment ago: were it read for good, all who spend would wait for one another. */
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
 * What each row's part of a share has left, an even part for each; only where one is not enough are all of them read. Less
 * than nothing where a call cost more than was held for it.
 */
async function roomsOf(ctx: QueryCtx, { day, payer, provider }: Share): Promise<number[]> {
  const rows = await ctx.db
    .query("spending")
    .withIndex("by_day", (q) => q.eq("day", day).eq("payer", payer).eq("provider", provider))
    .take(SHARDS);
  const used = new Map(rows.map(({ shard, micros }) => [shard, micros]));
  return Array.from({ length: SHARDS }, (_, shard) => partOf(payer) - (used.get(shard) ?? 0));
}

/** What one row's part of a payer's share is; all there is for whom none is set. */
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

/** @param what Whether all of the class have used it up, or this caller what one may have of it. */
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
  const said = what === "class" ? `T${budget.slice(1)}` : `Your part, a tenth of what is left, of ${budget}`;
  return new AppError("rate_limited", `${said} is used up: it is restored at ${iso(resetAt)}`, {
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
