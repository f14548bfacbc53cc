/**
 * Part of the gateway's stand-in for local use: a research note from the numbered facts in the prompt, within the
 * requested contract. As the prompt requires, it writes no figures of its own but slots of facts.
 */

import type { Scene } from "./content";
import { factsIn, missingIn, type ToldFact } from "./facts";
import { outlookOf, type Outlook } from "../sources/market";
import { random, type Random } from "../random";
import * as phrases from "./researchPhrases";
import { focusToken, listed } from "./words";

type Impact = { title: string; detail: string; sentiment: Outlook; confidence: number };

export type ResearchResult = {
  fullAnalysis: string;
  shortSummary: string;
  marketOutlook: Outlook;
  impacts: Impact[];
};

const TEN_MINUTES = 10 * 60_000;
const MARKS: Record<Outlook, string> = { bullish: "🟢", bearish: "🔴", neutral: "🟡" };
const NAMES: Readonly<Record<string, string>> = { BTC: "Bitcoin", ETH: "Ethereum", SOL: "Solana" };
/**
 * The note grows to a length in between; no sentence has more than 50 words, and a quotation prints some 20, so that it
 * ends below 600.
 */
const WORDS = { from: 405, to: 440 };

/** The subject and material of a note. */
type Subject = {
  facts: ToldFact[];
  missing: number;
  focus: string | null;
  outlook: Outlook;
  chance: Random;
};

export function researchResult(prompt: string, scene: Scene): ResearchResult {
  const [before = "", evidence = ""] = prompt.split("Evidence:");
  const focus = focusToken(before);
  const facts = factsIn(evidence);
  const lead = changeOf(facts, focus ?? "BTC") ?? changeOf(facts, "BTC");
  const subject: Subject = {
    facts,
    missing: missingIn(evidence),
    focus,
    outlook: outlookOf(lead?.value ?? 0),
    chance: random(scene.seed, "research", Math.floor(scene.at / TEN_MINUTES), focus ?? ""),
  };
  return {
    fullAnalysis: analysis(subject),
    shortSummary: summary(subject),
    marketOutlook: subject.outlook,
    impacts: impacts(subject),
  };
}

function analysis(subject: Subject): string {
  const { outlook, focus, chance } = subject;
  const say: Say = (templates, values = {}) => fill(chance.pick(templates), values);
  const sections = {
    majors: [say(phrases.OPENINGS[outlook]), ...majors(subject), ...ranges(subject)],
    breadth: [...breadth(subject), ...persistent(subject, say)],
    flows: [...flows(subject), ...reported(subject, say)],
    focus: focus === null ? [] : [focusSentence(focus, subject)],
    risks: [...changed(subject), ...headlines(subject)],
  };
  const closing = say(phrases.CLOSINGS[outlook]);

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

function find({ facts }: Pick<Subject, "facts">, about: string): ToldFact | undefined {
  return facts.find((fact) => fact.about === about);
}

function changeOf(facts: readonly ToldFact[], symbol: string): ToldFact | undefined {
  const kinds = ["price change over 24 hours", "change of the last trade over 24 hours"];
  return facts.find(({ about }) => kinds.some((kind) => about === `${symbol} ${kind}`));
}

/** The slot for a fact's figure. */
function slot({ id }: ToldFact): string {
  return `{f${id}}`;
}

const nameOf = (symbol: string): string => NAMES[symbol] ?? symbol;

function majors(subject: Subject): string[] {
  const parts = ["BTC", "ETH", "SOL"].flatMap((symbol) => {
    const price = find(subject, `${symbol} price`) ?? find(subject, `${symbol} last trade`);
    const change = changeOf(subject.facts, symbol);
    if (price === undefined || change === undefined) return [];
    return [`${nameOf(symbol)} at ${slot(price)} (${slot(change)})`];
  });
  if (parts.length === 0) return [];
  return [
    subject.chance.pick([`The desk sees ${listed(parts)}.`, `Among the majors stand ${listed(parts)}.`]),
  ];
}

function ranges(subject: Subject): string[] {
  const [high, low] = [find(subject, "BTC 24-hour high"), find(subject, "BTC 24-hour low")];
  if (high === undefined || low === undefined) return [];
  return [`Bitcoin has moved between ${slot(low)} and ${slot(high)}.`];
}

function breadth(subject: Subject): string[] {
  const rising = subject.facts.find(({ about }) => about.startsWith("Market coins that rose"));
  const majors = new Set(["BTC", "ETH", "SOL", subject.focus ?? ""]);
  const movers = subject.facts
    .filter(({ about, isModels }) => !isModels && about.endsWith(" price change over 24 hours"))
    .filter(({ about }) => !majors.has(about.split(" ")[0] ?? ""))
    .slice(0, 3);
  const searched = subject.facts.filter(({ about }) => about.endsWith("place among the most searched coins"));
  return [
    ...(rising === undefined ? [] : [`Of the 50 largest coins ${slot(rising)} trade higher than a day ago.`]),
    ...(movers.length === 0
      ? []
      : [
          `The widest moves belong to ${listed(movers.map((one) => `${one.about.split(" ")[0]} (${slot(one)})`))}.`,
        ]),
    ...(searched.length === 0
      ? []
      : [
          `Search interest concentrates on ${listed(searched.slice(0, 4).map(({ about }) => about.split(" ")[0] ?? ""))}.`,
        ]),
  ];
}

function flows(subject: Subject): string[] {
  const bid = find(subject, "BTC buy orders within 1 % of the price");
  const ask = find(subject, "BTC sell orders within 1 % of the price");
  const funding = find(subject, "BTC perpetual funding rate per hour");
  const interest = find(subject, "BTC open interest in perpetuals");
  const supply = find(subject, "Market supply of dollar stablecoins");
  const week = find(subject, "Market change of the supply of dollar stablecoins over 7 days");
  return [
    ...(bid === undefined || ask === undefined
      ? []
      : [`Near the price of Bitcoin stand buy orders of ${slot(bid)} and sell orders of ${slot(ask)}.`]),
    ...(funding === undefined || interest === undefined
      ? []
      : [`Perpetual funding of Bitcoin reads ${slot(funding)}, on open interest of ${slot(interest)}.`]),
    ...(supply === undefined || week === undefined
      ? []
      : [`Dollar stablecoins amount to ${slot(supply)}, a change of ${slot(week)}.`]),
  ];
}

function persistent(subject: Subject, say: Say): string[] {
  const fact = subject.facts.find(({ about }) => about.startsWith("Most persistent trending tokens"));
  const symbols = (fact?.told ?? "").split(", ").flatMap((one) => one.split(" ")[0] || []);
  return symbols.length === 0 ? [] : [say(phrases.PERSISTENT, { persistent: listed(symbols.slice(0, 3)) })];
}

/** Statements that only models make are passed on as reported. */
function reported(subject: Subject, say: Say): string[] {
  const latest = (start: string) =>
    subject.facts.findLast(({ about, isModels }) => isModels && about.startsWith(start));
  const quote = (templates: readonly string[], fact: ToldFact | undefined) =>
    fact === undefined ? [] : [say(templates, { quote: slot(fact) })];
  const details = subject.facts.filter(({ about, isModels }) => isModels && / sentiment$/.test(about));
  return [
    ...quote(phrases.SENTIMENT, latest("Social sentiment")),
    ...quote(phrases.ONCHAIN, latest("On-chain signals")),
    ...quote(phrases.DETAIL, details.length === 0 ? undefined : subject.chance.pick(details)),
    ...(subject.missing === 0 ? [] : [say(phrases.THIN)]),
  ];
}

function focusSentence(focus: string, subject: Subject): string {
  const price = find(subject, `${focus} price`) ?? find(subject, `${focus} last trade`);
  const change = changeOf(subject.facts, focus);
  const cap = find(subject, `${focus} market capitalisation`);
  const name = `${nameOf(focus)} (${focus})`;
  if (price === undefined) return `On ${name}, the focus of this note, no source tells a price today.`;
  const parts = [
    `trades at ${slot(price)}`,
    ...(change === undefined ? [] : [`after a move of ${slot(change)}`]),
    ...(cap === undefined ? [] : [`on a capitalisation of ${slot(cap)}`]),
  ];
  return `${name}, the focus of this note, ${parts.join(" ")}.`;
}

function changed(subject: Subject): string[] {
  const changes = subject.facts.filter(({ about }) => /^(?:BTC|ETH) price since /.test(about));
  return changes.map((fact) => {
    const [symbol = "", since = ""] = fact.about.split(" price since ");
    return `Since ${since}, ${nameOf(symbol)} has moved by ${slot(fact)}.`;
  });
}

function headlines(subject: Subject): string[] {
  const fact = subject.facts.find(({ about }) => about.endsWith(" headline"));
  return fact === undefined ? [] : [`The news says: ${slot(fact)}.`];
}

function summary(subject: Subject): string {
  const { outlook, facts, focus } = subject;
  const tone = { bullish: "Risk on", bearish: "Risk off", neutral: "Range-bound" }[outlook];
  const symbol = focus ?? "BTC";
  const price = find(subject, `${symbol} price`);
  const change = changeOf(facts, symbol);
  if (price === undefined || change === undefined) return `${MARKS[outlook]} ${tone}, on few facts`;
  return `${MARKS[outlook]} ${tone}: ${symbol} ${slot(price)}, ${slot(change)}`;
}

function impacts(subject: Subject): Impact[] {
  const { facts, focus, chance } = subject;
  const changes = facts.filter(
    ({ about, isModels }) => !isModels && about.endsWith(" price change over 24 hours"),
  );
  const symbols = [
    ...new Set([
      ...(focus === null ? [] : [focus]),
      ...changes.map(({ about }) => about.split(" ")[0] ?? ""),
    ]),
  ];
  const ofMarket = symbols.slice(0, chance.whole(3, 5)).map((symbol): Impact => {
    const change = changeOf(facts, symbol);
    const price = find(subject, `${symbol} price`);
    const sentiment = outlookOf(change?.value ?? 0);
    const moved =
      change === undefined || price === undefined
        ? `${symbol} is told of without figures.`
        : `${symbol} has moved ${slot(change)}, to ${slot(price)}.`;
    return {
      title: NAMES[symbol] === undefined ? symbol : `${nameOf(symbol)} (${symbol})`,
      detail: `${moved} ${chance.pick(WATCH[sentiment])}`,
      sentiment,
      confidence: Number(
        Math.min(0.9, 0.45 + Math.abs(change?.value ?? 0) / 25 + chance.between(0, 0.1)).toFixed(2),
      ),
    };
  });
  const themes = ["Liquidity", "Positioning", "Attention"].map((title): Impact => ({
    title,
    detail: chance.pick(WATCH[subject.outlook]),
    sentiment: subject.outlook,
    confidence: 0.5,
  }));
  return [...ofMarket, ...themes].slice(0, Math.max(3, ofMarket.length));
}

const WATCH: Record<Outlook, readonly string[]> = {
  bullish: ["Momentum favours further gains while volume holds.", "Dips are likely to find buyers."],
  bearish: ["Further weakness is likely until volume returns.", "Rallies are likely to meet supply."],
  neutral: ["A break of the day's range should decide the direction.", "No edge until volume picks a side."],
};

/** In one pass, so that nothing inside a value is taken for a placeholder. */
function fill(template: string, values: Record<string, string>): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

function wordsIn(sentences: readonly string[]): number {
  return sentences.join(" ").split(/\s+/).length;
}
