import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import type { Fact } from "../figures/facts";
import { indexNames, type Names } from "../figures/mentions";
import { AppError, getErrorData } from "../lib/errors";
import { formatDollars } from "../lib/text/numbers";
import { DAY, HOUR, MINUTE, getRoundedNow } from "../lib/time";
import { collectFacts } from "../market/collectors";
import { resolveFocus } from "../market/listing";
import { getLivePrice } from "../market/live";
import { PRICED_TOKENS } from "../market/tables";
import type { Caller } from "../platform/limits/callers";
import { deadlines } from "../platform/outside/deadlines";
import { defineProviderAction, takeUsage, withUsage } from "../platform/outside/calls";
import { askCandles, askTrade } from "../providers/data/coinbase";
import { limitSourceRate } from "../providers/data/publicData";
import type { Present } from "./cards";
import {
  formatCondition,
  getDemand,
  HOW_TO_SAY,
  isAlwaysSampled,
  isMeasured,
  isReached,
  parseSubject,
  toWatch,
} from "./conditions";
import { restateWords } from "./restating";
import type { Alert, Condition, Observation } from "./tables";
import { readAlerts, type Question, type Said } from "./words";

/** From people's words and programs' conditions to proposals of alerts, and the prices that only alerts need. */

export type Proposed = { alert: Alert; present: Present };

/** The choices of a person or a program besides the condition. */
type Choice = Pick<Alert, "userId" | "once" | "until">;

/** The result of reading a person's words: a proposal, a question back (`open`), or no alert (`none`). */
export type Answered =
  | { kind: "proposed"; proposed: Proposed }
  | { kind: "none"; say: string }
  | ({ kind: "open" } & Question);

/**
 * Reads an alert from words in any language and stores it as a proposal. If the words leave something open, or contradict
 * the reading, the person gets a question.
 */
export const answerAlertWords = withUsage(
  async (ctx, caller: Caller, choice: Choice, text: string): Promise<Answered> => {
    const words = text.toWellFormed().trim();
    // The endpoint takes 300 characters: a longer message asks for no alert.
    if (words.length > 300) return { kind: "none", say: HOW_TO_SAY };
    const facts = await readListFacts(ctx, DAY);
    const names = indexNames(facts);
    const read = readAlerts(words, names);
    const restated = read === null ? await restateWords(ctx, words, caller, facts) : null;
    if (restated !== null && restated.kind !== "read") return restated;
    const line = restated?.line ?? words;
    const found: Condition[] = [];
    for (const said of read ?? readAlerts(line, names) ?? []) {
      const decided = await decide(ctx, said);
      if (decided === null) return { kind: "none", say: HOW_TO_SAY };
      if (!("kind" in decided)) return { kind: "open", ...decided };
      found.push(decided);
    }
    if (found.length > 1) return { kind: "open", say: "Set each on its own:", meant: found };
    const [condition] = found;
    if (condition === undefined) return { kind: "none", say: HOW_TO_SAY };
    const present = await getPresent(ctx, condition);
    const other = await findThousands(ctx, line, names);
    const doubt = findDoubt(condition, present, { isExact: read?.[0]?.isExact === true, other });
    if (doubt !== null) return { kind: "open", ...doubt };
    return {
      kind: "proposed",
      proposed: { alert: await store(ctx, caller, { ...choice, condition }), present },
    };
  },
);

/** What words mean at the coin's present price, where that matters. */
async function decide(ctx: ActionCtx, said: Said): Promise<ReturnType<Said["decide"]>> {
  return said.decide(said.isRelative ? await getPrice(ctx, said.token) : null);
}

/** A coin's price in USD; `null` if no source has it now. */
export async function getPrice(ctx: ActionCtx, token: string): Promise<number | null> {
  await learn(ctx, token);
  return (await getLatest(ctx, `price:${token}`))?.value ?? null;
}

function getLatest(ctx: ActionCtx, subject: string): Promise<Observation | null> {
  return ctx.runQuery(internal.alerts.observations.getLatestObservation, { subject, at: Date.now() });
}

/** A caller with only the id of an owned account asks its owner. */
function store(ctx: ActionCtx, { credential }: Caller, proposal: Choice & Pick<Alert, "condition">) {
  return ctx.runMutation(internal.alerts.proposals.storeProposal, {
    ...proposal,
    asksOwner: credential === "id",
  });
}

/** The same for programs, which send words or a condition. @throws AppError `invalid_request` that says what to send instead. */
export const proposeAlert = withUsage(
  async (
    ctx,
    caller: Caller,
    choice: Choice,
    request: { text: string } | { condition: Condition },
  ): Promise<Proposed> => {
    if ("condition" in request) {
      const present = await getPresent(ctx, request.condition);
      return { alert: await store(ctx, caller, { ...choice, ...request }), present };
    }
    const answered = await answerAlertWords(ctx, caller, choice, request.text);
    if (answered.kind === "proposed") return answered.proposed;
    const { say, meant = [] } = answered.kind === "open" ? answered : { say: answered.say };
    const lines = meant.map((one) => formatCondition(one)).join(", or ");
    const advice = lines === "" ? say : `${say} Say ${lines}`;
    throw new AppError("invalid_request", advice.replace(/\.$/, ""));
  },
);

/** The present value of a condition's subject. @throws AppError `invalid_request` for a coin without a price. */
async function getPresent(ctx: ActionCtx, condition: Condition): Promise<Present> {
  if (condition.kind === "price" || condition.kind === "change") await learn(ctx, condition.token);
  if (condition.kind === "research") await resolveFocus(ctx, condition.token);
  if (!isMeasured(condition)) return { latest: null, holds: false };
  const watch = toWatch(condition);
  const latest = await getLatest(ctx, watch.subject);
  return { latest, holds: latest !== null && isReached(watch, latest.value) };
}

/** A level this many times above or below the current price is probably a typo. */
const FAR = 5;
/** A point before three digits: a decimal point in English, a separator of thousands in German. */
const DOTTED = /(?<![\d.,])([1-9]\d{0,2})\.(\d{3})(?![\d.,]*\d)/;

/** What the words mean if their point separates thousands; `null` without such a point. */
async function findThousands(ctx: ActionCtx, words: string, names: Names): Promise<Condition | null> {
  const [said] = DOTTED.test(words) ? (readAlerts(words.replace(DOTTED, "$1,$2"), names) ?? []) : [];
  const decided = said === undefined ? null : await decide(ctx, said);
  return decided !== null && "kind" in decided ? decided : null;
}

/**
 * A question about a level that is far away, or, unless the words say it exactly, that is reached already.
 * @param read.other What else the words may mean.
 */
function findDoubt(
  condition: Condition,
  { latest, holds }: Present,
  { isExact, other }: { isExact: boolean; other: Condition | null },
): Question | null {
  if (condition.kind !== "price") return null;
  const { token, direction, levelUsd } = condition;
  const now = latest === null ? "" : `${token} is at ${formatDollars(latest.value)}`;
  const isFar = latest === null || Math.abs(Math.log(levelUsd / latest.value)) > Math.log(FAR);
  if (isFar && (other !== null || (latest !== null && !isExact))) {
    const meant = other === null ? [condition] : [other, condition];
    return { say: `I read ${formatDollars(levelUsd)}. Is that the level?${now && ` ${now}.`}`, meant };
  }
  if (isExact || !holds) return null;
  const turned = { ...condition, direction: direction === "above" ? ("below" as const) : ("above" as const) };
  return { say: `${now}, so that is true already. Above or below?`, meant: [turned, condition] };
}

const LIST = { collector: "markets", subject: "" } as const;
/** The week of an alert's picture, the longest window of a change before it, and the hour in which that begins. */
const EARLIER_MS = 14 * DAY + HOUR;
/** A coin with samples of this age needs no earlier prices. */
const KNOWN_MS = 7 * DAY;

/** The facts of the largest coins, none older than `freshMs`. */
async function readListFacts(ctx: ActionCtx, freshMs: number): Promise<Fact[]> {
  if (freshMs < DAY) await collectFacts(ctx, [LIST], { freshMs, waitMs: deadlines.grounding });
  const query = { wanted: [LIST], withinMs: Math.max(freshMs, MINUTE), at: getRoundedNow() };
  return (await ctx.runQuery(internal.market.facts.readFactsAt, query)).facts;
}

const createPriceFilter =
  (token: string) =>
  ({ subject, kind }: Fact): boolean =>
    subject === token && kind === "price";

/** Takes a sample of each coin: from the list of the largest coins, which is one call for all, otherwise from an exchange. */
async function sampleCoins(ctx: ActionCtx, tokens: readonly string[]): Promise<void> {
  const facts = await readListFacts(ctx, 4 * MINUTE);
  const samples = [];
  for (const token of tokens) {
    const listed = facts.find(createPriceFilter(token));
    const traded =
      listed === undefined ? await orNothing(askTrade(limitSourceRate(ctx), token, deadlines.price)) : null;
    if (traded !== null)
      samples.push({
        token,
        priceUsd: traded.usd,
        observedAt: traded.observedAt,
        source: "coinbase" as const,
      });
    else if (typeof listed?.value === "number")
      samples.push({
        token,
        priceUsd: listed.value,
        observedAt: listed.observedAt,
        source: "coingecko" as const,
      });
  }
  if (samples.length > 0)
    await ctx.runMutation(internal.market.samples.storeAll, { samples, usage: takeUsage() });
}

/**
 * Fetches a coin's price now and its prices of the two weeks before, as far as an exchange has them.
 * @throws AppError `invalid_request` for a coin outside the list of the largest: each costs a call every few minutes.
 */
async function learn(ctx: ActionCtx, token: string): Promise<void> {
  if (!isAlwaysSampled(token)) {
    await sampleCoins(ctx, [token]);
    const refusal = `${token} is not among the 100 largest coins, and prices have alerts for those only: choose another coin`;
    if (!(await readListFacts(ctx, DAY)).some(createPriceFilter(token)))
      throw new AppError("invalid_request", refusal);
  }
  const now = Date.now();
  const first: number | null = await ctx.runQuery(internal.market.samples.getFirstSampleTime, { token });
  if (first === null || first <= now - KNOWN_MS) return;
  const range = { step: HOUR, from: now - EARLIER_MS, to: now };
  const candles = await orNothing(askCandles(limitSourceRate(ctx), token, range, deadlines.price));
  if (candles === null) return;
  const closes = candles.map(({ openedAt, close }) => ({ at: openedAt + HOUR, priceUsd: close }));
  const earlier = { token, source: "coinbase" as const, closes: closes.filter(({ at }) => at <= now) };
  await ctx.runMutation(internal.market.samples.storeEarlier, earlier);
}

/** `null` for a price that no source has: the alert works without it. */
async function orNothing<Value>(answer: Promise<Value>): Promise<Value | null> {
  try {
    return await answer;
  } catch (error) {
    if (getErrorData(error) === null) throw error;
    return null;
  }
}

/** Collects the stale values of bases that only alerts need, and compares them. One call has the rates of all coins, another their prices. */
export const observe = defineProviderAction({ stale: v.array(v.string()) }, async (ctx, { stale }) => {
  const demanding = (what: "prices" | "rates" | "trades") =>
    stale.filter((basis) => getDemand(basis)?.of === what);
  // The collector logs a failure; the next tick tries again.
  if (demanding("rates").length > 0)
    await collectFacts(ctx, [{ collector: "perpetuals", subject: "" }], { freshMs: 9 * MINUTE });
  // The feeds' own prices, by which orders are judged.
  for (const basis of demanding("trades")) {
    const { token } = parseSubject(basis);
    const coin = PRICED_TOKENS.find((one) => one === token);
    if (coin !== undefined) await orNothing(getLivePrice(ctx, coin));
  }
  const coins = demanding("prices").map((basis) => parseSubject(basis).token);
  if (coins.length > 0) await sampleCoins(ctx, coins);
  await ctx.runMutation(internal.alerts.watch.compareNews, { from: "", isTick: false });
});
