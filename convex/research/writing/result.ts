import { removeCitations, trimTrailing } from "../../lib/text/strings";
import type { MarketOutlook, Texts } from "../tables";

/** The contract of a ResearchResult: requirements on the writer, and rules for repairs. */

export const OUTLOOKS = ["bullish", "bearish", "neutral"] as const satisfies readonly MarketOutlook[];

export const MARKS: Record<MarketOutlook, string> = { bullish: "🟢", bearish: "🔴", neutral: "🟡" };

export const MIN_WORDS = 400;
export const MAX_WORDS = 600;
export const SUMMARY_LIMIT = 100;

/**
 * The problems of a result, for the repair turn; `null` if it keeps the contract.
 * @param final Its analysis and summary in their final form.
 */
export function findResultProblems(
  result: Texts,
  final = { analysis: result.fullAnalysis, summary: result.shortSummary },
): string | null {
  const problems: string[] = [];
  const wordCount = countWords(final.analysis);
  if (wordCount < MIN_WORDS || wordCount > MAX_WORDS) {
    problems.push(`fullAnalysis has ${wordCount} words and must have ${MIN_WORDS} to ${MAX_WORDS}`);
  }
  const mark = MARKS[result.marketOutlook];
  if (!result.shortSummary.startsWith(mark)) problems.push(`shortSummary must start with ${mark}`);
  if ([...final.summary].length > SUMMARY_LIMIT) {
    problems.push(`shortSummary must have at most ${SUMMARY_LIMIT} characters`);
  }
  if (result.impacts.length === 0) problems.push("impacts must not be empty");
  if (result.impacts.some(({ confidence }) => confidence < 0 || confidence > 1)) {
    problems.push("every confidence must lie between 0 and 1");
  }
  return problems.length === 0 ? null : problems.join("; ");
}

/**
 * Converts confidences to the contract's scale. Lengths are repaired later, when the final text is known.
 * @returns `null` without impacts, or with confidences on an unknown scale: nothing can be invented.
 */
export function mendResult(result: Texts): Texts | null {
  const confidences = toFractions(result.impacts.map(({ confidence }) => confidence));
  if (result.impacts.length === 0 || confidences === null) return null;
  return {
    ...result,
    impacts: result.impacts.map((impact, i) => ({ ...impact, confidence: confidences[i] ?? 0 })),
  };
}

/** The number of words without citations. */
export function countWords(prose: string): number {
  return removeCitations(prose)
    .split(/[ \t\n]+/)
    .filter((word) => /[^\p{P}\s]/u.test(word)).length;
}

/** Whether the analysis misses the contract's lower bound: accepted for shift and on-demand reports. */
export function isTooShort(result: { fullAnalysis: string }): boolean {
  return countWords(result.fullAnalysis) < MIN_WORDS;
}

/** The number of words by which an analysis is too long. */
export function countExcessWords(prose: string): number {
  return Math.max(0, countWords(prose) - MAX_WORDS);
}

/** A summary that begins with the outlook's mark, cut to its length without cutting a figure. */
export function markSummary(summary: string, outlook: MarketOutlook): string {
  const bare = summary.replace(/^[\s\p{Extended_Pictographic}\u{FE0F}\u{200D}]+/u, "").trim();
  const points = [...`${MARKS[outlook]} ${bare}`.trimEnd()];
  if (points.length <= SUMMARY_LIMIT) return points.join("");
  const kept = points.slice(0, SUMMARY_LIMIT - 1).join("");
  const space = points[SUMMARY_LIMIT - 1] === " " ? kept.length : kept.lastIndexOf(" ");
  // A word longer than the summary may be cut, unless it is a figure.
  const end = space > 2 || /\d/.test(kept) ? Math.max(space, MARKS[outlook].length) : kept.length;
  const whole = kept.slice(0, end);
  const open = whole.lastIndexOf("(");
  const closed = open > whole.lastIndexOf(")") ? whole.slice(0, open) : whole;
  return `${trimTrailing(closed, " ,;:–—-")}…`;
}

/** A text shortened by some of its last words; it ends with a sentence if one ends in its second half. */
export function shortenProse(prose: string, over: number): string {
  if (over === 0) return prose;
  const limit = prose.split(/\s+/).length - over;
  const kept = new RegExp(`^\\s*(?:\\S+\\s+){${Math.max(0, limit - 1)}}\\S+`).exec(prose)?.[0] ?? prose;
  const end = Math.max(
    ...[". ", "! ", "? ", "] ", ".\n", "!\n", "?\n"].map((stop) => kept.lastIndexOf(stop)),
  );
  if (/[.!?]$/.test(kept)) return kept;
  return end > kept.length / 2 ? kept.slice(0, end + 1) : `${kept}…`;
}

/** Scores of up to a hundred, or fractions, as fractions; `null` if they are on no known scale. */
function toFractions(scores: readonly number[]): number[] | null {
  const highest = Math.max(...scores);
  if (highest > 100 || scores.some((score) => score < 0)) return null;
  if (highest <= 1) return [...scores];
  // A score of 7 could be of 10 or of 100.
  return highest > 10 ? scores.map((score) => score / 100) : null;
}
