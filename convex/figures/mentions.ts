import { COIN_NAMES, isMajor, resolveSymbol } from "../lib/money/coins";
import { groupBy } from "../lib/objects";
import { normalizeText } from "../lib/text/sentences";

/** Finds the coins and other subjects that a text mentions, by symbol and name. Pure. */

export type Names = {
  /** By the name as it is written. */
  subjects: ReadonlyMap<string, string>;
  /** The names by their first character, the longest first. */
  byFirst: ReadonlyMap<string, readonly string[]>;
  /** Names of sources, some of which are also names of coins. */
  places: ReadonlySet<string>;
};

/** Symbols that are also ordinary words: only `$AI` is a coin. */
const WORDS = new Set(["USD", "EUR", "US", "UK", "EU", "AI", "OI", "ETF", "SEC", "IP", "AM", "PM", "UTC"]);
const NO_NAMES = new Set(["market", "news", ""]);
/** Names of the majors in other scripts. */
const MAJORS_ABROAD = {
  BTC: [
    "比特币",
    "比特幣",
    "大饼",
    "ビットコイン",
    "비트코인",
    "биткоин",
    "биткойн",
    "биток",
    "битка",
    "bitcóin",
    "بيتكوين",
    "बिटकॉइन",
  ],
  ETH: ["以太坊", "以太币", "イーサリアム", "イーサ", "이더리움", "эфир", "إيثيريوم", "इथेरियम"],
  SOL: ["索拉纳", "ソラナ", "솔라나", "солан", "سولانا", "सोलाना"],
} as const;

/** A known fact about a subject; with kind `name`, its name. */
type NamedFact = { subject: string; kind: string; value: string | number; source?: string };

/** Indexes all names of all subjects. @param facts Every fact of the moment, cited or not: a text may mention any subject. */
export function indexNames(facts: readonly NamedFact[]): Names {
  const subjects = new Map<string, string>();
  const add = (name: string, subject: string) => {
    if (!subjects.has(name)) subjects.set(name, subject);
  };
  for (const [subject, names] of [...Object.entries(COIN_NAMES), ...Object.entries(MAJORS_ABROAD)]) {
    add(subject, subject);
    for (const name of names) {
      add(name, subject);
      add(name.toLowerCase(), subject);
    }
  }
  add("Base", "Base");
  for (const { subject, kind, value } of facts) {
    if (NO_NAMES.has(subject)) continue;
    if (subject.length > 1 && !WORDS.has(subject)) add(subject, subject);
    add(`$${subject}`, subject);
    if (kind !== "name" || typeof value !== "string" || value.length < 2) continue;
    add(value, subject);
    if (value.length > 3) add(value.toLowerCase(), subject);
  }
  const longestFirst = [...subjects.keys()].sort((a, b) => b.length - a.length);
  const byFirst = groupBy(longestFirst, (name) => name.charAt(0));
  const places = new Set(facts.flatMap(({ source }) => source ?? []));
  return { subjects, byFirst, places };
}

/** The subjects that a text mentions, in its order. @param text As `normalizeText` returns it. */
export function findMentions(text: string, names: Names): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length; at++) {
    const name = at > 0 && /[\w.-]/.test(text.charAt(at - 1)) ? null : findNameAt(text, at, names);
    if (name === null) continue;
    // "On Hyperliquid" does not mean the coin of that name.
    const isPlace =
      names.places.has(name) && /\b(?:on|at|by|from|per|via)\s+$/i.test(text.slice(Math.max(0, at - 12), at));
    if (!isPlace) found.push(names.subjects.get(name) ?? names.subjects.get(name.slice(1)) ?? name);
    at += name.length - 1;
  }
  return found;
}

/** The symbols of the known subjects that a text names, in its order; the majors' are known in lower case too. */
export function findCoins(words: string, names: Names): string[] {
  const text = normalizeText(words).replace(/[\p{L}\p{N}]+/gu, (word) => {
    const [upper, symbol] = [word.toUpperCase(), resolveSymbol(word)];
    return isMajor(symbol) && (upper === symbol || upper === word) ? symbol : word;
  });
  const found = findMentions(text, names).map(resolveSymbol);
  return [...new Set(found)].filter((subject) => subject !== "BASE");
}

const isWordEnd = (text: string, at: number): boolean => !/\w/.test(text.charAt(at));

/** The longest name at this index; a name with a dollar sign is always a coin's. */
function findNameAt(text: string, at: number, { byFirst }: Names): string | null {
  const isName = (from: number) => (name: string) =>
    text.startsWith(name, from) && isWordEnd(text, from + name.length);
  const match = byFirst.get(text.charAt(at))?.find(isName(at));
  if (match !== undefined || text[at] !== "$") return match ?? null;
  const behind = byFirst.get(text.charAt(at + 1))?.find(isName(at + 1));
  const symbol = /^[A-Z][A-Z0-9]{1,9}(?!\w)/.exec(text.slice(at + 1, at + 13))?.[0];
  return behind === undefined && symbol === undefined ? null : `$${behind ?? symbol}`;
}
