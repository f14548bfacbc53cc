import { briefOf, describeBrief, type Brief } from "../../convex/research/brief";
import type { Fact } from "../../convex/evidence/tables";
import { createMarket, type Market } from "../standins/market";
import { random, unit } from "../standins/random";
import { researchResult, type ResearchResult } from "../standins/research";

/** What reports on a simulated market are written from, on any moment, and what the gateway's stand-in writes. */

const HOUR = 3_600_000;

/** What the collectors observe of a simulated market. */
function factsAt(market: Market, seed: string, at: number): Fact[] {
  const by = (source: string) => ({ observedAt: at, source, url: "https://example.org/figures" });
  const coins = market.coins(at);
  const major = ["BTC", "ETH", "SOL"].flatMap((subject): Fact[] => {
    const { price, volume24h, marketCap, change24h } = market.coin(subject, at);
    const hours = Array.from({ length: 49 }, (_, hour) => market.coin(subject, at - hour * HOUR).price);
    const [exchange, perpetual] = [by("Coinbase"), by("Hyperliquid")];
    const share = (word: string) => unit(seed, subject, word, at);
    return [
      { ...exchange, subject, kind: "lastTrade", value: price, unit: "USD" },
      { ...exchange, subject, kind: "dayChange", value: change24h, unit: "percent" },
      { ...exchange, subject, kind: "dayHigh", value: Math.max(...hours.slice(0, 25)), unit: "USD" },
      { ...exchange, subject, kind: "dayLow", value: Math.min(...hours.slice(0, 25)), unit: "USD" },
      { ...exchange, subject, kind: "high48h", value: Math.max(...hours), unit: "USD" },
      { ...exchange, subject, kind: "low48h", value: Math.min(...hours), unit: "USD" },
      { ...exchange, subject, kind: "dayVolume", value: volume24h / price, unit: "coins" },
      {
        ...exchange,
        subject,
        kind: "bidDepth",
        value: volume24h * 0.002 * (0.5 + share("bid")),
        unit: "USD",
      },
      {
        ...exchange,
        subject,
        kind: "askDepth",
        value: volume24h * 0.002 * (0.5 + share("ask")),
        unit: "USD",
      },
      { ...exchange, subject, kind: "spread", value: 0.5 + share("spread"), unit: "bps" },
      { ...perpetual, subject, kind: "funding", value: 0.004 * (share("funding") - 0.4), unit: "percent" },
      { ...perpetual, subject, kind: "openInterest", value: marketCap * 0.02, unit: "USD" },
    ];
  });
  const listed = coins
    .slice(0, 50)
    .flatMap(({ symbol: subject, name, price, change24h, marketCap, volume24h }, index): Fact[] => {
      const list = by("CoinGecko");
      return [
        { ...list, subject, kind: "name", value: name, unit: "text" },
        { ...list, subject, kind: "rank", value: index + 1, unit: "count" },
        { ...list, subject, kind: "price", value: price, unit: "USD" },
        { ...list, subject, kind: "change24h", value: change24h, unit: "percent" },
        { ...list, subject, kind: "marketCap", value: marketCap, unit: "USD" },
        { ...list, subject, kind: "volume24h", value: volume24h, unit: "USD" },
      ];
    });
  const trending = market.trending(at).map(({ symbol: subject, rank: value }): Fact => ({
    ...by("CoinGecko"),
    subject,
    kind: "trendingPlace",
    value,
    unit: "count",
  }));
  const whole = { subject: "market" };
  return [
    ...major,
    ...listed,
    ...trending,
    {
      ...by("CoinGecko"),
      ...whole,
      kind: "rising",
      value: coins.filter(({ change24h }) => change24h > 0).length,
      unit: "count",
    },
    {
      ...by("DefiLlama"),
      ...whole,
      kind: "stablecoinSupply",
      value: 240e9 * (1 + 0.1 * unit(seed, at)),
      unit: "USD",
    },
    {
      ...by("DefiLlama"),
      ...whole,
      kind: "stablecoinWeek",
      value: unit(seed, at, "week") - 0.4,
      unit: "percent",
    },
    {
      ...by("Base, read over RPC"),
      subject: "Base",
      kind: "usdcSupply",
      value: 4e9 * (1 + unit(seed, at)),
      unit: "USD",
    },
    {
      ...by("Base, read over RPC"),
      subject: "Base",
      kind: "blockTransactions",
      value: 90 + Math.floor(200 * unit(seed, at, "txs")),
      unit: "count",
    },
    {
      ...by("Base, read over RPC"),
      subject: "Base",
      kind: "baseFee",
      value: 0.004 + 0.01 * unit(seed, at, "fee"),
      unit: "gwei",
    },
    {
      ...by("ledger.example, found by GDELT"),
      ...whole,
      kind: "headline",
      value: "Funds add $420 million in a week",
      unit: "text",
    },
  ];
}

export type Report = { brief: Brief; result: ResearchResult; now: number; focus: string };

/** What a report on a focus would be written from. */
export function briefAt(market: Market, seed: string, now: number, focus: string): Brief {
  const movers = market
    .coins(now)
    .map(({ symbol, price, change24h }) => ({ symbol, price, change24h, source: "coingecko" as const }))
    .sort((a, b) => Math.abs(b.change24h) - Math.abs(a.change24h))
    .slice(0, 8);
  return briefOf({
    focus,
    facts: factsAt(market, seed, now),
    atStart: factsAt(market, seed, now - 5 * HOUR),
    atReport: factsAt(market, seed, now - 2.5 * HOUR),
    readings: { persistent: [], movers, market: null, sentiment: [], onchain: [], cycles: 0 },
    previous: null,
    missing: [],
  });
}

/** The report of one seed: its market, moment and focus. */
export function reportOf(seed: string): Report {
  const chance = random(seed, "report");
  const now = Date.UTC(
    2026,
    chance.whole(0, 11),
    chance.whole(1, 28),
    chance.whole(0, 23),
    chance.whole(0, 59),
  );
  const market = createMarket({ seed, now: () => now });
  const focus = chance.pick(["", "BTC", "SOL", "DOGE", "LINK", "PEPE"]);
  const brief = briefAt(market, seed, now, focus);
  const prompt = `A report.${focus === "" ? "" : `\nFocus token: ${focus}`}\n\nEvidence:\n${describeBrief(brief)}`;
  return { brief, result: researchResult(prompt, { seed, market, at: now }), now, focus };
}
