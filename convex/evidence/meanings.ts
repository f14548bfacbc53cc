import { namesIn } from "../lib/records";
import type { Change } from "./changes";
import type { Unit } from "./numbers";
import type { Kind } from "./tables";
import type { Window } from "./windows";

/** What each kind of fact measures, and with what words a text says so: the table by which a figure is held against its kind. Pure. */

/** What words speak of; several kinds may be told in the words of one. */
const TOPICS = {
  price: words(
    "prices?|priced|trades?|trading(?! in| volume| activity)|traded (?:at|near|around|for)|quoted|last trade|costs?|paid|spot|chang(?:es?|ing|ed) hands (?:at|for|near|around)",
  ),
  high: words("highs?|peak(?:s|ed)?|ceiling|upper (?:end|bound)"),
  low: words("lows?|bottom(?:s|ed)?|floor|trough|lower (?:end|bound)"),
  range: words("between|tests?|tested|extremes|rang(?:e[sd]?|ing)|band|corridor|highs? and lows?"),
  marketCap: words(
    "capitali[sz](?:ation|ed)|market[- ]cap|mkt cap|mcap|cap|market value|valuation|valued|commands?",
  ),
  volume: words(
    "volumes?|turnover|turn(?:s|ed|ing)? over|trading in|trading activity|traded(?! (?:at|near|around|for))|chang(?:es?|ing|ed) hands(?! (?:at|for|near|around))",
  ),
  funding: words("funding|carry|fund(?:s|ed)? at"),
  openInterest: words("open interest|OI|open positions|outstanding"),
  bid: words("buy(?:ing)? orders?|bids?|buy[- ]side|buyers|bid[- ]side"),
  ask: words("sell(?:ing)? orders?|asks?|sell[- ]side|sellers|ask[- ]side|offers?|offered"),
  depth: words("depth|order book|orders"),
  spread: words("spreads?"),
  supply: words("suppl(?:y|ies)|stablecoins?|circulation|circulating|issued|minted|USDC"),
  rank: words("rank(?:s|ed|ing)?|largest|biggest|place[sd]?|position|number|no\\."),
  search: words("search(?:es|ed)?|trending"),
  breadth: words(
    "coins|tokens|assets|cryptocurrencies|names|breadth|gainers|risers|advancers|largest|biggest",
  ),
  transactions: words("transactions?|transfers?|txs?"),
  fee: words("fees?|gas"),
  // What no fact measures: a figure of it is nobody's, though a price or a change has the same number.
  unmeasured: words(
    "volatility|dominance|hash ?rate|targets?|forecasts?|holders|revenues?|yields?|staking|TVL",
  ),
} as const satisfies Record<string, RegExp>;

export type Topic = keyof typeof TOPICS;

/** What a percentage is never of, though it may stand beside the words: "buyers pushed it 2 % higher". */
const NO_SHARE: ReadonlySet<Topic> = new Set(["high", "low", "range", "bid", "ask", "depth"]);
/** What is counted, and never has another unit. */
const COUNTED: ReadonlySet<Topic> = new Set(["rank", "search", "breadth", "transactions"]);

export type Meaning = {
  /** The topics that its words may be of. */
  topics: readonly Topic[];
  /** What a text must say somewhere for this kind to be meant; `null` for what an amount or a percentage is by itself. */
  mustSay: RegExp | null;
  /** Over what time it is measured; `null` for what is so at a moment. */
  window: Window | null;
  /** Whether its sign is a direction: up is more. */
  isChange: boolean;
  /** The direction that its words have by themselves: the coins that rose did not fall. */
  always?: 1;
  /** What is counted: a bare number before another noun is another count. */
  counts?: RegExp;
  /** How the figures in its label stand in a text: "of the 50 largest". */
  aside?: RegExp;
  /** Who else it is about. */
  with?: string;
};

/** Where a figure stood in the words around it. */
export const HERE = "\u0002";

const PRICE: Meaning = { topics: ["price"], mustSay: null, window: null, isChange: false };
const CHANGE: Meaning = { ...PRICE, window: "day", isChange: true };
const HIGH: Meaning = said({ topics: ["high", "range"], window: "day" });
const LOW: Meaning = said({ topics: ["low", "range"], window: "day" });
const STABLECOINS = /\b(?:stable ?coins?|dollar[- ](?:tokens?|pegged))\b/i;
const DEPTH_ASIDE = new RegExp(`\\bwithin (?:about )?${HERE}|${HERE} (?:of|from|around|either)\\b`, "i");
const COINS = /^(?:coins|tokens|assets|cryptocurrencies|names|gainers|risers|advancers)$/i;

const MEANINGS: Record<Kind, Meaning> = {
  name: PRICE,
  headline: PRICE,
  price: PRICE,
  lastTrade: PRICE,
  change24h: CHANGE,
  dayChange: CHANGE,
  trendingChange: CHANGE,
  rank: said({ topics: ["rank", "marketCap"], counts: /^$/ }),
  marketCap: said({ topics: ["marketCap"] }),
  volume24h: said({ topics: ["volume"], window: "day" }),
  dayVolume: {
    ...said({ topics: ["volume"], window: "day", counts: /^(?:coins|tokens|units)$/i }),
    topics: ["volume", "breadth"],
  },
  rising: {
    ...said({ topics: ["breadth", "rank"], window: "day" }),
    // They "trade higher".
    topics: ["breadth", "rank", "price"],
    always: 1,
    counts: COINS,
    aside: new RegExp(
      `\\b(?:of|among|top)(?: the)?(?: top| largest)? ?${HERE}|${HERE} (?:largest|biggest)\\b`,
      "i",
    ),
  },
  trendingPlace: {
    ...said({ topics: ["search", "rank"], counts: /^$/ }),
    // A place is one among coins.
    topics: ["search", "rank", "breadth"],
  },
  dayHigh: HIGH,
  dayLow: LOW,
  high48h: { ...HIGH, window: "twoDays" },
  low48h: { ...LOW, window: "twoDays" },
  bidDepth: { ...said({ topics: ["bid", "depth"] }), aside: DEPTH_ASIDE },
  askDepth: { ...said({ topics: ["ask", "depth"] }), aside: DEPTH_ASIDE },
  spread: said({ topics: ["spread"] }),
  funding: said({ topics: ["funding"], window: "hour" }),
  openInterest: said({ topics: ["openInterest"] }),
  stablecoinSupply: { ...said({ topics: ["supply"] }), mustSay: STABLECOINS },
  stablecoinWeek: { ...said({ topics: ["supply"], window: "week" }), mustSay: STABLECOINS, isChange: true },
  blockTransactions: said({ topics: ["transactions"], counts: /^(?:transactions|transfers|txs)$/i }),
  baseFee: said({ topics: ["fee"] }),
  usdcSupply: { ...said({ topics: ["supply"] }), mustSay: /\bUSDC\b/, with: "USDC" },
};

/** What a fact is about. */
export type About = {
  /** A symbol, or what else: `market`, `Base`. */
  subject: string;
  kind: Kind;
  /** Where it is no observation but the change of one between two moments. */
  since: Change["since"] | null;
  /** Who observed it, as readers know it. */
  source: string;
};

export function meaningOf({ kind, since }: About): Meaning {
  const own = MEANINGS[kind];
  return since === null ? own : { ...own, window: since, isChange: true };
}

/** The words of a topic that stand in a text, in its order. */
export function topicsIn(text: string, unit: Unit | null): { topic: Topic; start: number; end: number }[] {
  const isMeasure = unit !== null && unit !== "rank" && unit !== "coins";
  const isShare = unit === "percent" || unit === "bps";
  return namesIn(TOPICS)
    .flatMap((topic) => {
      if ((isShare && NO_SHARE.has(topic)) || (isMeasure && COUNTED.has(topic))) return [];
      return Array.from(text.matchAll(TOPICS[topic]), (found) => ({
        topic,
        start: found.index,
        end: found.index + found[0].length,
      }));
    })
    .sort((a, b) => a.start - b.start);
}

function words(pattern: string): RegExp {
  return new RegExp(`\\b(?:${pattern})(?![a-z])`, "gi");
}

/** What must be said in words of its topics. */
function said(told: { topics: readonly Topic[]; window?: Window; counts?: RegExp }): Meaning {
  const mustSay = new RegExp(told.topics.map((topic) => TOPICS[topic].source).join("|"), "i");
  return { window: null, isChange: false, mustSay, ...told };
}
