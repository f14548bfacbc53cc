import { describe, expect, test } from "vitest";
import { checkSentence, checkTogether } from "../../convex/evidence/checking";
import { ledgerOf, settle, sourceOfFact, type Source } from "../../convex/evidence/citing";
import { changeSaying } from "../../convex/evidence/changes";
import { namesOf } from "../../convex/evidence/names";
import type { Fact } from "../../convex/evidence/tables";
import { SHAPES } from "../../scripts/bench/sentenceShapes";
import { SHAPES_APART } from "../../scripts/bench/sentenceShapesApart";
import { countShapes } from "../../scripts/bench/shapes";

/** Whose figure it is, of what kind, over what time and which way it went: what a cited fact must say beside the number. */

const NOW = Date.UTC(2026, 0, 5, 9, 30);

type Row = readonly [Fact["subject"], Fact["kind"], Fact["value"], Fact["unit"], string?];

const OBSERVED: readonly Row[] = [
  ["BTC", "price", 97_250.5, "USD"],
  ["BTC", "change24h", 2.13, "percent"],
  ["ETH", "price", 3_410.2, "USD"],
  ["ETH", "change24h", -3.24, "percent"],
  ["BTC", "marketCap", 1.9263e12, "USD"],
  ["BTC", "volume24h", 30.4e9, "USD"],
  ["BTC", "funding", 0.0013, "percent", "Hyperliquid"],
  ["BTC", "openInterest", 12.1e9, "USD", "Hyperliquid"],
  ["BTC", "lastTrade", 97_301, "USD", "Coinbase"],
  ["BTC", "high48h", 98_400, "USD", "Coinbase"],
  ["market", "rising", 31, "count"],
  ["market", "stablecoinSupply", 240.2e9, "USD", "DefiLlama"],
  ["market", "stablecoinWeek", 0.31, "percent", "DefiLlama"],
  ["Base", "blockTransactions", 214, "count", "Base, read over RPC"],
  ["Base", "usdcSupply", 4.1e9, "USD", "Base, read over RPC"],
  ["BTC", "bidDepth", 25.3e6, "USD", "Coinbase"],
  ["ETH", "volume24h", 15.1e9, "USD"],
  ["BTC", "dayVolume", 21_400, "coins", "Coinbase"],
  ["news", "headline", "Solana funds lose $420 million in a week", "text"],
];

const facts = OBSERVED.map(([subject, kind, value, unit, source = "CoinGecko"]): Fact => ({
  ...{ subject, kind, value, unit, source },
  observedAt: NOW - 30 * 60_000,
  url: "https://example.org/figures",
}));
const change = {
  ...{ subject: "BTC", what: "price", from: 96_400, to: 97_250.5, unit: "USD", percent: 0.882 },
  since: "report" as const,
  fromAt: NOW - 150 * 60_000,
  toAt: NOW - 30 * 60_000,
};
const sources: Source[] = [
  ...facts.map(sourceOfFact),
  {
    says: changeSaying(change),
    value: change.percent,
    unit: "percent" as const,
    about: { subject: "BTC", kind: "price" as const, since: "report" as const, source: "computed" },
    observedAt: change.toAt,
    name: "computed",
    url: null,
  },
].map((source, index) => ({ ...source, id: index + 1 }));

const named: Fact[] = [
  ["SOL", "Solana"],
  ["HYPE", "Hyperliquid"],
  ["ADA", "Cardano"],
].map(([subject = "", value = ""]) => ({
  ...{ subject, kind: "name", value, unit: "text", source: "CoinGecko" },
  observedAt: NOW,
  url: "https://example.org/names",
}));
const names = namesOf([...facts, ...named]);
const ledger = ledgerOf(sources, NOW, { names });
const problems = (sentence: string) => checkSentence(sentence, ledger).problems;

describe("a figure passes", () => {
  test.each([
    "Bitcoin at $97,250 is up 2.1 % on the day while ether lags at −3.2 % [f1][f2][f4].",
    "Bitcoin trades at $97,250 [f1] and Ether at $3,410 [f3].",
    "$97,250 [f1] for Bitcoin compares with $3,410 [f3] for Ether.",
    "At $97,250 [f1], Bitcoin leads Ether, which stands at $3,410 [f3].",
    "Ether lags Bitcoin at −3.2 % [f4].",
    "Unlike Bitcoin, Ether fell 3.2 % [f4].",
    "Bitcoin and Ether cost $97,250 and $3,410 respectively [f1][f3].",
    "Bitcoin ($97,250 [f1], +2.1 % [f2]) is ahead of Ether ($3,410 [f3], −3.2 % [f4]).",
    "Bitcoin's volume of $30.4bn [f6] is twice Ether's $15.1bn [f17].",
    "Bitcoin's volume of $30.4bn [f6] is 2.0 times that of Ether, $15.1bn [f17].",
    "More than half of the 50 largest coins rose [f11].",
    "Some 62 % of the 50 largest coins rose [f11].",
    "On Hyperliquid, Bitcoin funding is 0.0013 % an hour [f7].",
    "On Coinbase the last trade in Bitcoin was $97,301 [f9].",
    "Bitcoin's 48-hour high is $98,400 [f10].",
    "Bitcoin aside, 31 of the 50 largest coins rose [f11].",
    "Stablecoin supply grew 0.31 % over seven days, to $240.2bn [f13][f12].",
    "There is $4.1bn of USDC on Base [f15].",
    "Some 21,400 BTC changed hands on Coinbase [f18].",
    "Bids within 1 % of Bitcoin's price come to $25.3M [f16].",
    "Since the last report Bitcoin has gained 0.88 %, from $96,400 to $97,250 [f20].",
    "Funding eased to 0.0013 % an hour [f7], though positive.",
    "Solana weighs on the mood: “Solana funds lose $420 million in a week” [f19].",
  ])("%s", (sentence) => expect(problems(sentence)).toEqual([]));
});

describe("a figure fails", () => {
  test.each([
    ["is another coin's", "ETH trades at $97,250 [f1]."],
    ["is another coin's, by its name", "Cardano trades at $97,250 [f1]."],
    ["is a coin's that nobody knows", "$NOPE trades at $97,250 [f1]."],
    ["is the other's of two", "Bitcoin and Ether cost $3,410 and $97,250 [f3][f1]."],
    ["is the other's of a comparison", "Ether lags Bitcoin at +2.1 % [f2]."],
    ["is one's and said of both", "Bitcoin and Ether both rose 2.1 % [f2]."],
    ["is the whole market's", "Bitcoin's stablecoin supply is $240.2bn [f12]."],
    ["is of another chain", "There is $4.1bn of USDC on Ethereum [f15]."],
    ["counts another coin", "Some 21,400 ETH changed hands [f18]."],
    ["counts something else", "Bitcoin trades at 97,250 contracts [f1]."],
    ["counts other things", "Of the 50 largest, 31 wallets rose [f11]."],
    ["is another kind's", "Bitcoin's market cap is $97,250 [f1]."],
    ["is taken for a price", "Bitcoin trades at $1.93T [f5]."],
    ["is taken for a price without a word", "Bitcoin, at $30.4bn [f6], leads."],
    ["is taken for a gain", "Bitcoin gained 0.0013 % [f7]."],
    ["goes the other way", "BTC fell 2.1 % in 24 hours [f2]."],
    ["goes the other way with its sign", "Ether rose −3.2 % [f4]."],
    ["counts those that fell", "Of the 50 largest, 31 coins fell [f11]."],
    ["flows the other way", "Stablecoins shrank by 0.31 % over seven days [f13]."],
    ["is of another time", "Bitcoin rose 2.1 % over the past week [f2]."],
    ["is of the day, not of the report", "Since the last report Bitcoin has gained 2.1 % [f2]."],
    ["is of the report, not of the day", "Bitcoin rose 0.88 % in 24 hours [f20]."],
    ["is of the report without a word", "Bitcoin is up 0.88 % [f20]."],
    ["is of two days, not of one", "The 24-hour high of Bitcoin is $98,400 [f10]."],
    ["was so earlier", "Bitcoin trades at $96,400 [f20]."],
    ["is from another exchange", "On Binance Bitcoin trades at $97,301 on Coinbase's book [f1]."],
    ["is how a fact is worded", "Bitcoin is up 1 % [f16]."],
    ["is a ratio of other amounts", "Bitcoin's volume of $30.4bn [f6] is three times Ether's $15.1bn [f17]."],
    ["is the headline's of another coin", "Cardano funds lose $420 million [f19]."],
    ["turns the headline round", "Solana funds gain $420 million [f19]."],
  ])("that %s: %s", (_why, sentence) => expect(problems(sentence)).not.toEqual([]));
});

test("a sentence that names nobody is about whom the one before named, or about the report's focus", () => {
  const together = (...sentences: string[]) =>
    checkTogether(sentences, ledger).map((checked) => checked.problems.length);
  expect(together("Bitcoin leads.", "It trades at $97,250 [f1].")).toEqual([0, 0]);
  expect(together("Ether leads.", "It trades at $97,250 [f1].")).toEqual([0, 1]);
  expect(together("The price is $97,250 [f1].")).toEqual([0]);
  const onSolana = ledgerOf(sources, NOW, { names, focus: "SOL" });
  expect(checkSentence("The price is $97,250 [f1].", onSolana).problems).toHaveLength(1);
  const onBitcoin = ledgerOf(sources, NOW, { names, focus: "BTC" });
  expect(checkSentence("The price is $97,250 [f1].", onBitcoin).problems).toEqual([]);
});

test("an impact's detail is about its title, and a summary stands alone", () => {
  const impact = (title: string) => ({ title, detail: "It trades at $97,250 [f1]." });
  const settled = settle(
    {
      analysis: "Ether leads.",
      summary: "Up to $97,250 [f1]",
      impacts: [impact("Ether"), impact("Bitcoin")],
    },
    ledger,
  );
  expect(settled.impacts.map(({ title }) => title)).toEqual(["Bitcoin"]);
  expect(settled.summary).toBe("Up to $97,250 [1]");
});

test.each([
  ["shapes that the checker was built with", SHAPES],
  ["shapes that were kept apart", SHAPES_APART],
])(
  "of %s no untrue sentence passes, and hardly a true one is lost",
  (_which, shapes) => {
    const counts = countShapes(shapes, 3);
    expect(counts.passed).toEqual([]);
    expect(counts.truePassed / counts.figures).toBeGreaterThanOrEqual(0.99);
    expect(counts.wronged.length / counts.sentences).toBeLessThanOrEqual(0.02);
    for (const count of Object.values(counts.flawed)) expect(count).toBeGreaterThan(10);
  },
  120_000,
);

test.each([
  "Bitcoin's volatility rose 2.13 % [f2].",
  "Bitcoin's dominance is up 2.13 % [f2] today.",
  "The hash rate of Bitcoin rose 2.13 % [f2].",
  "Bitcoin's price target is $97,250 [f1].",
  "Bitcoin rose 2.13 % [f2] since January.",
])("what no fact measures is not proven by another figure: %s", (sentence) => {
  expect(problems(sentence)).not.toEqual([]);
});

test.each([
  ["names", `Bitcoin trades at $97,250 [f1], higher than ${"Ether, than ".repeat(70)}Solana.`],
  ["words", `Bitcoin trades at $97,250 [f1], ${"which is what it is, ".repeat(80)}they say.`],
])("a sentence of too many %s is not read, and not proven", (_what, sentence) => {
  expect(problems(sentence)).toEqual([expect.stringContaining("too long")]);
});
