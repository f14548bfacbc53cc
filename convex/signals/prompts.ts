import * as z from "zod";
import { shortLine, positiveUsd, usdOrNull } from "../figures/answers";
import { buildFacts, type Fact } from "../figures/facts";
import {
  numberSources,
  buildCitationIndex,
  nameModelSource,
  toSource,
  toStatementSource,
  type CitationIndex,
} from "../figures/citations";
import { describeSources, PLACEHOLDER_RULES } from "../figures/evidence";
import { describeLeftovers, resolveFigures } from "../figures/placeholders";
import { indexNames } from "../figures/mentions";
import { getSourceName } from "../figures/publicSources";
import { HOUR, toIso } from "../lib/time";
import type { Candle } from "../providers/data/coinbase";
import type { StructuredQuestion } from "../providers/models/structure";
import type { IssueTask } from "./issue";
import { PROMPT_HOURS, MAX_ENTRY_DISTANCE, MIN_REWARD_TO_RISK, type Proposal } from "./rules";
import type { SignalTotals } from "./shapes";
import type { Signal } from "./tables";

/**
 * The room's prompts, the shapes of the model's answers, and the facts that reasoning and reviews may state: the record's
 * wins, losses and results, and a signal's own levels. Pure.
 */

/** Stored with every signal. A changed prompt needs a new version. */
export const PROMPT_VERSION = "signal-5";

export type MarketContext = {
  /** The known candles of the last 48 hours, oldest first; empty without an answer of the exchange. */
  hours: readonly Candle[];
  /** Percent per hour; if it is positive, long positions pay it. */
  funding: { percent: number; openInterestUsd: number } | null;
};

export type SignalContext = MarketContext &
  IssueTask & {
    nowMs: number;
    price: { priceUsd: number; source: string; observedAt: number };
    costBps: number;
  };

/** The rules of issue, which are in every prompt. */
function describeRules({ costBps }: SignalContext): string {
  return (
    "It is entered at the live price, whatever entry you name. A BUY satisfies " +
    "sl < live price < tp1 <= tp2, a SELL sl > live price > tp1 >= tp2. From the live price, tp1 is at least " +
    `${MIN_REWARD_TO_RISK} times as far as sl, and further than the costs of ${costBps / 100} %. An entry more than ` +
    `${MAX_ENTRY_DISTANCE * 100} % from the live price is refused. A confidence that does not earn the costs at these ` +
    "levels, (way to sl + costs) / (way to sl + way to tp1), is no trade: say HOLD."
  );
}

/** A value that is not a price becomes `null`; `signals/rules` then refuses a BUY or a SELL without levels. */
const level = usdOrNull.describe("USD; null for HOLD");

/** The shape of the model's proposal. `signals/rules` decides whether it may be issued. The levels of a HOLD are null. */
const proposalShape = z
  .object({
    signal: z.enum(["BUY", "SELL", "HOLD"]),
    entry: positiveUsd.describe("USD, within 0.5 % of the live price, which takes its place"),
    tp1: level,
    tp2: level,
    sl: level,
    confidence: z.number().describe("whole percent, 0 to 100: the probability that tp1 is reached before sl"),
    reasoning: shortLine(800).describe("two to four sentences"),
  })
  .overwrite((value) => (value.signal === "HOLD" ? { ...value, tp1: null, tp2: null, sl: null } : value));

/** The question for a token's signal. */
export function buildSignalQuestion(context: SignalContext) {
  const { token, nowMs, price } = context;
  const parts = [
    `Token: ${token}`,
    `Now: ${toIso(nowMs)}`,
    `Live price: $${price.priceUsd} (${price.source}, ${toIso(price.observedAt)})`,
    describeFunding(context),
    describeMoves(context),
    describeHours(context.hours),
    describeRecord(context),
  ];
  return {
    name: "trading_signal",
    system:
      "You forecast short moves of a crypto price on the 1-hour timeframe and are scored by calibration, not by " +
      `boldness. You give one signal, which is open for 6 hours at most. ${describeRules(context)} First choose levels that ` +
      "the typical move over 6 hours can reach: one far beyond it only expires. Then start from the chance: a price " +
      "without direction reaches tp1 before sl with a probability of (way to sl) / (way to sl + way to tp1). Move away " +
      "from that only for what the figures show, rarely by more than 10 points, and never for what your record " +
      "contradicts. Confidence is that probability. Use the figures given and invent none.",
    user: parts.join("\n\n"),
    maxTokens: 1_500,
    shape: proposalShape,
  } satisfies StructuredQuestion<typeof proposalShape>;
}

/** The past moves in the prompt, in hours. */
const MOVES = [1, 6, 24] as const;

/** The moves of the price and its typical move, in percent. */
function describeMoves({ hours, price }: SignalContext): string {
  const closes = hours.map(({ close }) => close);
  const percent = (from: number, to: number) => `${((to / from - 1) * 100).toFixed(2)} %`;
  const since = MOVES.flatMap((back) => {
    const from = closes.at(-1 - back);
    return from === undefined
      ? []
      : [`${percent(from, price.priceUsd)} since ${back} h before the last close`];
  });
  const six = closes.slice(6).map((close, at) => Math.abs(close / (closes[at] ?? close) - 1));
  if (six.length === 0) return "Moves: not known.";
  const typical = 100 * Math.sqrt(six.reduce((sum, move) => sum + move * move, 0) / six.length);
  return `Moves: ${since.join(", ")}. Typical move over 6 hours: ${typical.toFixed(2)} %.`;
}

function describeFunding({ funding }: SignalContext): string {
  if (funding === null) return "Funding: not known.";
  const { percent, openInterestUsd } = funding;
  return `Funding: ${percent} % an hour, paid by longs where positive; open interest $${Math.round(openInterestUsd)} (hyperliquid)`;
}

function describeHours(hours: readonly Candle[]): string {
  if (hours.length === 0) return "Hourly closes: none are known.";
  const lines = hours.map(
    ({ openedAt, close, low, high, volume }) =>
      `${toIso(openedAt + HOUR)} $${close} (low $${low}, high $${high}, volume ${volume})`,
  );
  const missing = PROMPT_HOURS - hours.length;
  const gaps = missing === 0 ? "" : ` (${missing} of ${PROMPT_HOURS} hours are missing)`;
  return `Hourly closes by coinbase, with range and volume${gaps}:\n${lines.join("\n")}`;
}

function describeRecord({ token, record: { wins, losses, reliability } }: SignalContext): string {
  const n = wins + losses;
  if (n === 0) return `Your record on ${token}: nothing has been decided yet.`;
  const rate = ((100 * wins) / n).toFixed(1);
  return `Your record on ${token}: of ${n} decided signals ${wins} were won (${rate} %). ${reliability ?? ""}`;
}

/** The subject of the whole record's facts, in public texts. */
const RECORD = "market";
const BY_RECORD = "the record of this service";

function buildIndex(
  facts: readonly Fact[],
  words: readonly string[],
  now: number,
  focus = "",
): CitationIndex {
  const statements = words.map((says) => toStatementSource({ says, observedAt: now, name: BY_RECORD }));
  const sources = numberSources([...facts.map((fact) => toSource(fact)), ...statements]);
  return buildCitationIndex(sources, now, { names: indexNames(facts), focus });
}

/** The signals of a day or a week by name (`BTC`, `BTC 2026-11-20`); `null` for a signal that was not issued. */
export type Reviewed = readonly { name: string; one: Signal | null }[];

/** The facts that a review may state. */
export function buildReviewIndex(reviewed: Reviewed, totals: SignalTotals, now: number): CitationIndex {
  const by = (subject: string) => ({ subject, observedAt: now, source: BY_RECORD, url: "" });
  const { wins, losses, expired, pending, trades } = totals;
  const { totalPnlPercent: result, totalAfterCostsPercent: resultAfterCosts } = totals;
  const record = buildFacts(by(RECORD), { wins, losses, expired, pending, trades, result, resultAfterCosts });
  const facts = reviewed.flatMap(({ name, one }) => {
    if (one === null) return [];
    const { entry, tp1: target, tp2: farTarget, sl: stop, confidence, pnlPercent = null } = one;
    return buildFacts(by(name), { entry, target, farTarget, stop, confidence, result: pnlPercent });
  });
  const lines = reviewed.map(
    ({ name, one }) => `${name}: ${one === null ? "no signal" : `${one.signal}, ${one.status}`}`,
  );
  return buildIndex([...record, ...facts], lines, now);
}

/** Promises about future trades: a sentence with one is refused. */
const PROMISES =
  /\b(?:certain(?:ly|ty)?|guarant\w+|assur\w+|surely|sure (?:thing|profit|win)|risk-?free|promis\w+|(?:can(?:'|’)?t|cannot|never|nobody|no one)\b.*\blos\w+|will|always|tomorrow)\b/i;

const REVIEW = { isBare: true, refused: PROMISES } as const;

const reviewShape = z.object({ review: shortLine(1_200).describe("two to five sentences") });

/** @param index The citable facts, by number. @param now Epoch ms. */
export function buildReviewQuestion(occasion: string, index: CitationIndex, now: number) {
  return {
    name: "signal_review",
    system:
      "You review the trading signals of a crypto desk for its readers: what worked, what did not, and what it says about " +
      `the method. A few trades prove nothing. You promise nothing. ${PLACEHOLDER_RULES}`,
    user: `${occasion}\n\nFacts:\n${describeSources([...index.facts.values()], now)}`,
    maxTokens: 1_000,
    shape: reviewShape,
    demands: ({ review }) => describeLeftovers(resolveFigures(review, index, REVIEW).leftovers),
    // If the repaired answer also has a wrong figure, its sentence is dropped (`resolveReview`).
    mend: (given) => given,
  } satisfies StructuredQuestion<typeof reviewShape>;
}

/** A review with the record's figures in place of its citations. If no sentence remains, the record's totals replace it. */
export function resolveReview(
  review: string,
  index: CitationIndex,
  { wins, losses, expired }: SignalTotals,
): string {
  const { text } = resolveFigures(review, index, REVIEW);
  return text === "" ? `Wins ${wins}, losses ${losses}, expired ${expired}.` : text;
}

/** The reasoning of a signal with measured figures in place of the model's. Figures of the model alone are marked. */
export function resolveReasoning(
  { reasoning, tp1, tp2, sl, confidence }: Proposal,
  { token: subject, nowMs, price, funding, record: { wins, losses } }: SignalContext,
): string {
  const by = (source: string, observedAt = nowMs) => ({ subject, observedAt, source, url: "" });
  const facts = [
    ...buildFacts(by(price.source, price.observedAt), { price: price.priceUsd }),
    ...buildFacts(by(getSourceName("hyperliquid")), {
      funding: funding?.percent ?? null,
      openInterest: funding?.openInterestUsd ?? null,
    }),
    ...buildFacts(by(BY_RECORD), { trades: wins + losses, wins }),
    ...buildFacts(by(nameModelSource("its own level")), {
      target: tp1,
      farTarget: tp2,
      stop: sl,
      confidence,
    }),
  ];
  const how = { isBare: true, isUncited: true, left: "mark" } as const;
  return resolveFigures(reasoning, buildIndex(facts, [], nowMs, subject), how).text;
}
