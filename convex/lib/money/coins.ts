/** How people write tokens. */

/** Names of the major coins; the news search uses the first. */
export const COIN_NAMES = {
  BTC: ["Bitcoin"],
  ETH: ["Ethereum", "Ether"],
  SOL: ["Solana"],
} as const satisfies Readonly<Record<string, readonly [string, ...string[]]>>;

/** CoinGecko's own names of the major coins: a ticker is no identity. */
export const COIN_IDS = { BTC: "bitcoin", ETH: "ethereum", SOL: "solana" } as const;

/** The major coins, in the order in which they are shown. */
export const MAJORS = ["BTC", "ETH", "SOL"] as const satisfies readonly (keyof typeof COIN_NAMES)[];

export type Major = (typeof MAJORS)[number];

export function isMajor(symbol: string): symbol is Major {
  return MAJORS.some((major) => major === symbol);
}

const SYMBOLS: ReadonlyMap<string, string> = new Map(
  Object.entries(COIN_NAMES).flatMap(([symbol, names]) =>
    names.map((name): [string, string] => [name.toUpperCase(), symbol]),
  ),
);

const SYMBOL = String.raw`[A-Za-z0-9][A-Za-z0-9.$-]{0,19}`;
/** A symbol in any case, one with a dollar sign, a pair (its first symbol counts), or one of the names above. */
const WRITTEN = String.raw`\$?${SYMBOL}(?:/[A-Za-z0-9]{2,10})?`;

const IS_WRITTEN = new RegExp(`^${WRITTEN}$`);
const IS_SYMBOL = new RegExp(`^${SYMBOL}$`);

/**
 * The symbol that is meant: `BTC` for `btc`, `$BTC`, `BTC/USDT` and `Bitcoin`. Other words, such as `Shiba Inu`, may be
 * a coin's name (`isSymbol`): the sources decide which coin.
 */
export function symbolIn(written: string): string {
  const upper = written.toUpperCase().replace(/\s+/g, " ");
  const [base = ""] = IS_WRITTEN.test(upper) ? upper.replace(/^\$/, "").split("/") : [upper];
  return SYMBOLS.get(base) ?? base;
}

/** Whether a text has the form of a symbol: a focus always does, a name of several words does not. */
export function isSymbol(text: string): boolean {
  return IS_SYMBOL.test(text);
}

/** Finds the coins and other subjects that a text mentions, by symbol and name. Pure. */

export type Names = {
  /** By the name as it is written. */
  subjects: ReadonlyMap<string, string>;
  pattern: RegExp;
  /** Names of sources, some of which are also names of coins. */
  places: ReadonlySet<string>;
};

/** Symbols that are also ordinary words: only `$AI` is a coin. */
const WORDS = new Set(["USD", "EUR", "US", "UK", "EU", "AI", "OI", "ETF", "SEC", "IP", "AM", "PM", "UTC"]);
const NO_NAMES = new Set(["market", "news", ""]);
/** Names of the majors in other scripts. */
const MAJORS_ABROAD = {
  BTC: ["比特币", "比特幣", "ビットコイン", "비트코인", "биткоин", "биткойн", "بيتكوين", "बिटकॉइन"],
  ETH: ["以太坊", "以太币", "イーサリアム", "イーサ", "이더리움", "эфир", "إيثيريوم", "इथेरियम"],
  SOL: ["索拉纳", "ソラナ", "솔라나", "солан", "سولانا", "सोलाना"],
} as const;

/** A known fact about a subject; with kind `name`, its name. */
type Known = { subject: string; kind: string; value: string | number; source?: string };

/** @param facts Everything that is known at the time, cited or not: a text may mean any of these subjects. */
export function namesOf(facts: readonly Known[]): Names {
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
  const longestFirst = [...subjects.keys()].sort((a, b) => b.length - a.length).map(escaped);
  // A name with a dollar sign is always a coin's.
  const pattern = new RegExp(
    `(?<![\\w.-])\\$?(?:(${longestFirst.join("|")})|(?<=\\$)[A-Z][A-Z0-9]{1,9})(?!\\w)`,
    "g",
  );
  const places = new Set(facts.flatMap(({ source }) => source ?? []));
  return { subjects, pattern, places };
}

/** The subjects that a text mentions, in its order. @param text As `plain` returns it. */
export function mentionsIn(text: string, { subjects, pattern, places }: Names): string[] {
  return [...text.matchAll(pattern)].flatMap((found) => {
    const [whole, name] = found;
    // "On Hyperliquid" does not mean the coin of that name.
    if (places.has(whole) && /\b(?:on|at|by|from|per|via)\s+$/i.test(text.slice(0, found.index))) return [];
    return [subjects.get(name ?? whole) ?? whole];
  });
}

/** A name, escaped for a pattern with the flag `u`, outside of brackets: there a hyphen must not be escaped. */
export function escaped(name: string): string {
  return name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
