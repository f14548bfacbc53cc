/** Tokens as people write them. */

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
 * The canonical symbol: `BTC` for `btc`, `$BTC`, `BTC/USDT` and `Bitcoin`. Other words, such as `Shiba Inu`, may be a
 * coin's name (`isSymbol`), which the sources resolve.
 */
export function resolveSymbol(written: string): string {
  const upper = written.toUpperCase().replace(/\s+/g, " ");
  const [base = ""] = IS_WRITTEN.test(upper) ? upper.replace(/^\$/, "").split("/") : [upper];
  return SYMBOLS.get(base) ?? base;
}

/** Whether a text has the form of a symbol: a focus always does, a name of several words does not. */
export function isSymbol(text: string): boolean {
  return IS_SYMBOL.test(text);
}
