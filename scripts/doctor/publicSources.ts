import { failureOf } from "../../convex/lib/errors";
import { binance } from "../../convex/providers/data/binanceSpot";
import { coinbase } from "../../convex/providers/data/coinbaseExchange";
import { askMarkets } from "../../convex/providers/data/coingecko";
import { askStablecoins } from "../../convex/providers/data/defillama";
import { askFeed } from "../../convex/providers/data/feeds";
import { askDay } from "../../convex/providers/data/exchanges";
import { askNews, naming } from "../../convex/providers/data/gdelt";
import { askPerpetuals } from "../../convex/providers/data/hyperliquid";
import { BY_HAND } from "../../convex/providers/data/publicData";
import { optional } from "../../convex/lib/env";
import { isOff } from "../../convex/lib/settings";
import { FEEDS, SOURCE_NAMES, type PublicSource } from "../../convex/lib/publicSources";
import { good, off, warning, type Finding } from "./finding";
import type { Question } from "./questions";

/** One real question to each public source of facts. Base is asked with the chain's questions. */

const PATIENCE_MS = 20_000;

type Asked = {
  source: PublicSource;
  asks: string;
  ask: () => Promise<string>;
  /** Restrictions in its terms, which the operator has to compare with the deployment's use. */
  terms?: string;
};

const ASKED: readonly Asked[] = [
  {
    source: "coingecko",
    asks: "the 100 largest coins",
    terms: "name it with a link wherever its data are shown; commercial use needs a paid plan",
    ask: async () => {
      const [first, ...others] = await askMarkets(BY_HAND, PATIENCE_MS);
      return `lists ${others.length + 1} coins, the largest ${first?.symbol} at ${first?.price} USD`;
    },
  },
  {
    source: "coinbase",
    asks: "the day of BTC",
    terms:
      "market data must not be used for an index, benchmark or valuation, or passed on, without its consent",
    ask: async () =>
      `returns the last trade of BTC: ${(await askDay(coinbase, BY_HAND, "BTC", PATIENCE_MS)).last} USD`,
  },
  {
    source: "binance",
    asks: "the day of BTC",
    terms: "market data are for your own use; commercial redistribution needs its consent",
    ask: async () =>
      `returns the last trade of BTC: ${(await askDay(binance, BY_HAND, "BTC", PATIENCE_MS)).last} USDT`,
  },
  {
    source: "hyperliquid",
    asks: "funding and open interest of all perpetuals",
    ask: async () => {
      const markets = await askPerpetuals(BY_HAND, PATIENCE_MS);
      const funding = markets.find(({ symbol }) => symbol === "BTC")?.fundingPercent;
      return `returns ${markets.length} perpetuals, the funding of BTC ${funding ?? "not among them"} % an hour`;
    },
  },
  {
    source: "defillama",
    asks: "the supply of dollar stablecoins",
    ask: async () => {
      const { now } = await askStablecoins(BY_HAND, "all", PATIENCE_MS);
      return `returns the supply of dollar stablecoins: ${(now / 1e9).toFixed(1)} bn USD`;
    },
  },
  {
    source: "gdelt",
    asks: "the last day's headlines on bitcoin",
    ask: async () =>
      `returns ${(await askNews(BY_HAND, naming("bitcoin"), PATIENCE_MS)).length} headlines on bitcoin`,
  },
  ...FEEDS.map((source) => ({
    source,
    asks: "its latest headlines",
    terms: "headlines with a link to the article",
    ask: async () => `returns ${(await askFeed(BY_HAND, source, PATIENCE_MS)).length} headlines`,
  })),
];

export const PUBLIC_QUESTIONS: readonly Question[] = ASKED.map(({ source, asks, ask, terms }) => {
  const subject = SOURCE_NAMES[source];
  return { subject, key: null, asks, costUsd: 0, ask: () => findingOf(source, ask, terms) };
});

/** Reports leave out a silent source and say so, so it is not a fault of the deployment. */
async function findingOf(source: PublicSource, ask: () => Promise<string>, terms?: string): Promise<Finding> {
  const subject = SOURCE_NAMES[source];
  if (isOff(source)) return off(subject, "is left out (SOURCES_OFF)");
  try {
    const says = await ask();
    return good(
      subject,
      terms === undefined ? says : `${says}. Its terms: ${terms} (SOURCES_OFF leaves it out)`,
    );
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    return warning(
      subject,
      failure.message,
      optional("EVIDENCE_API_URL") === undefined
        ? "Check whether this machine (and the deployment) may call it; reports say what is missing. EVIDENCE_API_URL can name an address that serves the paths of all."
        : "Check EVIDENCE_API_URL: it serves the paths of all public sources.",
    );
  }
}
