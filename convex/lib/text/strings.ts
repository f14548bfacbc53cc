import { asMeant } from "./markup";

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

/**
 * A model's text reaches answers and pages, and its sources (posts and headlines such as "claim at …") may have been
 * written to get there. So links and addresses are removed, unless the caller named them. A bare name (`evil.tech`) is
 * only words in an answer; cards break it when they are rendered (`messenger/format`).
 */

const LINK = /(?:\b[a-z][a-z0-9+.-]{1,20}:\/\/|\bwww\.)[^\s"'<>()[\]{}|\\^`]*/gi;
/** Addresses and hashes of EVM chains, and addresses of Bitcoin. */
const ADDRESS = /\b(?:0x[0-9a-f]{40,}|bc1[0-9a-z]{20,80})\b/gi;
/** Base58, as in addresses of Solana and older ones of Bitcoin: longer than any word of a language. */
const BASE58 = /\b[1-9A-HJ-NP-Za-km-z]{26,90}\b/g;

const LINK_GONE = "(link removed)";
const ADDRESS_GONE = "(address removed)";

/**
 * A model's text as it was meant, without links and addresses that are not in `context`: the caller's words, and what the service itself
 * knows. A Markdown link keeps its words.
 */
export function removeForeignLinks(written: string, context: string): string {
  const given = context.toLowerCase();
  const unless = (gone: string) => (match: string) => {
    const bare = match.toLowerCase().replace(/(?<![.,;:!?])[.,;:!?]+$/, "");
    return given.includes(bare) ? match : gone + match.slice(bare.length);
  };
  return asMeant(written)
    .replace(/\[([^[\]]{1,300})\]\(([^()\s]{1,2000})\)/g, (whole, words: string, target: string) =>
      given.includes(target.toLowerCase()) ? whole : words,
    )
    .replace(LINK, unless(LINK_GONE))
    .replace(ADDRESS, unless(ADDRESS_GONE))
    .replace(BASE58, (word) => (isMixed(word) ? unless(ADDRESS_GONE)(word) : word));
}

/** Whether digits, capitals and small letters are mixed. */
function isMixed(word: string): boolean {
  return /\d/.test(word) && /[A-Z]/.test(word) && /[a-z]/.test(word);
}

/** `removeForeignLinks` for every text in a JSON value; keys stay as they are. */
export function removeForeignLinksDeep(value: unknown, context: string): unknown {
  if (typeof value === "string") return removeForeignLinks(value, context);
  if (Array.isArray(value)) return value.map((item: unknown) => removeForeignLinksDeep(item, context));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, removeForeignLinksDeep(item, context)]),
  );
}
