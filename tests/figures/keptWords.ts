/** The words of a text, and how many of them remain: what a writer loses because figures are in no fact. Pure. */

const SEGMENTER = new Intl.Segmenter("und", { granularity: "word" });

/** Scales and units go with their figure: code writes its own. */
const UNITS =
  /(?<=\p{N}[^\p{L}]{0,3}(?:\p{L}+\.? (?:de )?)?)(?:millions?|billions?|trillion|percent|prozent|usd|mi[ol]\.?|mrd\.?|milliards?(?: de)?|millones(?: de)?|milhões|bilhões|bps|basis points?|cents?|dollars?|dólares|de dollars|de dólares|gwei|bn|美元|[万亿]+(?:美元)?|(?<=\p{N} ?)[km])(?!\p{L})/giu;

/** "Ten percent" is a figure as well. */
const SPELT = /\p{L}+(?: a)? (?:percent|Prozent)(?!\p{L})/gu;

/** The words of a text without figures, citations and slots, in their order. */
export function wordsOf(text: string): string[] {
  const bare = text
    .replace(/\[[^\]]*\]|\{[^}]*\}/g, " ")
    .replace(UNITS, " ")
    .replace(SPELT, " ")
    .replace(/US\$/g, "$");
  return [...SEGMENTER.segment(bare)].flatMap(({ segment, isWordLike }) =>
    isWordLike === true && !/\p{N}/u.test(segment) ? [segment.toLowerCase()] : [],
  );
}

/** How many of the words are in the other text, in the same order. */
export function kept(words: readonly string[], within: readonly string[]): number {
  let row = new Array<number>(within.length + 1).fill(0);
  for (const word of words) {
    const next = [0];
    for (const [index, other] of within.entries()) {
      next.push(word === other ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
