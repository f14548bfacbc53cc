import { failureOf } from "../../convex/lib/errors";
import { binance } from "../../convex/providers/binanceSpot";
import { coinbase } from "../../convex/providers/coinbaseExchange";
import { askMarkets } from "../../convex/providers/coingecko";
import { askStablecoins } from "../../convex/providers/defillama";
import { askDay } from "../../convex/providers/exchanges";
import { askNews } from "../../convex/providers/gdelt";
import { askPerpetuals } from "../../convex/providers/hyperliquid";
import { BY_HAND } from "../../convex/providers/publicData";
import { optional } from "../../convex/lib/env";
import { SOURCE_NAMES, type PublicSource } from "../../convex/lib/publicSources";
import { good, warning, type Finding } from "./finding";
import type { Question } from "./questions";

/** One real thing asked of each public source of facts. Base is asked with the chain's own questions. */

const PATIENCE_MS = 20_000;

type Asked = { source: PublicSource; asks: string; ask: () => Promise<string> };

const ASKED: readonly Asked[] = [
  {
    source: "coingecko",
    asks: "the 50 largest coins",
    ask: async () => {
      const [first, ...others] = await askMarkets(BY_HAND, PATIENCE_MS);
      return `lists ${others.length + 1} coins, the largest ${first?.symbol} at ${first?.price} USD`;
    },
  },
  {
    source: "coinbase",
    asks: "the day of BTC",
    ask: async () =>
      `tells the last trade of BTC: ${(await askDay(coinbase, BY_HAND, "BTC", PATIENCE_MS)).last} USD`,
  },
  {
    source: "binance",
    asks: "the day of BTC",
    ask: async () =>
      `tells the last trade of BTC: ${(await askDay(binance, BY_HAND, "BTC", PATIENCE_MS)).last} USDT`,
  },
  {
    source: "hyperliquid",
    asks: "funding and open interest of all perpetuals",
    ask: async () => {
      const markets = await askPerpetuals(BY_HAND, PATIENCE_MS);
      const funding = markets.find(({ symbol }) => symbol === "BTC")?.fundingPercent;
      return `tells ${markets.length} perpetuals, the funding of BTC ${funding ?? "not among them"} % an hour`;
    },
  },
  {
    source: "defillama",
    asks: "the supply of dollar stablecoins",
    ask: async () => {
      const { now } = await askStablecoins(BY_HAND, "all", PATIENCE_MS);
      return `tells the supply of dollar stablecoins: ${(now / 1e9).toFixed(1)} bn USD`;
    },
  },
  {
    source: "gdelt",
    asks: "the last day's headlines on bitcoin",
    ask: async () =>
      `tells ${(await askNews(BY_HAND, '"bitcoin"', PATIENCE_MS)).length} headlines on bitcoin`,
  },
];

export const PUBLIC_QUESTIONS: readonly Question[] = ASKED.map(({ source, asks, ask }) => {
  const subject = SOURCE_NAMES[source];
  return { subject, key: null, asks, costUsd: 0, ask: () => told(subject, ask) };
});

/** Reports go without a source that does not answer, and say so: that is no fault of the deployment's. */
async function told(subject: string, ask: () => Promise<string>): Promise<Finding> {
  try {
    return good(subject, await ask());
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    return warning(
      subject,
      failure.message,
      optional("EVIDENCE_API_URL") === undefined
        ? "See whether this machine (and the deployment) may call it; reports say what is missing. EVIDENCE_API_URL can name an address that serves the paths of all."
        : "See whether EVIDENCE_API_URL is right: it serves the paths of all public sources.",
    );
  }
}
