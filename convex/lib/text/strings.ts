/** Texts that can be stored and sent, and operations on their ends that regular expressions would do in quadratic time. */

/** The beginning of a text, at most `max` long, without cutting a character in half. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}

/** The text without any of these characters at its end. */
export function trimTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** A citation as readers see it: `[1]`, `[1, 2]`. */
export const CITATION = / ?\[\d{1,3}(?:, \d{1,3})*\]/g;

/** A text without its citations, for where its sources are not listed. */
export function removeCitations(text: string): string {
  return text.replace(CITATION, "");
}

/** `1 day`, `5 days`. */
export function formatCount(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** What clients send for a field that they leave out: `null`, or its name in a programming language. */
const NOTHING: ReadonlySet<unknown> = new Set([null, "null", "undefined", "None", "NaN", "[object Object]"]);

export function isNothing(value: unknown): boolean {
  return NOTHING.has(typeof value === "string" ? value.trim() : value);
}

/** The refusal of a whole number beyond 2^53, as the end of the sentence "<field> …". */
export const TOO_LARGE =
  "is too large for a JSON number, which loses its last digits: send it as text, in quotes";
