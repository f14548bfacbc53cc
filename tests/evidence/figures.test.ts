import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { amountIn } from "../../convex/lib/text/locales";
import { counted, ledgerOf, sourceOfFact, withoutBrackets } from "../../convex/evidence/text/sources";
import { figuresIn } from "../../convex/lib/text/figures";
import { LOCALES, localeOf, SCRIPTS } from "../../convex/lib/text/locales";
import { plain } from "../../convex/lib/text/sentences";
import { leftoverProblem, settle } from "../../convex/evidence/text/settlement";
import { describeBrief } from "../../convex/research/writing/brief";
import { countWords } from "../../convex/research/writing/result";
import { createMarket } from "../../scripts/standins/sources/market";
import { researchResult } from "../../scripts/standins/gateway/research";
import { factOf, numbered, partsOf, sceneNamed } from "./corpus/reports";

/** Figures by form: what a writer may send, what readers see of it, and what nobody can make them see. */

const DESK = sceneNamed("desk");
const SCENES = ["up", "down", "surge", "slide", "calm"];
const { ledger: LEDGER, at: NOW } = DESK;
const written = (text: string) => numbered(text, DESK);
const sentencesOf = (file: string, part: string) =>
  (partsOf(file).find(({ title }) => title === part)?.text ?? "").split("\n");

/** Two lines each: what a writer wrote, and what readers see. */
function pairsOf(file: string, part: number): [sentence: string, told: string][] {
  const lines = (partsOf(file)[part]?.text ?? "").split("\n");
  return lines.flatMap((line, index) => (index % 2 === 0 ? [[line, lines[index + 1] ?? ""]] : []));
}

const shown = (text: string) => settle(written(text), LEDGER).text;

describe("a true sentence stays", () => {
  test.each(sentencesOf("sentences", "true"))("%s", (sentence) => {
    const { leftovers, removed } = settle(written(sentence), LEDGER);
    expect({ leftovers, removed }).toEqual({ leftovers: [], removed: 0 });
  });
});

describe("a false sentence with a figure that no fact has goes back, and then gives way to facts", () => {
  test.each(sentencesOf("sentences", "with a figure that no fact has"))("%s", (sentence) => {
    const { leftovers, removed, text } = settle(written(sentence), LEDGER);
    expect({ removed, isBack: leftovers.length > 0 }).toEqual({ removed: 1, isBack: true });
    // What is left are facts in code's words.
    expect(text).toMatch(/^$|^(?:[^:]+: [^ ]+.* \[\d+\](?:; )?)+\.$|^“.*” \[\d+(?:: model)?\]\.?$/);
  });
});

test.each([
  ["Ether sits at $3.659 [ETH.price].", "$3,659 [1: now]"],
  ["Ether notiert bei 3.659 $ [ETH.price].", "3.659 $ [1: now]"],
  [
    "The day's band is $99.9-106.1k [BTC.dayLow][BTC.dayHigh].",
    "$99,871-$106,120 [1: BTC 24-h low; 2: BTC 24-h high]",
  ],
])("a figure may be written by either convention: %s", (sentence, told) =>
  expect(shown(sentence).replace(/\u00A0/g, " ")).toContain(told),
);

describe("a false sentence around a true figure shows its own contradiction", () => {
  test.each(pairsOf("printed", 0))("%s", (sentence, told) => expect(shown(sentence)).toBe(told));
});

describe("a figure is printed", () => {
  test.each(pairsOf("printed", 1))("%s", (sentence, told) =>
    expect(shown(sentence).replace(/[\u00A0\u202F]/g, " ")).toBe(told),
  );

  test("without brackets in a summary, with what has to be said in parentheses", () => {
    const kept: number[] = [];
    const { text } = settle(written("🟢 Bitcoin {BTC.change24h} at {BTC.price} [BTC.price]"), LEDGER, {
      isBare: true,
      kept,
    });
    expect(text).toBe("🟢 Bitcoin +5.08% at $105,440 (24 h; now)");
    expect(kept).toHaveLength(2);
    expect(settle("🟢 Bitcoin at $42,000", LEDGER, { isBare: true }).text).toBe("");
  });

  test("and what no fact has is marked where an answer stays as it is", () => {
    const { text, leftovers } = settle(written("Bitcoin is at {BTC.price}. I see $120,000 ahead."), LEDGER, {
      left: "mark",
    });
    expect(text).toBe("Bitcoin is at $105,440 [1: now]. I see $120,000 [model] ahead.");
    expect(leftoverProblem(leftovers)).toContain("at “I see $120,000 ahead.”: “$120,000” cites no fact");
  });

  test("of a text without citations, from the facts of who was named last", () => {
    const told = settle("Ether trades at $3,659. It turned over $34.6 billion in 24 hours.", LEDGER, {
      isUncited: true,
    });
    expect(told.text).toBe(
      "Ether trades at $3,659 [1: now]. It turned over $34.6B [2: ETH 24-h volume] in 24 hours.",
    );
    expect(settle("Ether trades at $3,959.", LEDGER, { isUncited: true })).toMatchObject({
      text: "",
      removed: 1,
    });
  });

  test("in the lines, lists and tables of its text", () => {
    const text =
      "## Majors\n\n- BTC: {BTC.price}\n- ETH: {ETH.price}\n\n| Coin | 24 h |\n| --- | --- |\n| SOL | {SOL.change24h} |\n\nBitcoin leads. It was at $42,000 [BTC.price].";
    expect(shown(text)).toBe(
      "## Majors\n\n- BTC: $105,440 [1: now]\n- ETH: $3,659 [2: now]\n\n" +
        "| Coin | 24 h |\n| --- | --- |\n| SOL | −3.24% [3: 24 h] |\n\nBitcoin leads. BTC price: $105,440 [1].",
    );
  });
});

test("reports of the gateway's stand-in are kept whole, on any market", () => {
  for (const [index, name] of [...SCENES, ...SCENES, ...SCENES].entries()) {
    const { brief, at, ledger } = sceneNamed(name);
    const seed = `figures ${index}`;
    const prompt = `A report.\n\nEvidence:\n${describeBrief(brief)}`;
    const result = researchResult(prompt, { seed, market: createMarket({ seed, now: () => at }), at });
    const kept: number[] = [];
    const texts = [result.fullAnalysis, ...result.impacts.map(({ detail }) => detail)];
    const settled = texts.map((text) => settle(text, ledger, { kept, locale: "en" }));
    const summary = settle(result.shortSummary, ledger, { isBare: true, kept, locale: "en" });
    expect([...settled, summary].flatMap(({ leftovers }) => leftovers)).toEqual([]);
    expect([...summary.text].length).toBeLessThanOrEqual(100);
    const words = countWords(settled[0]?.text ?? "");
    expect(words >= 400 && words <= 600).toBe(true);
  }
});

const UNITS = ["USD", "percent"] as const;
const size = fc.double({ min: 1e-3, max: 9e12, noNaN: true });
const locale = fc.constantFrom(...LOCALES);

/** A fact of any value, alone in a ledger, and how a locale writes it. */
function alone(value: number, unit: (typeof UNITS)[number]) {
  const kind = unit === "USD" ? "price" : "change24h";
  const ledger = ledgerOf(counted(factOf("BTC", kind, value, NOW).map((one) => sourceOfFact(one))), NOW);
  return { ledger, print: (in_: (typeof LOCALES)[number]) => amountIn(in_, value, unit, { sign: "minus" }) };
}

const escaped = (text: string) => text.replace(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

describe("whatever the figures are", () => {
  test("what is printed is the value, within half a percent, in every language", () => {
    fc.assert(
      fc.property(size, fc.constantFrom(...UNITS), locale, (value, unit, in_) => {
        const [read, ...more] = figuresIn(plain(alone(value, unit).print(in_)), SCRIPTS[in_].point);
        expect(more).toEqual([]);
        expect(read?.unit).toBe(unit === "USD" ? "money" : "percent");
        const off = (read?.readings ?? []).map((one) => Math.abs(one.value / value - 1));
        expect(Math.min(...off), read?.text).toBeLessThan(0.006);
      }),
    );
  });

  test("a figure that is adopted is printed as its fact is: nothing a writer does changes a value", () => {
    const off = fc.double({ min: 0.9, max: 1.1, noNaN: true });
    fc.assert(
      fc.property(
        size,
        off,
        fc.integer({ min: 0, max: 4 }),
        fc.constantFrom(...UNITS),
        (value, by, places, unit) => {
          const { ledger, print } = alone(value, unit);
          const figure = (value * by).toFixed(places);
          const { text } = settle(
            `Bitcoin is at ${unit === "USD" ? `$${figure}` : `${figure} %`} [f1].`,
            ledger,
          );
          const told = withoutBrackets(text).replace(
            /^BTC price(?: change over 24 hours)?: \+?/,
            "Bitcoin is at ",
          );
          expect(told.replace("+", "")).toBe(`Bitcoin is at ${print("en")}.`);
        },
      ),
    );
  });

  test("an altered figure is never shown as said", () => {
    const factor = fc.oneof(
      fc.double({ min: 1.06, max: 10, noNaN: true }),
      fc.double({ min: 0.1, max: 0.94, noNaN: true }),
    );
    fc.assert(
      fc.property(size, factor, locale, locale, fc.constantFrom(...UNITS), (value, by, in_, other, unit) => {
        const { ledger, print } = alone(value, unit);
        const false_ = alone(value * by, unit).print(in_);
        const { text, leftovers } = settle(`Bitcoin: ${false_} [f1]. ${false_} [f1]`, ledger);
        const shown = withoutBrackets(text);
        // Not as a part of another figure ("1%" in "0.851%", "$1" in "$1.06").
        const isShown = new RegExp(`(?<![\\d.,])${escaped(false_)}(?!\\d|[.,]\\d)`).test(shown);
        expect({ false_, isShown, other }).toMatchObject({ isShown: false });
        // What the fact rounds to all the same ("$2" of $1.88) gives way to the fact's own figure.
        expect(leftovers.length === 2 || shown.includes(print(localeOf(text)))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("no digits of any script, marks, or words for numbers get by without a fact", () => {
    const part = fc.constantFrom(
      ..."1 7 0 ٣ ３ 七 Ⅻ ½ ² ① . , % $ - + k bn US$ # / 万 x".split(" "),
      ...[
        " percent",
        " Prozent",
        " ",
        "\u200B",
        "\uE000",
        "\u00A0",
        "seven",
        " million",
        "百分之",
        "[f1]",
        "{f1}",
        "{",
        "}",
        "[",
        "]",
      ],
    );
    const ledger = ledgerOf([], NOW);
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 9 }), (parts) => {
        const { text } = settle(`Bitcoin gained ${parts.join("")} today.`, ledger);
        expect(text).not.toMatch(/\p{N}|(?:percent|Prozent|million)(?!\p{L})/u);
      }),
      { numRuns: 2_000 },
    );
  });

  test("a long and hostile text is read in time", () => {
    const parts = [
      "1,".repeat(5_000),
      "{f1".repeat(3_000),
      "[f1,".repeat(3_000),
      "Bitcoin ".repeat(3_000),
      "tentententen".repeat(500),
      "1 ".repeat(9_000),
      "“".repeat(5_000),
    ];
    for (const part of parts) expect(settle(part, LEDGER).text.length).toBeLessThan(60_000);
  });
});
