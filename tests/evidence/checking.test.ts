import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkSentence } from "../../convex/evidence/checking";
import { ledgerOf, settle, type Source } from "../../convex/evidence/citing";
import { sayingOf, unitOf } from "../../convex/evidence/kinds";
import { sentencesOf } from "../../convex/evidence/sentences";
import type { Fact } from "../../convex/evidence/tables";
import { altered } from "../../scripts/bench/alterations";
import { count } from "../../scripts/bench/figures";
import { random } from "../../scripts/stack/standins/random";

/** Which figures pass: those that a cited fact says, within the rounding shown. */

const NOW = Date.UTC(2026, 0, 5, 9, 30);

function fact(id: number, told: Pick<Fact, "subject" | "kind" | "value" | "unit">): Source {
  const { subject, kind } = told;
  const value = typeof told.value === "number" ? told.value : null;
  const [name, url] = ["CoinGecko", "https://www.coingecko.com"];
  const about = value === null ? null : { subject, kind, since: null, source: name };
  return {
    id,
    says: sayingOf(told),
    value,
    unit: unitOf(told),
    about,
    observedAt: NOW - 30 * 60_000,
    name,
    url,
  };
}

const PRICE = { subject: "BTC", kind: "price", value: 97_250.5, unit: "USD" } as const;
const RISE = { subject: "BTC", kind: "change24h", value: 1.4213, unit: "percent" } as const;
const FALL = { subject: "ETH", kind: "change24h", value: -3.24, unit: "percent" } as const;
const CAP = { subject: "BTC", kind: "marketCap", value: 1.9263e12, unit: "USD" } as const;
const RISING = { subject: "market", kind: "rising", value: 31, unit: "count" } as const;
const NEWS = {
  subject: "market",
  kind: "headline",
  value: "Funds add $420 million in 2 weeks",
  unit: "text",
} as const;
const FUNDING = { subject: "BTC", kind: "funding", value: 0.0013, unit: "percent" } as const;

const facts = new Map(
  [PRICE, RISE, FALL, CAP, RISING, NEWS, FUNDING].map((told, index) => [index + 1, fact(index + 1, told)]),
);
const ledger = ledgerOf([...facts.values()], NOW);
const problems = (sentence: string) => checkSentence(sentence, ledger).problems;

describe("a figure passes", () => {
  test.each([
    "Bitcoin trades at $97,250.50 [f1].",
    "Bitcoin trades at $97,251 [f1].",
    "Bitcoin trades near $97k [f1].",
    "Bitcoin trades near 97,3k USD [f1].",
    "Bitcoin, at 97.250,50 USD [f1], leads.",
    "[f1] puts Bitcoin at $97,250.5.",
    "Bitcoin is up 1.4 % [f2].",
    "Bitcoin is up +1,42 % [f2] at $97,250 [f1].",
    "Bitcoin is up 142 bps [f2].",
    "Ether fell 3.2 % [f3].",
    "Ether is at −3.24% [f3].",
    "A decline of 3.2 percent [f3] took Ether down.",
    "The market capitalisation is $1.93 trillion [f4].",
    "The market capitalisation is 1,926 billion dollars [f4].",
    "Of the 50 largest, 31 coins rose [f5].",
    "The news: “Funds add $420 million in 2 weeks” [f6].",
    "Funding stays near 0.0013 % an hour [f7].",
    "On 5 January 2026, Bitcoin stood at $97,250 [f1].",
    "At 09:00 UTC Bitcoin stood at $97,250 [f1].",
    "Bitcoin and Ether moved +1.4 % and -3.2 % [f2][f3].",
    "Bitcoin and Ether moved +1.4 % and -3.2 % [f2, f3].",
    "Three themes stand out over the next 24 hours.",
  ])("%s", (sentence) => expect(problems(sentence)).toEqual([]));
});

describe("a fact's own words pass", () => {
  test.each([
    ["BTC", "rank", 1, "count"],
    ["BTC", "price", 97_250.5, "USD"],
    ["BTC", "change24h", -1.42, "percent"],
    ["BTC", "marketCap", 1.9263e12, "USD"],
    ["BTC", "volume24h", 4.1e10, "USD"],
    ["market", "rising", 31, "count"],
    ["PEPE", "trendingPlace", 3, "count"],
    ["PEPE", "trendingChange", -8.91, "percent"],
    ["BTC", "lastTrade", 97_251, "USD"],
    ["BTC", "dayChange", 1.3, "percent"],
    ["BTC", "dayHigh", 98_000, "USD"],
    ["BTC", "dayLow", 95_800.25, "USD"],
    ["BTC", "dayVolume", 12_345.6, "coins"],
    ["BTC", "bidDepth", 5_543_490, "USD"],
    ["BTC", "askDepth", 6_704_735, "USD"],
    ["BTC", "spread", 0.12, "bps"],
    ["BTC", "high48h", 98_400, "USD"],
    ["BTC", "low48h", 94_000, "USD"],
    ["BTC", "funding", 0.00125, "percent"],
    ["BTC", "openInterest", 2.1e9, "USD"],
    ["market", "stablecoinSupply", 3.1e11, "USD"],
    ["market", "stablecoinWeek", -0.4, "percent"],
    ["Base", "blockTransactions", 187, "count"],
    ["Base", "baseFee", 0.0042, "gwei"],
    ["Base", "usdcSupply", 4.2e9, "USD"],
  ] as const)("of %s, %s", (subject, kind, value, unit) => {
    const ledger = ledgerOf([fact(1, { subject, kind, value, unit })], NOW);
    const told = `${sayingOf({ subject, kind, value, unit })} [f1].`;
    expect(checkSentence(told, ledger).problems).toEqual([]);
  });
});

describe("a figure fails", () => {
  test.each([
    ["is another", "Bitcoin trades at $98,250 [f1]."],
    ["is rounded too far", "Bitcoin trades at $100,000 [f1]."],
    ["shows more than is so", "Bitcoin is up 1.44 % [f2]."],
    ["is cut instead of rounded", "The capitalisation is $1.92T [f4]."],
    ["has lost its scale", "The capitalisation is $1.93bn [f4]."],
    ["has lost a decimal", "Bitcoin is up 14 % [f2]."],
    ["cites nothing", "Bitcoin trades at $97,250."],
    ["cites another fact", "Bitcoin trades at $97,250 [f2]."],
    ["cites what is no fact", "Bitcoin trades at $97,250 [f99]."],
    ["has another unit", "Bitcoin is up $1.42 [f2]."],
    ["goes the other way", "Ether rose 3.2 % [f3]."],
    ["has the other sign", "Ether stands at +3.2 % [f3]."],
    ["has lost its sign", "Ether's change is 3.2 % [f3]."],
    ["is vouched for by the fact of a figure behind it", "Bitcoin is up 1.4 % [f2] at $97,250 [f2]."],
    ["leans on one fact twice", "Bitcoin and Ether are up 1.4 % and 1.4 % [f2][f3]."],
    ["counts another count", "Of the 50 largest, 32 coins rose [f5]."],
    ["counts in words", "Some fourteen percent up [f2]."],
    ["hides in another script", "Bitcoin trades at ٩٧٢٥٠ USD [f1]."],
    ["hides behind what cannot be seen", "Bitcoin trades at $9\u200B8,250 [f1]."],
    ["is of another day", "On 4 January 2026, Bitcoin stood at $97,250 [f1]."],
    ["is of another hour", "At 08:00 UTC Bitcoin stood at $97,250 [f1]."],
    ["is of another year", "As in 2024, Bitcoin stands at $97,250 [f1]."],
    ["quotes the news wrongly", "The news: “Funds add $520 million” [f6]."],
    ["is a multiple nobody saw", "Volume doubled to $1.93 trillion [f4]."],
    ["hides behind a hyphen", "Traders eye the sub-90k area, or a return to the mid-80s."],
    ["hides its first digit behind a hyphen", "Bitcoin gained plus-91 % [f2]."],
    ["is joined to its currency and its scale", "Flows of USD5bn and EUR3bn hit exchanges."],
    ["is joined to a word", "Support lies at target90000."],
    ["is a part of a percent in words", "It rose half a percent."],
    ["is a multiple in the present", "Volume doubles, and could triple."],
    ["is a multiple in other words", "Volume is twice its norm, up fivefold."],
    ["is a fraction in words", "It fell by half and lost a fifth of its value."],
    ["is a share in words", "Nine in ten wallets are in profit."],
    ["is an amount in euros", "Bitcoin trades at €97,250 [f1]."],
  ])("that %s: %s", (_why, sentence) => expect(problems(sentence)).not.toEqual([]));
});

/** What one fact says, in the hands of many writers. */
const usd = fc.double({ min: 0.00001, max: 5e12, noNaN: true }).map((value) => Number(value.toPrecision(12)));
const percent = fc.double({ min: -99, max: 300, noNaN: true });
const places = fc.integer({ min: 0, max: 4 });
const sentenceOf = fc.oneof(
  fc
    .record({ value: usd, places, style: fc.integer({ min: 0, max: 3 }) })
    .map(({ value, places: shown, style }) => {
      const digits =
        value < 10 ? Math.min(12, shown + 3 + Math.max(0, -Math.floor(Math.log10(value)))) : shown;
      const plainly = value.toLocaleString("en-US", {
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
      });
      const big = value >= 1e9 ? `$${(value / 1e9).toFixed(2)}bn` : `$${plainly}`;
      const text = [`$${plainly}`, `${plainly} USD`, `US$ ${plainly}`, big][style] ?? plainly;
      return { told: { ...PRICE, value }, text: `It stands at ${text} [f1] today.` };
    }),
  fc.record({ value: percent, places, comma: fc.boolean() }).map(({ value, places: shown, comma }) => {
    // Three places behind a comma are thousands to an English reader, and to the checker.
    const digits = Math.abs(value).toFixed(comma && shown === 3 ? 2 : shown);
    const sign = value < 0 ? "−" : "+";
    return {
      told: { ...RISE, value },
      text: `It is at ${sign}${comma ? digits.replace(".", ",") : digits} % [f1] today.`,
    };
  }),
);

test("whatever is rounded as shown passes, and altered it does not", () => {
  fc.assert(
    fc.property(sentenceOf, fc.string({ minLength: 1, maxLength: 8 }), ({ told, text }, seed) => {
      const cited = ledgerOf([fact(1, told)], NOW);
      expect([text, checkSentence(text, cited).problems]).toEqual([text, []]);
      const other = altered(text, 1, random(seed));
      if (other === null) return;
      expect([other.sentence, checkSentence(other.sentence, cited).problems.length]).toEqual([
        other.sentence,
        1,
      ]);
    }),
    { numRuns: 800 },
  );
});

test("any text is read without a failure, and a sentence without digits or number words states no figure", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), (text) => {
      expect(checkSentence(text, ledger).figures).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 600 },
  );
  const word = fc
    .stringMatching(/^[a-z]{3,9}$/)
    .filter((one) => !/^(?:dozen|doubl|tripl|quadr|halv|twice|ten|eleven|twelve)|fold$/.test(one));
  fc.assert(
    fc.property(fc.array(word, { maxLength: 20 }), (words) => {
      const text = words.join(" ");
      fc.pre(!/teen|ty\b|hundred|thousand|illion/.test(text));
      expect([text, checkSentence(text, ledger).figures]).toEqual([text, 0]);
    }),
  );
});

describe("a text of which something goes", () => {
  test("keeps the rest, cites by the order of its sources, and says what it lost", () => {
    const settled = settle(
      {
        analysis:
          "Ether fell 3.2 % [f3]. Bitcoin trades at $99,000 [f1]. It is up 1.4 % [f2].\n\nNothing else is certain, e.g. the close. Ether, at -3.24 % [f3], trails.",
        summary: "🟢 Bitcoin up 9 % [f2]",
        impacts: [
          { title: "BTC", detail: "Bitcoin is up 1.4 % [f2]. It costs $1 [f1].", weight: 1 },
          { title: "ETH", detail: "Ether costs $1 [f1].", weight: 2 },
        ],
      },
      ledger,
    );
    expect(settled.analysis).toBe(
      "Ether fell 3.2 % [1]. It is up 1.4 % [2].\n\nNothing else is certain, e.g. the close. Ether, at -3.24 % [1], trails.",
    );
    expect(settled.summary).toBeNull();
    expect(settled.impacts).toEqual([{ title: "BTC", detail: "Bitcoin is up 1.4 % [2].", weight: 1 }]);
    expect(settled.sources.map(({ id, says }) => [id, says])).toEqual([
      [1, "ETH price change over 24 hours: -3.24 %"],
      [2, "BTC price change over 24 hours: +1.421 %"],
    ]);
    expect(settled.checked).toEqual({ figures: 4, cited: 2, removed: 4 });
    expect(settled.lost).toBeCloseTo(4 / 11, 9);
  });
});

test.each([
  ["At $97,250.50 it holds. Then it falls.", 2],
  ["The U.S. dollar rose vs. the euro. It held.", 2],
  ["It said “no.” [f1] Then yes. [f2]", 2],
  ["1. Bitcoin leads. 2. Ether trails.", 2],
  ["Up 3.2 % [f1]! Really? Yes…", 3],
])("%s has %d sentences", (line, expected) => expect(sentencesOf(line)).toHaveLength(expected));

test("of a dozen reports no altered figure passes, and no true one is lost", () => {
  for (const hand of ["as written", "in other hands"] as const) {
    const counts = count(12, hand);
    expect([hand, counts.passed, counts.wronged]).toEqual([hand, [], []]);
    expect(counts.figures).toBeGreaterThan(300);
    expect(counts.alteredFigures).toBeGreaterThan(60);
  }
});
