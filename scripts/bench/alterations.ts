import { plain, readFigures, type Figure } from "../../convex/evidence/figures";
import { briefOf, describeBrief, type Brief } from "../../convex/research/brief";
import type { Fact } from "../../convex/evidence/tables";
import { createMarket, type Market } from "../stack/standins/market";
import { random, unit, type Random } from "../stack/standins/random";
import { researchResult, type ResearchResult } from "../stack/standins/research";

/** Reports of the gateway's stand-in on any moment, written in many hands, with figures altered. */

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

type NumberFigure = Extract<Figure, { kind: "number" }>;

/** The figures of a sentence that have digits, with where the digits stand. */
function numbersIn(sentence: string): (NumberFigure & { digits: string; at: number })[] {
  return readFigures(plain(sentence)).flatMap((figure) => {
    if (figure.kind !== "number") return [];
    const digits = /\d[\d,]*(?:\.\d+)?/.exec(figure.text);
    if (digits === null) return [];
    return [{ ...figure, digits: digits[0].replace(/,$/, ""), at: figure.start + digits.index }];
  });
}

/** The same statement in another hand: other signs, other units, decimal commas, fewer places. */
export function inAnotherHand(sentence: string, chance: Random): string {
  let text = plain(sentence);
  for (const { text: old, start, value, within, unit: measure } of numbersIn(text).toReversed()) {
    const styles =
      measure === "usd" ? usdStyles(value, within) : measure === "percent" ? percentStyles(old, value) : [];
    if (styles.length === 0) continue;
    text = text.slice(0, start) + chance.pick(styles) + text.slice(start + old.length);
  }
  return text;
}

/** @param within Half of the last place that the figure shows: another hand shows no more. */
function usdStyles(value: number, within: number): string[] {
  const shown = (scale: number) => {
    const places = Math.max(0, Math.round(-Math.log10((2 * within) / scale)));
    return places > 4 ? null : (value / scale).toFixed(places);
  };
  const plainly = value.toLocaleString("en-US", { maximumSignificantDigits: 12 });
  const scaled = (scale: number, write: readonly ((text: string) => string)[]) => {
    const text = shown(scale);
    return text === null || Number(text) === 0 ? [] : write.map((one) => one(text));
  };
  if (value >= 1e9)
    return scaled(1e9, [(text) => `$${text}bn`, (text) => `${text} billion USD`, (text) => `US$ ${text}B`]);
  if (value >= 1e6) return scaled(1e6, [(text) => `$${text}M`, (text) => `${text} million dollars`]);
  return value >= 1_000
    ? [`${plainly} USD`, `US$${plainly}`, `$${plainly.replaceAll(",", "")}`]
    : [`${plainly} USD`];
}

function percentStyles(old: string, value: number): string[] {
  const places = /\.(\d+)/.exec(old)?.[1]?.length ?? 0;
  const sign = value < 0 ? "−" : "+";
  const shown = Math.abs(value).toFixed(places);
  return [`${sign}${shown} %`, `${sign}${shown.replace(".", ",")} %`, `${sign}${shown} percent`, old];
}

/** Factors from 3 % off to ten times as much, in both directions. */
function factor(chance: Random): number {
  const off = Math.exp(chance.between(Math.log(1.03), Math.log(10)));
  return chance.between(0, 1) < 0.5 ? off : 1 / off;
}

const TRIES = 40;

/** Alters a sentence's figures, each with this chance, so that what it shows is no longer so. @returns `null` where none was. */
export function altered(
  sentence: string,
  share: number,
  chance: Random,
): { sentence: string; count: number } | null {
  let text = plain(sentence);
  let count = 0;
  for (const figure of numbersIn(text).toReversed()) {
    if (chance.between(0, 1) >= share) continue;
    const { digits, at } = figure;
    const places = /\.(\d+)$/.exec(digits)?.[1]?.length ?? 0;
    for (let tries = 0; tries < TRIES; tries++) {
      const value = Number(digits.replaceAll(",", "")) * factor(chance);
      const written = value.toLocaleString("en-US", {
        minimumFractionDigits: places,
        maximumFractionDigits: places,
        useGrouping: digits.includes(","),
      });
      const next = text.slice(0, at) + written + text.slice(at + digits.length);
      const now = readFigures(next).find(({ start }) => start === figure.start);
      if (now?.kind !== "number" || Math.abs(now.value - figure.value) <= now.within + figure.within)
        continue;
      text = next;
      count += 1;
      break;
    }
  }
  return count === 0 ? null : { sentence: text, count };
}
