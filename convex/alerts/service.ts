import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { collectFacts } from "../market/collectors";
import { resolveFocus } from "../market/listing";
import { getLivePrice } from "../market/live";
import { PRICED_TOKENS } from "../market/tables";
import type { Fact } from "../figures/facts";
import { indexNames } from "../figures/mentions";
import { AppError, getErrorData } from "../lib/errors";
import type { Caller } from "../platform/limits/callers";
import { deadlines } from "../platform/outside/deadlines";
import { withUsage, defineProviderAction, takeUsage } from "../platform/outside/calls";
import { limitSourceRate } from "../providers/data/publicData";
import { formatDollars } from "../lib/text/numbers";
import { DAY, HOUR, MINUTE, getRoundedNow } from "../lib/time";
import { askCandles, askTrade } from "../providers/data/coinbase";
import type { Doubt, Present } from "./cards";
import {
  getDemand,
  isReached,
  isTimed,
  HOW_TO_SAY,
  isAlwaysSampled,
  formatCondition,
  parseSubject,
  toWatch,
} from "./grammar";
import { readPhrases, toCondition, type Phrase, type Question } from "./phrases";
import { readLine, readWords } from "./reading";
import type { Alert, Condition, Observation } from "./tables";

/** Reads alerts from people's words, and collects observations that only alerts need. */

type Proposed = { alert: Alert; present: Present };

/** The choices of a person or a program besides the condition. */
type Choice = Pick<Alert, "userId" | "once" | "until">;

/** What a chat was last asked; its answer may complete it. */
export type Kept = { template: string; alertId?: Id<"alerts"> | undefined };

/** The result of reading a person's words: a proposal, a question back (`open`), or no alert (`none`, `unread` without a model). */
export type Answered =
  | { kind: "proposed"; proposed: Proposed }
  /** Two or three alerts of one message. */
  | { kind: "several"; all: Proposed[] }
  | { kind: "none" | "unread"; say: string }
  | ({ kind: "open" } & Question);

/**
 * Reads an alert from words in any language and stores it as a proposal. If the words leave something open, or contradict
 * the reading, the person gets a question. For actions.
 * @param kept What the person was asked a moment ago, whose answer the words may be.
 */
export const answerWords = withUsage(
  async (ctx, caller: Caller, choice: Choice, text: string, kept: Kept | null = null): Promise<Answered> => {
    const content = text.toWellFormed().trim();
    // The endpoint takes 300 characters: a longer message asks for no alert.
    if (content.length > 300) return { kind: "none", say: HOW_TO_SAY };
    const facts = await readListFacts(ctx, DAY);
    const names = indexNames(facts);
    const whole = kept === null ? content : kept.template.replace("…", () => content).replace(/%\s?%/, "%");
    const isAlone = whole === content || readLine(content) !== null || readPhrases(content, names) !== null;
    const words = isAlone || whole.length > 300 ? content : whole;
    const replaces = words === content ? undefined : kept?.alertId;
    const store = async (condition: Condition, present: Present): Promise<Proposed> => {
      const proposal = { ...choice, condition, ...(replaces === undefined ? {} : { replaces }) };
      return { alert: await ctx.runMutation(getStore(caller), proposal), present };
    };
    const phrases = readLine(words) === null ? readPhrases(words, names) : null;
    if (phrases !== null) {
      const read = await readConditions(ctx, phrases, words);
      if (!Array.isArray(read)) return { kind: "open", ...read };
      const all: Proposed[] = [];
      for (const { condition, present } of read) all.push(await store(condition, present));
      const [proposed] = all;
      return proposed === undefined || all.length > 1
        ? { kind: "several", all }
        : { kind: "proposed", proposed };
    }
    const reading = await readWords(ctx, words, caller, facts);
    // An answer is asked about once: what does not complete the alert is a message of its own.
    if (reading.kind === "open" && words !== content) return { kind: "none", say: HOW_TO_SAY };
    if (reading.kind !== "read") return reading;
    const { condition, isRestated } = reading;
    const present = await getPresent(ctx, condition);
    const doubt = isRestated
      ? findPriceDoubt(condition, present)
      : findThousandsDoubt(condition, words, present);
    if (doubt !== null) return { kind: "open", ...doubt };
    return { kind: "proposed", proposed: await store(condition, present) };
  },
);

type Read = { condition: Condition; present: Present };

/** The conditions of phrases, or the first question that one leaves open. */
async function readConditions(
  ctx: ActionCtx,
  phrases: readonly Phrase[],
  words: string,
): Promise<Read[] | Question> {
  const read: Read[] = [];
  for (const phrase of phrases) {
    const { token, way, levelUsd, isFromHere } = phrase;
    const isRelative = isFromHere || (way === null && levelUsd !== null);
    const price = isRelative ? await getPrice(ctx, token) : null;
    // “110.000” without a direction is a level near the price, if there is one.
    const isDotted = DOTTED.test(words) && price !== null && levelUsd !== null && way === null;
    const isThousands = isDotted && Math.abs(Math.log((levelUsd * 1_000) / price)) <= Math.log(FAR);
    const meant = isThousands ? { ...phrase, levelUsd: levelUsd * 1_000 } : phrase;
    // A question about one of several would lose the others.
    const found = toCondition(phrases.length > 1 ? { ...meant, hours: meant.hours ?? 24 } : meant, price);
    if (!("kind" in found)) return found;
    const present = await getPresent(ctx, found);
    const doubt = findThousandsDoubt(found, words, present) ?? findPriceDoubt(found, present);
    if (doubt !== null) return doubt;
    read.push({ condition: found, present });
  }
  return read;
}

/** A coin's price in USD; `null` if no source has it now. */
export async function getPrice(ctx: ActionCtx, token: string): Promise<number | null> {
  await learn(ctx, token);
  const query = { subject: `price:${token}`, at: Date.now() };
  const { getLatestObservation } = internal.alerts.observations;
  const latest: Observation | null = await ctx.runQuery(getLatestObservation, query);
  return latest?.value ?? null;
}

/** A caller with only the id of an owned account asks its owner. */
const getStore = ({ credential }: Caller) =>
  credential === "id" ? internal.alerts.model.proposeToOwner : internal.alerts.model.storeProposal;

type AlertAnswer = { text: string } | { condition: Condition };

/** The same for programs, which send words or a condition. @throws AppError `invalid_request` that says what to send instead. */
export const proposeAlert = withUsage(
  async (ctx, caller: Caller, choice: Choice, request: AlertAnswer): Promise<Proposed> => {
    if ("condition" in request) {
      const present = await getPresent(ctx, request.condition);
      return { alert: await ctx.runMutation(getStore(caller), { ...choice, ...request }), present };
    }
    const answered = await answerWords(ctx, caller, choice, request.text);
    if (answered.kind === "proposed") return answered.proposed;
    const isSeveral = answered.kind === "several";
    const doubt: Doubt = isSeveral
      ? { say: "Send each alert on its own.", meant: answered.all.map(({ alert }) => alert.condition) }
      : answered;
    const lines = (doubt.meant ?? []).map((one) => formatCondition(one)).join(", or ");
    const advice = lines !== "" ? ` Say ${lines}.` : answered.kind === "open" ? ` ${HOW_TO_SAY}` : "";
    throw new AppError("invalid_request", `${doubt.say}${advice}`.replace(/\.$/, ""));
  },
);

/** The present value of a condition's subject. @throws AppError `invalid_request` for a coin without a price. */
async function getPresent(ctx: ActionCtx, condition: Condition): Promise<Present> {
  if (condition.kind === "price" || condition.kind === "change") await learn(ctx, condition.token);
  if (condition.kind === "research") await resolveFocus(ctx, condition.token);
  if (isTimed(condition)) return { latest: null, holds: false };
  const watch = toWatch(condition);
  const query = { subject: watch.subject, at: Date.now() };
  const latest: Observation | null = await ctx.runQuery(
    internal.alerts.observations.getLatestObservation,
    query,
  );
  return { latest, holds: latest !== null && isReached(watch, latest.value) };
}

/** A level this many times above or below the current price is probably a typo. */
const FAR = 5;

/** A question about a level of a model's reading that is reached already, or very far away. */
function findPriceDoubt(condition: Condition, { latest, holds }: Present): Doubt | null {
  if (condition.kind !== "price" || latest === null) return null;
  const { token, direction, levelUsd } = condition;
  const now = `${token} is at ${formatDollars(latest.value)}`;
  if (Math.abs(Math.log(levelUsd / latest.value)) > Math.log(FAR))
    return { say: `${now}, and I read ${formatDollars(levelUsd)}. Is that the level?`, meant: [condition] };
  if (!holds) return null;
  const turned = { ...condition, direction: direction === "above" ? ("below" as const) : ("above" as const) };
  return { say: `${now}, so that is true already. Above or below?`, meant: [turned, condition] };
}

/** A point before three digits: a decimal point in English, a separator of thousands in German. */
const DOTTED = /(?<![\d.,])[1-9]\d{0,2}\.\d{3}(?![\d.,]*\d)/;

/** A question about a level that may mean a thousand times as much, unless the level as read is near the price. */
function findThousandsDoubt(condition: Condition, words: string, { latest }: Present): Doubt | null {
  if (condition.kind !== "price" || !DOTTED.test(words)) return null;
  const { levelUsd } = condition;
  if (latest !== null && Math.abs(Math.log(levelUsd / latest.value)) <= Math.log(FAR)) return null;
  const say = `I read ${formatDollars(levelUsd)}. Is that the level?`;
  return { say, meant: [{ ...condition, levelUsd: levelUsd * 1_000 }, condition] };
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
