import { v } from "convex/values";
import { internal } from "../_generated/api";
import { action, type ActionCtx } from "../_generated/server";
import { gather } from "../evidence/desk";
import type { Fact, Wanted } from "../evidence/tables";
import { sayingOf } from "../evidence/wordings";
import { AppError, failureOf } from "../lib/errors";
import type { Caller } from "../lib/limits/callers";
import { charge } from "../lib/limits/charges";
import { COIN_NAMES } from "../lib/money/tokens";
import { deadlines } from "../lib/outside/deadlines";
import { counted, providerAction } from "../lib/outside/providerCalls";
import { dollars, wellFormed } from "../lib/text/strings";
import { DAY, HOUR, MINUTE, roundedNow } from "../lib/time";
import type { Paragraph } from "../messenger/format";
import { askForCandles, askForDay } from "../providers/data/exchanges";
import type { Doubt } from "./cards";
import { isAlwaysSampled, subjectOf, type Condition } from "./grammar";
import { replayOf, vReplay, type Replay } from "./history";
import { vAlert, type Alert } from "./model";
import { readWords } from "./reading";
import { HOW_TO_SAY, lineOf, SAID } from "./words";

/** Reads alerts from people's words, and collects what only alerts need. */

/** The longest request. */
const MAX_ASKED = 300;

export type Proposed = { alert: Alert; replay: Replay };

/** What a person, or a program, chooses besides the condition. `until` is epoch ms. */
type Choice = { userId: string; once?: boolean | undefined; until?: number | undefined };
/** `isCounted`: whether a call of the model is counted already. */
type AlertRequest = Choice & { caller: Caller; text: string; isCounted?: boolean };

/** The result of reading a person's words: a proposal, an answer to the person, or that the words ask for no alert. */
export type Answered =
  | { kind: "proposed"; proposed: Proposed }
  | { kind: "none" | "unread"; say: string }
  | ({ kind: "open" } & Doubt);

/**
 * Reads an alert from words in any language and keeps it as a proposal, with when it would have fired. If the words
 * leave something open, or do not agree with what was read, the person is asked. For actions.
 */
export const answerWords = counted(
  async (ctx, { caller, text, isCounted = false, ...choice }: AlertRequest): Promise<Answered> => {
    const words = wellFormed(text).trim();
    if (words.length > MAX_ASKED) return { kind: "none", say: SAID.none };
    const reading = await readWords(ctx, words, { caller, isCounted, facts: await listed(ctx, DAY) });
    if (reading.kind !== "line") return reading;
    const { readBy } = reading;
    const { condition } = reading.line;
    await learnPrice(ctx, condition);
    const replay = await replayOf(ctx, condition);
    const doubt = readBy === "model" ? doubtByPrice(condition, replay) : null;
    if (doubt !== null) return { kind: "open", ...doubt };
    return {
      kind: "proposed",
      proposed: await keep(ctx, { asked: words, condition, readBy }, choice, replay),
    };
  },
);

/**
 * The same for callers who wait for a proposal alone.
 * @throws AppError `invalid_request`, with advice on what to say; `rate_limited` if the caller has asked too often.
 */
export async function proposeAlert(ctx: ActionCtx, request: AlertRequest): Promise<Proposed> {
  const { length } = request.text.trim();
  if (length === 0 || length > MAX_ASKED)
    throw new AppError("invalid_request", `text must be 1 to ${MAX_ASKED} characters`);
  const answered = await answerWords(ctx, request);
  if (answered.kind === "proposed") return answered.proposed;
  const meant = answered.kind === "open" ? (answered.meant ?? []) : [];
  const lines = meant.map((one) => lineOf(one)).join(", or ");
  const advice = lines !== "" ? ` Say ${lines}.` : answered.kind === "open" ? ` ${HOW_TO_SAY}` : "";
  throw new AppError("invalid_request", `${answered.say}${advice}`.replace(/\.$/, ""));
}

/** Stores a program's condition as a proposal. @throws AppError `invalid_request` for a coin without a price. */
export const proposeCondition = counted(
  async (ctx, { condition, ...choice }: Choice & { condition: Condition }): Promise<Proposed> => {
    await learnPrice(ctx, condition);
    const read = { asked: lineOf(condition), condition, readBy: "grammar" as const };
    return keep(ctx, read, choice, await replayOf(ctx, condition));
  },
);

async function keep(
  ctx: ActionCtx,
  read: { asked: string; condition: Condition; readBy: "grammar" | "model" },
  { userId, once, until }: Choice,
  replay: Replay,
): Promise<Proposed> {
  const alert: Alert = await ctx.runMutation(internal.alerts.proposals.keep, {
    ...read,
    userId,
    ...(once === true ? { once } : {}),
    ...(until === undefined ? {} : { expiresAt: until }),
  });
  return { alert, replay };
}

/**
 * Makes sure that a coin's price is known, and those of its last days.
 * @throws AppError `invalid_request` for a coin without a price.
 */
async function learnPrice(ctx: ActionCtx, condition: Condition): Promise<void> {
  if (condition.kind !== "price" && condition.kind !== "change") return;
  const { token } = condition;
  if (isAlwaysSampled(token)) return learn(ctx, token);
  const isPriced = async (freshMs: number) =>
    (await listed(ctx, freshMs)).some(({ subject, kind }) => subject === token && kind === "price");
  if ((await isPriced(DAY)) || (await isPriced(HOUR))) return learn(ctx, token);
  throw new AppError(
    "invalid_request",
    `Alerts on prices are of the 100 largest coins, and ${token} is none of them just now`,
  );
}

/** Nobody waits for a price that is this many times another one, or almost nobody. */
const FAR = 5;

/** Asks about a level that a model has read and that is reached already, or very far away. */
function doubtByPrice(condition: Condition, { latest, holds }: Replay): Doubt | null {
  if (condition.kind !== "price" || latest === null) return null;
  const { token, direction, levelUsd } = condition;
  const now = `${token} is at ${dollars(latest.value)}`;
  if (Math.abs(Math.log(levelUsd / latest.value)) > Math.log(FAR))
    return { say: `${now}, and I read ${dollars(levelUsd)}. Is that the level?`, meant: [condition] };
  if (!holds) return null;
  const turned = { ...condition, direction: direction === "above" ? ("below" as const) : ("above" as const) };
  return { say: `${now}, so that is true already. Above or below?`, meant: [turned, condition] };
}

const LIST = { collector: "markets", subject: "" } as const;
/** A week, which is the longest time that a change may cover, and the hour in which it begins. */
const EARLIER_MS = 14 * DAY + HOUR;
/** If a coin has been known for this long, no earlier prices are asked for. */
const KNOWN_MS = 7 * DAY;

/** The facts of the largest coins, as old as they may be. */
async function listed(ctx: ActionCtx, freshMs: number): Promise<Fact[]> {
  if (freshMs < DAY) await gather(ctx, [LIST], { freshMs, waitMs: deadlines.grounding });
  const query = { wanted: [LIST], withinMs: Math.max(freshMs, MINUTE), at: roundedNow() };
  return (await ctx.runQuery(internal.evidence.collections.latest, query)).facts;
}

/** Takes a sample of each of these coins: from the list of coins, which is one answer for all, otherwise from an exchange. */
export async function sampleCoins(ctx: ActionCtx, tokens: readonly string[]): Promise<void> {
  const facts = await listed(ctx, 4 * MINUTE);
  for (const token of tokens) {
    const price = facts.find(({ subject, kind }) => subject === token && kind === "price");
    const sample =
      typeof price?.value === "number"
        ? { priceUsd: price.value, source: "coingecko" as const, observedAt: price.observedAt }
        : await traded(ctx, token);
    if (sample !== null) await ctx.runMutation(internal.prices.samples.store, { token, ...sample });
  }
}

async function traded(ctx: ActionCtx, token: string) {
  const day = await orNothing(askForDay(ctx, token, deadlines.price));
  if (day === null) return null;
  return { priceUsd: day.value.last, source: day.source, observedAt: day.value.observedAt };
}

/** Makes sure that a coin's price is known now and for the two weeks before, as far as an exchange has it. */
async function learn(ctx: ActionCtx, token: string): Promise<void> {
  if (!isAlwaysSampled(token)) await sampleCoins(ctx, [token]);
  const now = Date.now();
  const first: number | null = await ctx.runQuery(internal.prices.samples.first, { token });
  if (first === null || first <= now - KNOWN_MS) return;
  const range = { interval: "hour" as const, from: now - EARLIER_MS, to: now };
  const candles = await orNothing(askForCandles(ctx, token, range, deadlines.price));
  if (candles === null) return;
  const closes = candles.value.map(({ openedAt, close }) => ({ at: openedAt + HOUR, priceUsd: close }));
  const earlier = { token, source: candles.source, closes: closes.filter(({ at }) => at <= now) };
  await ctx.runMutation(internal.prices.samples.storeEarlier, earlier);
}

/** What no source has stays unknown; the alert works without it. */
async function orNothing<Value>(answer: Promise<Value>): Promise<Value | null> {
  try {
    return await answer;
  } catch (error) {
    if (failureOf(error) === null) throw error;
    return null;
  }
}

/** The kinds of a coin's facts that say how it moves. */
const REASONS = ["dayChange", "dayHigh", "dayLow", "volume24h", "funding", "openInterest"] as const;
const HEADLINES = 3;

/** What was known in the hour in which an alert of the user last fired: facts of its coin, and headlines, with sources. */
export const whyCard = counted(
  async (ctx, fired: { userId: string; alertId: string }): Promise<Paragraph[]> => {
    const firing = await ctx.runQuery(internal.alerts.proposals.lastFiring, fired);
    const facts = firing === null ? [] : await reasonsFor(ctx, firing);
    if (facts.length === 0) return [["Nothing was collected in that hour that says why."]];
    const lines = facts.flatMap((fact): Paragraph => [
      `\n${sayingOf(fact)} `,
      { words: fact.source, href: fact.url },
    ]);
    return [[{ bold: "What was known in that hour" }, ...lines]];
  },
);

type Firing = { token: string | null; observedAt: number };

async function reasonsFor(ctx: ActionCtx, { token, observedAt }: Firing): Promise<Fact[]> {
  const wanted: Wanted[] = [
    ...(token === null ? [] : [{ collector: "day" as const, subject: token }]),
    LIST,
    { collector: "perpetuals", subject: "" },
    { collector: "news", subject: "" },
  ];
  if (Date.now() - observedAt < HOUR)
    await gather(ctx, wanted, { freshMs: HOUR, waitMs: deadlines.grounding });
  const of = { wanted, withinMs: HOUR, at: Math.min(roundedNow(), observedAt + HOUR) };
  const { facts } = await ctx.runQuery(internal.evidence.collections.latest, of);
  const own = facts.filter(({ subject, kind }) => subject === token && REASONS.some((one) => one === kind));
  const known: Readonly<Record<string, readonly string[]>> = COIN_NAMES;
  const names = token === null ? [] : [token, ...(known[token] ?? [])];
  const headlines = facts
    .filter(({ kind }) => kind === "headline")
    .map((fact) => ({ fact, isNamed: names.some((name) => String(fact.value).includes(name)) }))
    .toSorted((a, b) => Number(b.isNamed) - Number(a.isNamed));
  return [...own, ...headlines.slice(0, HEADLINES).map(({ fact }) => fact)];
}

/** Collects what only alerts need, and compares it. One answer has the rates of all coins, and one their prices. */
export const observe = providerAction({ subjects: v.array(v.string()) }, async (ctx, { subjects }) => {
  const observed = subjects.map(subjectOf);
  // A failure is noted where facts are collected; the next tick asks again.
  if (observed.some(({ kind }) => kind === "funding"))
    await gather(ctx, [{ collector: "perpetuals", subject: "" }], { freshMs: 9 * MINUTE });
  const coins = observed.flatMap((one) => (one.kind === "price" || one.kind === "change" ? [one.token] : []));
  if (coins.length > 0) await sampleCoins(ctx, [...new Set(coins)]);
  for (const subject of subjects) await ctx.runMutation(internal.alerts.watch.compare, { subject });
});

/**
 * Reads an alert from the words of the web application's signed-in user, and keeps it as a proposal. If the words are
 * not a line of the grammar, a model is asked.
 * @throws AppError `invalid_request`, with advice on what to say; `rate_limited`.
 */
export const propose = action({
  args: { text: v.string() },
  returns: v.object({ alert: vAlert, replay: vReplay }),
  handler: counted(async (ctx, { text }: { text: string }): Promise<Proposed> => {
    const userId: string = await ctx.runQuery(internal.users.access.mine, {});
    const caller = { userId, address: null, signedIn: true };
    await charge(ctx, "alert", caller);
    return proposeAlert(ctx, { caller, userId, text });
  }),
});
