import * as z from "zod";
import {
  citableLine,
  counted,
  ledgerOf,
  modelNamed,
  SLOT_RULES,
  sourceOfFact,
  sourceOfWords,
  type Ledger,
} from "../lib/figures/ledger";
import { line } from "../lib/answers/parts";
import { factsOf } from "../lib/facts";
import { namesOf } from "../lib/money/names";
import { leftoverProblem, settle } from "../lib/figures/settle";
import type { Fact } from "../lib/facts";
import { sourceName } from "../lib/publicSources";
import type { Question } from "../providers/models/structure";
import type { SignalContext } from "./prompts";
import type { Proposal } from "./rules";
import type { Standing } from "./shapes";
import type { Signal } from "./tables";

/**
 * What reviews and the reasoning of a signal may state: wins, losses and results as facts of the record, and the
 * signal's own levels. Pure.
 */

/** The subject of the whole record, in the words of the desk's readers. */
const RECORD = "market";
const BY_RECORD = "the record of this service";

function recordFacts(standing: Standing, observedAt: number): Fact[] {
  const { wins, losses, expired, pending, trades } = standing;
  const by = { subject: RECORD, observedAt, source: BY_RECORD, url: "" };
  const { totalPnlPercent: result, totalAfterCostsPercent: resultAfterCosts } = standing;
  return factsOf(by, { wins, losses, expired, pending, trades, result, resultAfterCosts });
}

/** @param subject The token; with its day if there are several. */
function signalFacts(subject: string, one: Signal, observedAt: number): Fact[] {
  const by = { subject, observedAt, source: BY_RECORD, url: "" };
  const { entry, tp1: target, tp2: farTarget, sl: stop, confidence, pnlPercent: result } = one;
  const levels = { entry, target, farTarget, stop, confidence };
  return factsOf(by, result === undefined ? levels : { ...levels, result });
}

function ledgerWith(facts: readonly Fact[], words: readonly string[], now: number, focus = ""): Ledger {
  const statements = words.map((says) => sourceOfWords({ says, observedAt: now, name: BY_RECORD }));
  const sources = counted([...facts.map((fact) => sourceOfFact(fact)), ...statements]);
  return ledgerOf(sources, now, { names: namesOf(facts), focus });
}

/** The signals of a day or a week by their names; `null` for one that was not issued. */
export type Reviewed = readonly { name: string; one: Signal | null }[];

/** The facts that a review may state. */
export function reviewLedger(reviewed: Reviewed, standing: Standing, now: number): Ledger {
  const facts = reviewed.flatMap(({ name, one }) => (one === null ? [] : signalFacts(name, one, now)));
  const words = reviewed.map(
    ({ name, one }) => `${name}: ${one === null ? "no signal" : `${one.signal}, ${one.status}`}`,
  );
  return ledgerWith([...recordFacts(standing, now), ...facts], words, now);
}

/** Words about future trades, of which nobody knows the results. */
const PROMISES =
  /\b(?:certain(?:ly|ty)?|guarant\w+|assur\w+|surely|sure (?:thing|profit|win)|risk-?free|promis\w+|(?:can(?:'|’)?t|cannot|never|nobody|no one)\b.*\blos\w+|will|always|tomorrow)\b/i;

const REVIEW = { isBare: true, refused: PROMISES } as const;

const reviewShape = z.object({ review: line(1_200).describe("two to five sentences") });

/** @param ledger What the review may state, by number. */
export function reviewQuestion(occasion: string, ledger: Ledger) {
  const facts = [...ledger.facts.values()].map(citableLine).join("\n");
  return {
    name: "signal_review",
    system:
      "You review the trading signals of a crypto desk for its readers: what worked, what did not, and what it says about " +
      `the method. A few trades prove nothing. You promise nothing. ${SLOT_RULES}`,
    user: `${occasion}\n\nFacts:\n${facts}`,
    maxTokens: 1_000,
    shape: reviewShape,
    demands: ({ review }) => leftoverProblem(settle(review, ledger, REVIEW).leftovers),
    // A wrong figure in the second answer is left out with its sentence.
    mend: (given) => given,
  } satisfies Question<typeof reviewShape>;
}

/** A review as readers get it: its figures come from the record. If no sentence stays, it is made from the record. */
export function settledReview(review: string, ledger: Ledger, { wins, losses, expired }: Standing): string {
  const { text } = settle(review, ledger, REVIEW);
  return text === "" ? `Wins ${wins}, losses ${losses}, expired ${expired}.` : text;
}

/**
 * The reasoning of a signal, with measured figures printed as they were measured; figures that only the model has are
 * marked.
 */
export function settledReasoning(
  { reasoning, tp1, tp2, sl, confidence }: Proposal,
  { token: subject, nowMs, price, funding, record: { wins, losses } }: SignalContext,
): string {
  const by = (source: string, observedAt = nowMs) => ({ subject, observedAt, source, url: "" });
  const facts = [
    ...factsOf(by(price.source, price.observedAt), { price: price.priceUsd }),
    ...(funding === null
      ? []
      : factsOf(by(sourceName("hyperliquid")), {
          funding: funding.percent,
          openInterest: funding.openInterestUsd,
        })),
    ...factsOf(by(BY_RECORD), { trades: wins + losses, wins }),
    ...factsOf(by(modelNamed("its own level")), { target: tp1, farTarget: tp2, stop: sl, confidence }),
  ];
  const how = { isBare: true, isUncited: true, left: "mark" } as const;
  return settle(reasoning, ledgerWith(facts, [], nowMs, subject), how).text;
}
