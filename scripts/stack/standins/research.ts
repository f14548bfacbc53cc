/** Part of the gateway's stand-in for local use: a research note on the simulated market, within the contract asked for. */

import type { Scene } from "./llmContent";
import { outlookOf, type Coin, type Mood, type Outlook } from "./market";
import { random, type Random } from "./random";
import { citedEvidence, type Cited } from "./researchEvidence";
import * as phrases from "./researchPhrases";
import { bigUsd, focusToken, listed, percent, usd } from "./words";

export type Impact = { title: string; detail: string; sentiment: Outlook; confidence: number };

export type ResearchResult = {
  fullAnalysis: string;
  shortSummary: string;
  marketOutlook: Outlook;
  impacts: Impact[];
};

const TEN_MINUTES = 10 * 60_000;
const MARKS: Record<Outlook, string> = { bullish: "🟢", bearish: "🔴", neutral: "🟡" };
const SUMMARY_LIMIT = 100;
/** The note grows to a length in between; no sentence has more than 40 words, so that it ends below 590. */
const WORDS = { from: 430, to: 540 };

/** What a note is written about. */
type Subject = Scene & { mood: Mood; focus: Coin | null; cited: Cited; chance: Random };

export function researchResult(prompt: string, scene: Scene): ResearchResult {
  const symbol = focusToken(prompt.split("Evidence:")[0] ?? "");
  const chance = random(scene.seed, "research", Math.floor(scene.at / TEN_MINUTES), symbol ?? "");
  const subject: Subject = {
    ...scene,
    mood: scene.market.mood(scene.at),
    focus: symbol === null ? null : scene.market.coin(symbol, scene.at),
    cited: citedEvidence(prompt, (lines) => chance.pick(lines)),
    chance,
  };
  return {
    fullAnalysis: analysis(subject),
    shortSummary: summary(subject),
    marketOutlook: subject.mood.outlook,
    impacts: impacts(subject),
  };
}

function analysis(subject: Subject): string {
  const { mood, cited, focus, chance } = subject;
  const say = (templates: readonly string[], values: Record<string, string> = {}) =>
    fill(chance.pick(templates), values);
  const quote = (templates: readonly string[], text: string | null) =>
    text === null ? [] : [say(templates, { quote: text })];

  const sections = {
    majors: [
      say(phrases.OPENINGS[mood.outlook], {
        average: percent(mood.averageChange),
        rising: String(mood.rising),
        count: String(mood.count),
      }),
      ...majors(subject, say),
    ],
    breadth: [
      ...breadth(subject, say),
      ...(cited.persistent.length === 0
        ? []
        : [say(phrases.PERSISTENT, { persistent: listed(cited.persistent) })]),
    ],
    flows: [
      ...quote(phrases.SENTIMENT, cited.sentiment),
      ...quote(phrases.ONCHAIN, cited.onchain),
      ...quote(phrases.DETAIL, cited.detail),
      ...(cited.missing === 0 ? [] : [say(phrases.THIN, { missing: String(cited.missing) })]),
    ],
    focus: focus === null ? [] : [focusSentence(focus, mood, say)],
    risks: levels(subject, say),
  };
  const closing = say(phrases.CLOSINGS[mood.outlook]);

  const whole = () => [...Object.values(sections).filter((one) => one.length > 0), [closing]];
  const extras = chance.shuffled(
    (["majors", "breadth", "flows", "risks"] as const).flatMap((section) =>
      phrases.EXTRAS[section].map((sentence) => ({ section, sentence })),
    ),
  );
  const target = chance.whole(WORDS.from, WORDS.to);
  for (const { section, sentence } of extras) {
    if (wordsIn(whole().flat()) >= target) break;
    sections[section].push(sentence);
  }
  return whole()
    .map((sentences) => sentences.join(" "))
    .join("\n\n");
}

type Say = (templates: readonly string[], values?: Record<string, string>) => string;

function majors({ market, at }: Subject, say: Say): string[] {
  const [btc, eth, sol] = [market.coin("BTC", at), market.coin("ETH", at), market.coin("SOL", at)];
  return [
    say(phrases.MAJORS, {
      btc: usd(btc.price),
      btcChange: percent(btc.change24h),
      eth: usd(eth.price),
      ethChange: percent(eth.change24h),
      sol: usd(sol.price),
      solChange: percent(sol.change24h),
    }),
    say(phrases.RATIO, {
      ratio: (eth.price / btc.price).toFixed(4),
      leader: eth.change24h > btc.change24h ? "Ethereum" : "Bitcoin",
    }),
  ];
}

function breadth({ market, at, mood }: Subject, say: Say): string[] {
  const named = (coins: Coin[]) =>
    listed(coins.map(({ symbol, change24h }) => `${symbol} (${percent(change24h)})`));
  const spread = (mood.byChange[0]?.change24h ?? 0) - (mood.byChange.at(-1)?.change24h ?? 0);
  const trending = market.trending(at).slice(0, 4);
  return [
    say(phrases.BREADTH, {
      top: named(mood.byChange.slice(0, 3)),
      bottom: named(mood.byChange.slice(-2).reverse()),
      spread: spread.toFixed(1),
      dispersion: spread > 8 ? phrases.DISPERSION.wide : phrases.DISPERSION.narrow,
    }),
    say(phrases.TRENDING, { trending: listed(trending.map(({ symbol }) => symbol)) }),
  ];
}

function focusSentence(focus: Coin, mood: Mood, say: Say): string {
  return say(phrases.FOCUS, {
    name: focus.name,
    symbol: focus.symbol,
    price: usd(focus.price),
    change: percent(focus.change24h),
    cap: bigUsd(focus.marketCap),
    volume: bigUsd(focus.volume24h),
    relative: focus.change24h >= mood.averageChange ? "strong" : "weak",
  });
}

function levels({ market, at }: Subject, say: Say): string[] {
  const { price } = market.coin("BTC", at);
  const near = (factor: number) => usd(Math.round((price * factor) / 250) * 250);
  return [say(phrases.RISKS, { support: near(0.97), resistance: near(1.03) })];
}

function summary({ market, at, mood, focus, chance }: Subject): string {
  const { price, change24h } = market.coin("BTC", at);
  const leader = mood.byChange[0];
  const tone = { bullish: "Risk on", bearish: "Risk off", neutral: "Range-bound" }[mood.outlook];
  const breadthText = `${mood.rising}/${mood.count} coins up`;
  const lead = leader === undefined ? breadthText : `${leader.symbol} leads (${percent(leader.change24h)})`;
  const aside =
    focus === null ? chance.pick([breadthText, lead]) : `${focus.symbol} ${percent(focus.change24h)}`;
  const points = [...`${MARKS[mood.outlook]} ${tone}: BTC ${usd(price)} (${percent(change24h)}), ${aside}`];
  return points.length <= SUMMARY_LIMIT ? points.join("") : `${points.slice(0, SUMMARY_LIMIT - 1).join("")}…`;
}

function impacts({ market, at, mood, focus, chance }: Subject): Impact[] {
  const trending = market.trending(at)[0];
  const candidates = [
    mood.byChange[0],
    mood.byChange.at(-1),
    market.coin("ETH", at),
    market.coin("SOL", at),
    trending === undefined ? undefined : market.coin(trending.symbol, at),
  ].filter((coin) => coin !== undefined);
  const ordered = [
    ...(focus === null ? [] : [focus]),
    market.coin("BTC", at),
    ...chance.shuffled(candidates),
  ];
  const distinct = ordered.filter(
    (coin, index) => ordered.findIndex(({ symbol }) => symbol === coin.symbol) === index,
  );
  return distinct.slice(0, chance.whole(3, 5)).map((coin) => ({
    title: `${coin.name} (${coin.symbol})`,
    detail:
      `${coin.symbol} moved ${percent(coin.change24h)} in 24 hours to ${usd(coin.price)} on ${bigUsd(coin.volume24h)} ` +
      `of volume. ${chance.pick(WATCH[outlookOf(coin.change24h)])}`,
    sentiment: outlookOf(coin.change24h),
    confidence: Number(
      Math.min(0.9, 0.45 + Math.abs(coin.change24h) / 25 + chance.between(0, 0.1)).toFixed(2),
    ),
  }));
}

const WATCH: Record<Outlook, readonly string[]> = {
  bullish: ["Momentum favours further gains while volume holds.", "Dips are likely to find buyers."],
  bearish: ["Further weakness is likely until volume returns.", "Rallies are likely to meet supply."],
  neutral: ["A break of the day's range should decide the direction.", "No edge until volume picks a side."],
};

/** One pass, so that nothing inside a value is taken for a placeholder. */
function fill(template: string, values: Record<string, string>): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

function wordsIn(sentences: readonly string[]): number {
  return sentences.join(" ").split(/\s+/).length;
}
