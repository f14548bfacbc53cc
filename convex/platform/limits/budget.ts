import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { internalQuery, type ActionCtx, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { getSetting } from "../../lib/env";
import { limitExceeded } from "../../lib/errors";
import { noteSpent, getSpentSum, type vBilled } from "../outside/calls";
import { DAY, toDay, HOUR } from "../../lib/time";
import { vBillingSubject, type BillingSubject } from "./callers";

/**
 * The day's budget: `DAILY_BUDGET_USD`, checked before work begins; what its calls have cost is added after them. Callers
 * have three fifths of it together, those without a sign-in, an owned id or a linked chat two, and one user, address or
 * network a fifth. Half of each part is there at midnight (UTC), and a 48th more comes with every hour, so that an
 * exhausted part is never closed for long. What is owed or scheduled goes on until twice the budget, and a paid report is
 * never refused. Amounts are in millionths of a USD.
 */

/** The shares of all callers together, of anonymous callers, and of one user, address or network. */
const PART_OF_CALLERS = 0.6;
const PART_OF_ANONYMOUS = 0.4;
const PART_OF_ONE = 0.2;
/** Running shifts and scheduled work are refused only at this many budgets. */
const MOST_BUDGETS = 2;
const HOURS = 24;
const MICROS = 1_000_000;

/** The sums of all callers, and of the anonymous ones among them. */
const [CALLERS, ANONYMOUS] = ["callers", "anonymous"];

const vSpent = v.object({
  llm: v.number(),
  sentiment: v.number(),
  agentApi: v.number(),
  all: v.number(),
  callers: v.number(),
  anonymous: v.number(),
  /** The highest sum among the holders of the billing subject. */
  own: v.number(),
});
type Spent = Infer<typeof vSpent>;

/** The cost of the day of `now`: by provider, by all callers, and by the billing subject. */
async function sumSpent(ctx: QueryCtx, now: number, billTo: BillingSubject = "service"): Promise<Spent> {
  const sum = (of: string) => getSpentSum(ctx, toDay(now), of);
  const billed = {
    llm: await sum("llm"),
    sentiment: await sum("sentiment"),
    agentApi: await sum("agentApi"),
  };
  const ownSpent = await Promise.all(isCaller(billTo) ? listHolders(billTo).map(sum) : []);
  return {
    ...billed,
    all: billed.llm + billed.sentiment + billed.agentApi,
    callers: await sum(CALLERS),
    anonymous: await sum(ANONYMOUS),
    own: Math.max(0, ...ownSpent),
  };
}

/** Whether the cost belongs to a caller who has not paid for it. */
function isCaller(billTo: BillingSubject): billTo is Exclude<BillingSubject, string> {
  return typeof billTo !== "string" && billTo.class !== "shift";
}

/** The holders of an own share: the user, the address and the network. */
function listHolders({ holders, network }: Exclude<BillingSubject, string>): string[] {
  return network === undefined ? holders : [...holders, network];
}

export const getSpent = internalQuery({
  args: { billTo: vBillingSubject, now: v.number() },
  returns: vSpent,
  handler: (ctx, { billTo, now }) => sumSpent(ctx, now, billTo),
});

/**
 * Refuses work for a billing subject whose share of the day's budget is used up. Mutations read a stale snapshot: a current
 * read would conflict with every call that is being counted.
 * @throws AppError `rate_limited`, with the time at which there is more.
 */
export async function refuseBeyond(ctx: ActionCtx | MutationCtx, billTo: BillingSubject): Promise<void> {
  if (billTo === "paid") return;
  const now = Date.now();
  const given = { billTo, now };
  const read = internal.platform.limits.budget.getSpent;
  const spentBy: Spent =
    "db" in ctx
      ? await ctx.runQuery(read, given, { useStaleSnapshot: true })
      : await ctx.runQuery(read, given);
  const budget = getBudgetMicros();
  const isPastAll = spentBy.all >= budget * MOST_BUDGETS;
  if (isPastAll)
    throw limitExceeded("Twice the service's budget of today is used up", getNextReset(now) - now);
  if (!isCaller(billTo)) return;
  const refuse = (what: string, used: number, part: number) => {
    const at = computeAvailableAt(used, budget * part, now);
    if (at > now) throw limitExceeded(what, at - now);
  };
  refuse("Your share of today's budget, or your network's, is used up", spentBy.own, PART_OF_ONE);
  if (billTo.class === "anonymous")
    refuse("Today's budget for callers without a sign-in is used up", spentBy.anonymous, PART_OF_ANONYMOUS);
  refuse("Today's budget for callers' requests is used up", spentBy.callers, PART_OF_CALLERS);
}

/** The day's budget for all providers together. */
function getBudgetMicros(): number {
  return Number(getSetting("DAILY_BUDGET_USD")) * MICROS;
}

function getNextReset(now: number): number {
  return (Math.floor(now / DAY) + 1) * DAY;
}

/**
 * The moment from which a share of the day's budget is available again; a past moment if it is available now. Of the part,
 * a half and a 48th are there in the day's first hour, and all of it in the last.
 */
function computeAvailableAt(used: number, part: number, now: number): number {
  const hours = Math.floor((2 * HOURS * used) / part) - HOURS;
  return getNextReset(now) - DAY + Math.min(HOURS, hours) * HOUR;
}

/** From this share on the operator is warned, of the whole budget or of the callers' part. */
export const NEARLY_USED = 0.8;

/** The day of `now` in USD. `used`: the part of the budget, and of the callers' part, 0 to 1. */
export async function getSpentToday(ctx: QueryCtx, now: number) {
  const { all, callers, llm, sentiment, agentApi } = await sumSpent(ctx, now);
  const budget = getBudgetMicros();
  return {
    resetsAt: getNextReset(now),
    limitUsd: toRoundedUsd(budget),
    spentUsd: toRoundedUsd(all),
    providers: {
      llm: toRoundedUsd(llm),
      sentiment: toRoundedUsd(sentiment),
      agentApi: toRoundedUsd(agentApi),
    },
    used: { all: all / budget, callers: callers / (budget * PART_OF_CALLERS) },
  };
}

/** To a hundredth of a cent. */
function toRoundedUsd(micros: number): number {
  return Math.round(micros / 100) / 10_000;
}

/** Notes what a call has cost, in millionths of a USD: it is stored with the action's other notes. */
export function noteCost(billTo: BillingSubject, provider: Infer<typeof vBilled>, micros: number): void {
  const holders = typeof billTo === "string" ? [] : listHolders(billTo);
  const shared = !isCaller(billTo) ? [] : billTo.class === "anonymous" ? [CALLERS, ANONYMOUS] : [CALLERS];
  noteSpent({ day: toDay(Date.now()), provider, micros, parts: [...shared, ...holders] });
}
