import { v } from "convex/values";
import { internal } from "../_generated/api";
import { action, type ActionCtx } from "../_generated/server";
import { gather } from "../evidence/desk";
import type { Fact, Wanted } from "../evidence/tables";
import { COIN_NAMES } from "../lib/money/tokens";
import { deadlines } from "../lib/outside/deadlines";
import { AppError } from "../lib/errors";
import type { Caller } from "../lib/limits/callers";
import { charge } from "../lib/limits/charges";
import { counted, providerAction } from "../lib/outside/providerCalls";
import { dollars, wellFormed } from "../lib/text/strings";
import { DAY, HOUR, MINUTE, roundedNow } from "../lib/time";
import { learn, listed, sampleCoins } from "./history/coins";
import { replayOf, vReplay, type Replay } from "./history/replays";
import { isAlwaysSampled, subjectOf } from "./history/subjects";
import type { Condition } from "./language/conditions";
import { HOW_TO_SAY, lineOf } from "./language/wordings";
import { doubtfulAmounts } from "./language/quantities";
import { turned, type Doubt } from "./language/agreement";
import { readWords, SAID } from "./language/reading";
import { vAlert, type Alert } from "./model";

/** Reads alerts from people's words, and collects what only alerts need. */

/** The longest request. */
const MAX_ASKED = 300;

export type Proposed = { alert: Alert; replay: Replay };

/** `isCounted`: whether a call of the model is counted already. */
type AlertRequest = { caller: Caller; userId: string; text: string; isCounted?: boolean };

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
  async (ctx, { caller, userId, text, isCounted = false }: AlertRequest): Promise<Answered> => {
    const words = wellFormed(text).trim();
    if (words.length > MAX_ASKED) return { kind: "none", say: SAID.none };
    const reading = await readWords(ctx, words, { caller, isCounted, facts: await listed(ctx, DAY) });
    if (reading.kind === "open") return reading;
    if (reading.kind !== "line") return { kind: reading.kind, say: SAID[reading.kind] };
    const { line, readBy } = reading;
    const { condition } = line;
    await learnPrice(ctx, condition);
    const replay = await replayOf(ctx, condition);
    const doubt = doubtByPrice(words, condition, replay, readBy);
    if (doubt !== null) return { kind: "open", ...doubt };
    return {
      kind: "proposed",
      proposed: await keep(ctx, { userId, asked: words, condition, readBy }, replay),
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
  const advice = answered.kind === "open" ? openWords(answered) : answered.say;
  throw new AppError("invalid_request", advice.replace(/\.$/, ""));
}

/** Stores a program's condition as a proposal. @throws AppError `invalid_request` for a coin without a price. */
export const proposeCondition = counted(
  async (ctx, { userId, condition }: { userId: string; condition: Condition }): Promise<Proposed> => {
    await learnPrice(ctx, condition);
    const proposal = { userId, asked: lineOf(condition), condition, readBy: "grammar" as const };
    return keep(ctx, proposal, await replayOf(ctx, condition));
  },
);

type Proposal = { userId: string; asked: string; condition: Condition; readBy: "grammar" | "model" };

async function keep(ctx: ActionCtx, proposal: Proposal, replay: Replay): Promise<Proposed> {
  const alert: Alert = await ctx.runMutation(internal.alerts.proposals.keep, proposal);
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

/** The question, with possible answers. */
function openWords({ say, meant = [] }: Doubt): string {
  return meant.length === 0
    ? `${say} ${HOW_TO_SAY}`
    : `${say} Say ${meant.map((one) => lineOf(one)).join(", or ")}.`;
}

/**
 * Checks a reading against the price: if a number can be read in two ways (100.000), the one that is nearer to the
 * price is meant, and hardly anybody wants an alert on a level that is already reached.
 */
function doubtByPrice(
  words: string,
  condition: Condition,
  { latest, holds }: Replay,
  readBy: "grammar" | "model",
): Doubt | null {
  if (condition.kind !== "price" || latest === null) return null;
  const away = (value: number) => Math.abs(Math.log(value / latest.value));
  const nearer = doubtfulAmounts(words).find((value) => away(value) < away(condition.levelUsd));
  if (nearer !== undefined)
    return { say: "Which amount is it?", meant: [{ ...condition, levelUsd: nearer }, condition] };
  if (!holds || readBy === "grammar") return null;
  const say = `${condition.token} is at ${dollars(latest.value)}, so that is true already. Above or below?`;
  return { say, meant: [turned(condition), condition] };
}

/** The kinds of a coin's facts that say how it moves. */
const REASONS = ["dayChange", "dayHigh", "dayLow", "volume24h", "funding", "openInterest"] as const;
const HEADLINES = 3;

/** The facts of the hour in which an alert of the user last fired: those of its coin, and the headlines. */
export const reasonsFor = counted(
  async (ctx, fired: { userId: string; alertId: string }): Promise<Fact[]> => {
    const firing = await ctx.runQuery(internal.alerts.proposals.lastFiring, fired);
    if (firing === null) return [];
    const { token, observedAt } = firing;
    const wanted: Wanted[] = [
      ...(token === null ? [] : [{ collector: "day" as const, subject: token }]),
      { collector: "markets", subject: "" },
      { collector: "perpetuals", subject: "" },
      { collector: "news", subject: "" },
    ];
    if (Date.now() - observedAt < HOUR)
      await gather(ctx, wanted, { freshMs: HOUR, waitMs: deadlines.grounding });
    const of = { wanted, withinMs: HOUR, at: Math.min(roundedNow(), observedAt + HOUR) };
    const { facts } = await ctx.runQuery(internal.evidence.collections.latest, of);
    const own = facts.filter(({ subject, kind }) => subject === token && REASONS.some((one) => one === kind));
    const names = token === null ? [] : [token, ...namesOfCoin(token)];
    const headlines = facts
      .filter(({ kind }) => kind === "headline")
      .map((fact) => ({ fact, isNamed: names.some((name) => String(fact.value).includes(name)) }))
      .toSorted((a, b) => Number(b.isNamed) - Number(a.isNamed));
    return [...own, ...headlines.slice(0, HEADLINES).map(({ fact }) => fact)];
  },
);

function namesOfCoin(token: string): readonly string[] {
  const names: Readonly<Record<string, readonly string[]>> = COIN_NAMES;
  return names[token] ?? [];
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
