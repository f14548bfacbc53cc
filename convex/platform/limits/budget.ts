import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { internalQuery, type ActionCtx, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { getSetting } from "../../lib/env";
import { limitExceeded } from "../../lib/errors";
import { noteSpent, getSpentSum } from "../outside/calls";
import { vBillingSubject, type vBilled } from "../tables";
import { DAY, toDay, HOUR } from "../../lib/time";
import type { BillingSubject } from "./callers";

/**
 * The day's budget: `DAILY_BUDGET_USD`, checked before work begins; what its calls have cost is added after them. Callers
 * have three fifths of it together, those without a sign-in, an owned id or a linked chat two, and one user, address or
 * network a fifth. Half of each part is there at midnight (UTC), and a 48th more comes with every hour, so that whoever
 * uses a part up shuts nobody out for long. What is owed or scheduled goes on until twice the budget, and a paid report is
 * never refused. Amounts are in millionths of a USD.
 */

/** What all that is neither paid for nor scheduled may spend together; what strangers may; and one user, address or network. */
const PART_OF_CALLERS = 0.6;
const PART_OF_STRANGERS = 0.4;
const PART_OF_ONE = 0.2;
/** What is owed to a running shift, or scheduled, is refused only at this many budgets. */
const MOST_BUDGETS = 2;
const HOURS = 24;
const MICROS = 1_000_000;

/** The sums of all callers, and of the strangers among them. */
const [CALLERS, STRANGERS] = ["callers", "strangers"];

const vSpent = v.object({
  llm: v.number(),
  sentiment: v.number(),
  agentApi: v.number(),
  all: v.number(),
  callers: v.number(),
  strangers: v.number(),
  /** The most by one of a payer's holders. */
  own: v.number(),
});
type Spent = Infer<typeof vSpent>;

/** What the day of `now` has cost: by provider, by all callers, and by a payer's own. */
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
    strangers: await sum(STRANGERS),
    own: Math.max(0, ...ownSpent),
  };
}

/** Whether somebody has asked for it, who has not paid for it. */
function isCaller(billTo: BillingSubject): billTo is Exclude<BillingSubject, string> {
  return typeof billTo !== "string" && billTo.class !== "shift";
}

/** Whose own part it is: the user's, the address's and the network's. */
function listHolders({ holders, network }: Exclude<BillingSubject, string>): string[] {
  return network === undefined ? holders : [...holders, network];
}

export const getSpent = internalQuery({
  args: { billTo: vBillingSubject, now: v.number() },
  returns: vSpent,
  handler: (ctx, { billTo, now }) => sumSpent(ctx, now, billTo),
});

/**
 * Refuses a payer whose part of the day's budget is used up, before any work begins for it. What a mutation reads may be a
 * moment old: a current read would conflict with every call that is being counted.
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
  if (isPastAll) throw limitExceeded("Twice today's budget of the service", resetAfter(now) - now);
  if (!isCaller(billTo)) return;
  const refuse = (what: string, used: number, part: number) => {
    const at = moreAt(used, budget * part, now);
    if (at > now) throw limitExceeded(what, at - now);
  };
  refuse("Your part of today's budget, or that of your network,", spentBy.own, PART_OF_ONE);
  if (billTo.class === "anonymous")
    refuse("Today's budget for callers without a sign-in", spentBy.strangers, PART_OF_STRANGERS);
  refuse("Today's budget for what callers ask", spentBy.callers, PART_OF_CALLERS);
}

/** The day's budget for all providers together. */
function getBudgetMicros(): number {
  return Number(getSetting("DAILY_BUDGET_USD")) * MICROS;
}

function resetAfter(now: number): number {
  return (Math.floor(now / DAY) + 1) * DAY;
}

/**
 * When a part of the day's budget is not used up any more: a time that is over if it is not. Of the part, a half and a 48th
 * are there in the day's first hour, and all of it in the last.
 */
function moreAt(used: number, part: number, now: number): number {
  const hours = Math.floor((2 * HOURS * used) / part) - HOURS;
  return resetAfter(now) - DAY + Math.min(HOURS, hours) * HOUR;
}

/** From this part on the operator is warned: of the budget, or of the callers' part of it. */
export const NEARLY_USED = 0.8;

/** The day of `now` in USD. `used`: the part of the budget, and of the callers' part, 0 to 1. */
export async function getSpentToday(ctx: QueryCtx, now: number) {
  const { all, callers, llm, sentiment, agentApi } = await sumSpent(ctx, now);
  const budget = getBudgetMicros();
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

// What a provider's call costs: by the providers' public lists of August 2026, without discounts for repeated prompts.

/** USD per million tokens (which equals millionths of a USD per token), by the start of the model's name; the first match counts. */
const TOKEN_PRICES: readonly (readonly [start: string, input: number, output: number])[] = [
  ["claude-haiku", 1, 5],
  ["claude-sonnet", 3, 15],
  ["claude-opus", 5, 25],
  ["gemini-3-flash", 0.5, 3],
  ["gemini", 2, 12],
  ["gpt-5-mini", 0.25, 2],
  ["gpt-5-nano", 0.05, 0.4],
  ["gpt-5", 1.75, 14],
  ["grok-4.3", 1.25, 2.5],
  ["grok", 2, 6],
  ["deepseek", 0.6, 1.7],
  ["qwen", 0.6, 3.6],
  ["kimi", 0.6, 3],
];
/** A model that is not in the table counts as an expensive one. */
const UNKNOWN_PRICE = { input: 5, output: 25 };

/** A post that the sentiment model's search fetches: 5 USD per thousand. */
const POST_MICROS = 5_000;
/** An answer of the sentiment model that does not tell its cost: five posts, and 4,000 tokens each way. */
export const USUAL_SENTIMENT_MICROS = 40_000;
/** A prompt of the agent API, which publishes no price: estimated from its plan. */
export const AGENT_PROMPT_MICROS = 50_000;

/** Few texts have more than one token per three characters. */
const CHARS_PER_TOKEN = 3;

/** Tokens of a call. */
export type Usage = { input: number; output: number };

export function getCompletionCost(usage: Usage): number {
  return getTokensCost(getSetting("LLM_MODEL"), usage);
}

/** The most that a completion may cost: the longest allowed answer to a prompt of so many characters. */
export function maxCompletionCost(promptChars: number, maxTokens: number): number {
  return getCompletionCost({ input: Math.ceil(promptChars / CHARS_PER_TOKEN), output: maxTokens });
}

/** The cost of an answer of the sentiment model, by its usage and the posts it fetched. */
export function getSentimentCost(usage: Usage, posts: number): number {
  return getTokensCost(getSetting("SENTIMENT_MODEL"), usage) + posts * POST_MICROS;
}

function getTokensCost(model: string, usage: Usage): number {
  const bare = model.slice(model.lastIndexOf("/") + 1).toLowerCase();
  const listed = TOKEN_PRICES.find(([start]) => bare.startsWith(start));
  const [, input, output] = listed ?? ["", UNKNOWN_PRICE.input, UNKNOWN_PRICE.output];
  return Math.ceil(usage.input * input + usage.output * output);
}

/** Notes what a call has cost, in millionths of a USD: it is stored with the action's other notes. */
export function noteCost(billTo: BillingSubject, provider: Infer<typeof vBilled>, micros: number): void {
  const own = typeof billTo === "string" ? [] : listHolders(billTo);
  const shared = !isCaller(billTo) ? [] : billTo.class === "anonymous" ? [CALLERS, STRANGERS] : [CALLERS];
  noteSpent({ day: toDay(Date.now()), provider, micros, parts: [...shared, ...own] });
}
