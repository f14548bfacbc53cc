/**
 * Part of the gateway's stand-in for local use: a research note from the numbered facts in the prompt, within the
 * requested contract. As the prompt requires, it writes no figures of its own but slots of facts.
 */

import { outlookOf, type Outlook } from "./market";
import { random, type Random } from "./random";
import { factsIn, focusToken, listed, slot, type ToldFact } from "./words";

const TEN_MINUTES = 10 * 60_000;
const MARKS: Record<Outlook, string> = { bullish: "🟢", bearish: "🔴", neutral: "🟡" };
const NAMES: Readonly<Record<string, string>> = { BTC: "Bitcoin", ETH: "Ethereum", SOL: "Solana" };
/** A quotation prints some 20 words more than its slot, so that a note of these lengths ends below 600 words. */
const WORDS = { from: 405, to: 440 };

const OPENINGS: Record<Outlook, string> = {
  bullish: "Risk appetite is back, and buyers set the pace of the session.",
  bearish: "Sellers set the pace, and the market is on the back foot.",
  neutral: "The market is marking time, and neither side commands the tape.",
};
const CLOSINGS: Record<Outlook, string> = {
  bullish: "The balance of evidence is bullish, and the burden of proof now lies with the sellers.",
  bearish: "The balance of evidence is bearish, and the burden of proof now lies with the buyers.",
  neutral: "The balance of evidence is neutral, and patience is the better part of positioning here.",
};
const WATCH: Record<Outlook, readonly string[]> = {
  bullish: ["Momentum favours further gains while volume holds.", "Dips are likely to find buyers."],
  bearish: ["Further weakness is likely until volume returns.", "Rallies are likely to meet supply."],
  neutral: ["A break of the day's range should decide the direction.", "No edge until volume picks a side."],
};

/** Sentences that are true in any market, to bring a note to its length. */
const GENERAL = [
  "The majors still absorb most of the day's turnover, so that their direction sets the tone for everything further out on the risk curve.",
  "Breadth of this kind has tended to persist for several hours before it turns, which argues for patience with positions that already work.",
  "Stablecoin prices hold their peg closely, so that the funding side of the market shows no sign of stress.",
  "Macroeconomic releases remain the obvious outside risk, and a surprise in rates or the dollar would overrule every signal discussed here.",
  "Intraday swings in the majors remain modest by historical standards, and short-dated volatility has little reason to reprice from here alone.",
  "Smaller capitalisations react with a wider amplitude than Bitcoin, and their moves should be sized with that leverage in mind.",
  "Exchange balances deserve attention over the next sessions, because transfers ahead of a move tend to cluster and seldom come alone.",
  "Leverage is the quieter risk: crowded positions unwind quickly, and a cascade of liquidations rarely stops at a tidy technical level.",
  "Order books around the current price look balanced, which leaves the next impulse to flows rather than to positioning already in place.",
  "Rotation between sectors continues under the surface, with capital leaving yesterday's winners rather than the market as a whole.",
  "Narratives spread faster than fundamentals change, and the desk discounts any story that has not yet appeared in volume.",
  "Position sizes should reflect the possibility that correlations rise towards one exactly when diversification is needed the most.",
  "Time of day matters as well: liquidity thins between the American close and the Asian open, when moves tend to overshoot.",
  "A narrow advance is fragile, and the number of coins that take part says more than the size of the largest gain.",
  "Where mood and flows disagree, the desk gives flows more weight, since they commit capital while opinions commit nothing.",
  "Nothing here is certain, and a plan that survives being wrong is worth more than a forecast that happens to be right.",
  "What moves the majors first tends to reach the rest within the session, and the order in which coins follow is worth watching.",
  "Depth near the price is what large orders meet first, and a thin book turns an ordinary order into a headline.",
];

/** @param at Epoch ms. */
export function researchResult(prompt: string, seed: string, at: number): unknown {
  const [before = "", evidence = ""] = prompt.split("Evidence:");
  const focus = focusToken(before);
  const facts = factsIn(evidence);
  const outlook = outlookOf((changeOf(facts, focus ?? "BTC") ?? changeOf(facts, "BTC"))?.value ?? 0);
  const chance = random(seed, "research", Math.floor(at / TEN_MINUTES), focus ?? "");
  const [price, change] = [priceOf(facts, focus ?? "BTC"), changeOf(facts, focus ?? "BTC")];
  const tone = { bullish: "Risk on", bearish: "Risk off", neutral: "Range-bound" }[outlook];
  const [summary = `${tone}, on few facts`] = told(`${tone}: ${focus ?? "BTC"} {}, {}`, price, change);
  return {
    fullAnalysis: analysis(facts, focus, outlook, evidence.includes("\nMissing: "), chance),
    shortSummary: `${MARKS[outlook]} ${summary}`,
    marketOutlook: outlook,
    impacts: impacts(facts, focus, outlook, chance),
  };
}

const nameOf = (symbol: string): string => NAMES[symbol] ?? symbol;

/** A sentence with the slots of facts in the place of `{}`; nothing where a fact is missing. */
function told(sentence: string, ...facts: (ToldFact | undefined)[]): string[] {
  const slots = facts.flatMap((fact) => (fact === undefined ? [] : [slot(fact)]));
  return slots.length < facts.length ? [] : [sentence.replaceAll("{}", () => slots.shift() ?? "")];
}

function changeOf(facts: readonly ToldFact[], symbol: string): ToldFact | undefined {
  const kinds = ["price change over 24 hours", "change of the last trade over 24 hours"];
  return facts.find(({ about }) => kinds.some((kind) => about === `${symbol} ${kind}`));
}

function priceOf(facts: readonly ToldFact[], symbol: string): ToldFact | undefined {
  const of = (kind: string) => facts.find(({ about }) => about === `${symbol} ${kind}`);
  return of("price") ?? of("last trade");
}

function analysis(
  facts: readonly ToldFact[],
  focus: string | null,
  outlook: Outlook,
  isThin: boolean,
  chance: Random,
): string {
  const of = (about: string) => facts.find((fact) => fact.about === about);
  /** Statements that only models make are passed on as reported. */
  const reported = (start: string) => facts.findLast((fact) => fact.isModels && fact.about.startsWith(start));
  const majors = Object.keys(NAMES).flatMap((symbol) =>
    told(`${nameOf(symbol)} at {} ({})`, priceOf(facts, symbol), changeOf(facts, symbol)),
  );
  const movers = moversIn(facts).filter((symbol) => symbol !== focus && NAMES[symbol] === undefined);
  const searched = facts.filter(({ about }) => about.endsWith("place among the most searched coins"));
  const persistent = facts.find(({ about }) => about.startsWith("Most persistent trending tokens"));
  const firsts = (items: readonly string[], most: number) =>
    listed(items.slice(0, most).map((one) => one.split(" ")[0] ?? ""));
  const named = (sentence: string, items: readonly string[], most: number) =>
    items.length === 0 ? [] : [sentence.replace("{}", firsts(items, most))];
  const sections = [
    [
      OPENINGS[outlook],
      ...(majors.length === 0 ? [] : [`The desk sees ${listed(majors)}.`]),
      ...told("Bitcoin has moved between {} and {}.", of("BTC 24-hour low"), of("BTC 24-hour high")),
      ...(focus === null ? [] : [focusSentence(facts, focus)]),
    ],
    [
      ...named("The widest moves belong to {}.", movers, 3),
      ...named(
        "Search interest concentrates on {}.",
        searched.map(({ about }) => about),
        4,
      ),
      ...named(
        "The collections show {} as the most persistent names.",
        persistent?.told.split(", ") ?? [],
        3,
      ),
    ],
    [
      ...told(
        "Near the price of Bitcoin stand buy orders of {} and sell orders of {}.",
        of("BTC buy orders within 1 % of the price"),
        of("BTC sell orders within 1 % of the price"),
      ),
      ...told(
        "Perpetual funding of Bitcoin reads {}, on open interest of {}.",
        of("BTC perpetual funding rate per hour"),
        of("BTC open interest in perpetuals"),
      ),
      ...told("On the social side, models report: {}.", reported("Social sentiment")),
      ...told("On-chain signals are reported as {}.", reported("On-chain signals")),
      ...(isThin ? ["The evidence is thin, since some of the desk's sources delivered nothing."] : []),
    ],
    told(
      "The news says: {}.",
      facts.find(({ about }) => about.endsWith(" headline")),
    ),
  ];
  const whole = () => [...sections.filter((one) => one.length > 0), [CLOSINGS[outlook]]];
  const words = () => whole().flat().join(" ").split(/\s+/).length;
  const target = chance.whole(WORDS.from, WORDS.to);
  for (const [index, sentence] of chance.shuffled(GENERAL).entries()) {
    if (words() >= target) break;
    sections[index % sections.length]?.push(sentence);
  }
  return whole()
    .map((sentences) => sentences.join(" "))
    .join("\n\n");
}

function moversIn(facts: readonly ToldFact[]): string[] {
  const changes = facts.filter(
    ({ about, isModels }) => !isModels && about.endsWith(" price change over 24 hours"),
  );
  return changes.map(({ about }) => about.split(" ")[0] ?? "");
}

function focusSentence(facts: readonly ToldFact[], focus: string): string {
  const [price, change] = [priceOf(facts, focus), changeOf(facts, focus)];
  const name = `${nameOf(focus)} (${focus})`;
  if (price === undefined) return `On ${name}, the focus of this note, no source tells a price today.`;
  const moved = change === undefined ? "" : `, after a move of ${slot(change)}`;
  return `${name}, the focus of this note, trades at ${slot(price)}${moved}.`;
}

function impacts(
  facts: readonly ToldFact[],
  focus: string | null,
  outlook: Outlook,
  chance: Random,
): unknown[] {
  const symbols = [...new Set([...(focus === null ? [] : [focus]), ...moversIn(facts)])];
  const ofCoins = symbols.slice(0, 4).map((symbol) => {
    const [price, change] = [priceOf(facts, symbol), changeOf(facts, symbol)];
    const sentiment = outlookOf(change?.value ?? 0);
    const [moved = `${symbol} is told of without figures.`] = told(
      `${symbol} has moved {}, to {}.`,
      change,
      price,
    );
    return {
      title: NAMES[symbol] === undefined ? symbol : `${nameOf(symbol)} (${symbol})`,
      detail: `${moved} ${chance.pick(WATCH[sentiment])}`,
      sentiment,
      confidence: Number(Math.min(0.9, 0.5 + Math.abs(change?.value ?? 0) / 25).toFixed(2)),
    };
  });
  const themes = ["Liquidity", "Positioning", "Attention"].map((title) => {
    return { title, detail: chance.pick(WATCH[outlook]), sentiment: outlook, confidence: 0.5 };
  });
  return [...ofCoins, ...themes].slice(0, Math.max(3, ofCoins.length));
}
