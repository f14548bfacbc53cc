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
 * A model's text without links and addresses that are not in `known`: the caller's words, and what the service itself
 * knows. A Markdown link keeps its words.
 */
export function ownWords(text: string, known: string): string {
  const given = known.toLowerCase();
  const unless = (gone: string) => (match: string) => {
    const bare = match.toLowerCase().replace(/(?<![.,;:!?])[.,;:!?]+$/, "");
    return given.includes(bare) ? match : gone + match.slice(bare.length);
  };
  return text
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

/** `ownWords` for every text in a JSON value; keys stay as they are. */
export function inOwnWords(value: unknown, known: string): unknown {
  if (typeof value === "string") return ownWords(value, known);
  if (Array.isArray(value)) return value.map((item: unknown) => inOwnWords(item, known));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inOwnWords(item, known)]));
}
