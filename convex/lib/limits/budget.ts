import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { setting } from "../env";
import { AppError } from "../errors";
import { CALLERS, sumOf } from "../outside/calls";
import { vPayer } from "../tables";
import { DAY, dayOf, iso } from "../time";
import type { Payer } from "./callers";

/**
 * The day's budget: `DAILY_BUDGET_USD`, checked before work begins; what its calls have cost is added after them. Callers
 * have three fifths of it together, and one user or address a fifth of it. What is owed or scheduled goes on until twice
 * the budget, and a paid report is never refused. Amounts are in millionths of a USD.
 */

/** What all that is neither paid for nor scheduled may spend together, and one user or address of it. */
const PART_OF_CALLERS = 0.6;
const PART_OF_ONE = 0.2;
/** What is owed to a running shift, or scheduled, is refused only at this many budgets. */
const MOST_BUDGETS = 2;
const MICROS = 1_000_000;

/** What each provider has cost on a day. */
async function costsOf(ctx: QueryCtx, day: string) {
  const [llm, sentiment, agentApi] = await Promise.all([
    sumOf(ctx, day, "llm"),
    sumOf(ctx, day, "sentiment"),
    sumOf(ctx, day, "agentApi"),
  ]);
  return { llm, sentiment, agentApi, all: llm + sentiment + agentApi };
}

export const vSpent = v.object({ all: v.number(), callers: v.number(), own: v.number() });

/** What counts for a payer on the day of `now`: spent by everybody, by all callers, and the most by one of its holders. */
export async function spentFor(ctx: QueryCtx, payer: Payer, now: number): Promise<Infer<typeof vSpent>> {
  const day = dayOf(now);
  const holders = isCaller(payer) ? payer.holders : [];
  const own = await Promise.all(holders.map((holder) => sumOf(ctx, day, holder)));
  const { all } = await costsOf(ctx, day);
  return { all, callers: await sumOf(ctx, day, CALLERS), own: Math.max(0, ...own) };
}

/** Whether somebody has asked for it, who has not paid for it. */
export function isCaller(payer: Payer): payer is Exclude<Payer, string> {
  return typeof payer !== "string" && payer.class !== "shift";
}

export const spent = internalQuery({
  args: { payer: vPayer, now: v.number() },
  returns: vSpent,
  handler: (ctx, { payer, now }) => spentFor(ctx, payer, now),
});

/**
 * Refuses a payer whose part of the day's budget is used up, before any work begins for it. What is read may be a
 * moment old: a current read would conflict with every call that is being counted.
 * @throws AppError `rate_limited`, with the time at which the budget is restored.
 */
export async function refuseBeyond(ctx: MutationCtx, payer: Payer): Promise<void> {
  if (payer === "paid") return;
  const now = Date.now();
  const stale = { useStaleSnapshot: true };
  refusePast(payer, await ctx.runQuery(internal.lib.limits.budget.spent, { payer, now }, stale), now);
}

/** The same, of what was read. */
export function refusePast(payer: Payer, { all, callers, own }: Infer<typeof vSpent>, now: number): void {
  if (payer === "paid") return;
  const budget = budgetMicros();
  const isPastAll = all >= budget * MOST_BUDGETS;
  if (!isCaller(payer)) {
    if (isPastAll) throw usedUp("Twice today's budget of the service", now);
    return;
  }
  if (own >= budget * PART_OF_ONE) throw usedUp("Your part, a fifth, of today's budget", now);
  if (isPastAll || callers >= budget * PART_OF_CALLERS)
    throw usedUp("Today's budget for what callers ask", now);
}

function usedUp(what: string, now: number): AppError {
  const resetAt = resetAfter(now);
  return new AppError("rate_limited", `${what} is used up: it is restored at ${iso(resetAt)}`, {
    retryAfterMs: resetAt - now,
  });
}

/** The day's budget for all providers together. */
function budgetMicros(): number {
  return Number(setting("DAILY_BUDGET_USD")) * MICROS;
}

function resetAfter(now: number): number {
  return (Math.floor(now / DAY) + 1) * DAY;
}

/** From this part on the operator is warned: of the budget, or of the callers' part of it. */
export const NEARLY_USED = 0.8;

/** What each provider has cost on the day of `now`. `used`: the part of the budget, and of the callers' part, 0 to 1. */
export async function spentToday(ctx: QueryCtx, now: number) {
  const day = dayOf(now);
  const { all, llm, sentiment, agentApi } = await costsOf(ctx, day);
  const budget = budgetMicros();
  const callers = await sumOf(ctx, day, CALLERS);
  return {
    resetsAt: resetAfter(now),
    limitUsd: usd(budget),
    spentUsd: usd(all),
    providers: { llm: usd(llm), sentiment: usd(sentiment), agentApi: usd(agentApi) },
    used: { all: all / budget, callers: callers / (budget * PART_OF_CALLERS) },
  };
}

/** To a hundredth of a cent. */
function usd(micros: number): number {
  return Math.round(micros / 100) / 10_000;
}
