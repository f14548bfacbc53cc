import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withoutBrackets } from "../../convex/evidence/text/marks";
import { counted, ledgerOf, sourceOfFact } from "../../convex/evidence/text/sources";
import { leftoverProblem, settle } from "../../convex/evidence/text/settlement";
import { figuresIn } from "../../convex/lib/text/figures";
import { amountIn, LOCALES, SCRIPTS, type Locale } from "../../convex/lib/text/locales";
import { plain } from "../../convex/lib/text/sentences";
import { factOf, numbered, partsOf, sceneNamed } from "./corpus/reports";

/** Figures by form: what a writer may send, what readers see of it, and what nobody can make them see. */

const DESK = sceneNamed("desk");
const settled = (text: string, how = {}) => settle(numbered(text, DESK), DESK.ledger, how);

describe.each(partsOf("sentences"))("a sentence $title", ({ title, text }) => {
  test.each(text.split("\n"))("%s", (sentence) => {
    const { leftovers, removed, text: shown } = settled(sentence);
    const isTrue = title === "true";
    expect([removed, leftoverProblem(leftovers) === null]).toEqual(isTrue ? [0, true] : [1, false]);
    // What is left of a false one are facts in code's words.
    if (!isTrue)
      expect(shown).toMatch(/^$|^(?:[^:]+: [^ ]+.* \[\d+\](?:; )?)+\.$|^“.*” \[\d+(?:: model)?\]\.?$/);
  });
});

const HOW: Readonly<Record<string, object>> = {
  "without brackets": { isBare: true },
  marked: { left: "mark" },
  "without citations": { isUncited: true },
};

/** Two lines each: what a writer wrote, and what readers see. */
describe.each(partsOf("printed"))("what is shown: $title", ({ title, text }) => {
  const lines = text.replaceAll("\\n", "\f").split("\n");
  const pairs = lines.flatMap((line, at) => (at % 2 === 0 ? [[line, lines[at + 1] ?? ""] as const] : []));
  test.each(pairs)("%s", (sentence, told) => {
    const { text: shown } = settled(sentence.replaceAll("\f", "\n"), HOW[title]);
    expect(shown.replace(/[\u00A0\u202F]/g, " ")).toBe(told.replaceAll("\f", "\n"));
  });
});

test("a figure that no fact has is named by its place, and what is cited counts its facts", () => {
  const kept: number[] = [];
  const told = "Bitcoin {BTC.change24h} at {BTC.price} [BTC.price]. I see $120,000 ahead.";
  const { leftovers } = settled(told, { kept });
  expect(leftoverProblem(leftovers)).toContain("at “I see $120,000 ahead.”: “$120,000” cites no fact");
  expect(kept).toHaveLength(2);
});

const size = fc.double({ min: 1e-3, max: 9e12, noNaN: true });
const locale = fc.constantFrom(...LOCALES);
const unit = fc.constantFrom("USD", "percent");

/** A fact of any value, alone in a ledger, and how a locale writes it. */
function alone(value: number, of: "USD" | "percent") {
  const fact = factOf("BTC", of === "USD" ? "price" : "change24h", value, DESK.at);
  const ledger = ledgerOf(counted(fact.map((one) => sourceOfFact(one))), DESK.at);
  return { ledger, print: (in_: Locale) => amountIn(in_, value, of, { sign: "minus" }) };
}

describe("whatever the figures are", () => {
  test("what is printed is the value, within half a percent, in every language", () => {
    fc.assert(
      fc.property(size, unit, locale, (value, of, in_) => {
        const [read, ...more] = figuresIn(plain(alone(value, of).print(in_)), SCRIPTS[in_].point);
        expect(more).toEqual([]);
        expect(read?.unit).toBe(of === "USD" ? "money" : "percent");
        const off = (read?.readings ?? []).map((one) => Math.abs(one.value / value - 1));
        expect(Math.min(...off), read?.text).toBeLessThan(0.006);
      }),
    );
  });

  test("a figure beside a citation is shown as the fact has it: nothing a writer does changes a value", () => {
    const double = { noNaN: true, max: 10 };
    const by = fc.oneof(fc.double({ ...double, min: 0.9, max: 1.1 }), fc.double({ ...double, min: 0.1 }));
    const form = fc.oneof(locale, fc.integer({ min: 0, max: 4 }));
    fc.assert(
      fc.property(size, by, form, unit, (value, times, in_, of) => {
        const plainly = (places: number) =>
          of === "USD" ? `$${(value * times).toFixed(places)}` : `${(value * times).toFixed(places)} %`;
        const figure = typeof in_ === "number" ? plainly(in_) : alone(value * times, of).print(in_);
        const { ledger, print } = alone(value, of);
        const { text } = settle(`Bitcoin is at ${figure} [f1].`, ledger, { locale: "en" });
        const lead = /^(?:BTC price(?: change over 24 hours)?:|Bitcoin is at) \+?/;
        const shown = withoutBrackets(text).replace(lead, "");
        expect(shown, figure).toBe(`${print("en")}.`);
      }),
      { numRuns: 700 },
    );
  });

  test("no digits of any script, marks, or words for numbers get by without a fact", () => {
    const marks = "1 7 0 ٣ ３ 七 Ⅻ ½ ² ① . , % $ - + k bn US$ # / 万 x seven 百分之 [f1] {f1} { } [ ]";
    const more = " percent| Prozent| | million|\u200B|\uE000|\u00A0";
    const part = fc.constantFrom(...marks.split(" "), ...more.split("|"));
    const ledger = ledgerOf([], DESK.at);
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 9 }), (parts) => {
        const { text } = settle(`Bitcoin gained ${parts.join("")} today.`, ledger);
        expect(text).not.toMatch(/\p{N}|(?:percent|Prozent|million)(?!\p{L})/u);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each(["1,", "{f1", "[f1,", "Bitcoin ", "tentententen", "1 ", "“"])(
    "a long text of %s is read in time",
    (part) => expect(settle(part.repeat(5_000), DESK.ledger).text.length).toBeLessThan(60_000),
  );
});
