import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { numberSources, buildCitationIndex, toSource } from "../../convex/figures/citations";
import { describeLeftovers, resolveFigures, type ResolveOptions } from "../../convex/figures/placeholders";
import { hasFigures } from "../../convex/figures/writtenNumbers";
import { removeCitations } from "../../convex/lib/text/strings";
import { factOf, numbered, sceneNamed } from "./corpus/reports";

/** Figures by form: what a writer may send, what readers see of it, and what nobody can make them see. */

const DESK = sceneNamed("desk");
const settled = (text: string, how: ResolveOptions = {}) =>
  resolveFigures(numbered(text, DESK), DESK.ledger, how);
const shown = (text: string, how: ResolveOptions = {}) =>
  settled(text, how).text.replace(/[\u00A0\u202F]/g, " ");

describe("what is shown", () => {
  test.each([
    ["Bitcoin is at {BTC.price}.", "Bitcoin is at $105,440.25 [1]."],
    [
      "Bitcoin trades at +{BTC.price}, ${ETH.price} for Ether.",
      "Bitcoin trades at $105,440.25 [1], $3,659.40 [2] for Ether.",
    ],
    ["Bitcoin rose {BTC.change24h}% [BTC.change24h].", "Bitcoin rose 5.08 % [1]."],
    ["SOL {SOL.change24h}, BTC {BTC.change24h}", "SOL −3.24 % [1], BTC +5.08 % [2]"],
    ["Ether held {ETH.low48h}-{ETH.high48h}.", "Ether held $3,455.02 [1]-$3,747.80 [2]."],
    ["Bitcoin beats Ether by {BTC.change24h-ETH.change24h}.", "Bitcoin beats Ether by 3.24 points [1, 2]."],
    ["BTC's turnover is {BTC.volume24h/ETH.volume24h} Ether's.", "BTC's turnover is 1.59× [1, 2] Ether's."],
    [
      "Ether has {ETH.marketCap%BTC.marketCap+ETH.marketCap} of it and BTC.",
      "Ether has 17.37 % [1, 2] of it and BTC.",
    ],
    ["Interest is {BTC.openInterest+ETH.openInterest} in all.", "Interest is $3.94B [1, 2] in all."],
    [
      "Funding is {BTC.funding}, the spread {BTC.spread}.",
      "Funding is +0.0015 % [1], the spread 0.12 bps [2].",
    ],
    ["{BTC.dayVolume} changed hands.", "12,346 BTC [1] changed hands."],
    ["News: {market.headline}.", "News: “Bitcoin ETFs took in $812 million in a week” [1]."],
    ["Traders expect an ETF [SOL.mood].", "Traders expect an ETF [1]."],
    ["比特币市值为{BTC.marketCap}。", "比特币市值为$2.10T [1]。"],
    [
      "On 5 January 2026 an L2 settled ERC-20 tokens 24/7.",
      "On 5 January 2026 an L2 settled ERC-20 tokens 24/7.",
    ],
    // A plain figure is printed from the fact that rounds to it.
    ["Bitcoin is near $105k [BTC.price].", "Bitcoin is near $105,440.25 [1]."],
    ["Ether notiert bei 3.659 $ [ETH.price].", "Ether notiert bei $3,659.40 [1]."],
    ["Bitcoin is at ١٠٥٤٤٠ dollars [BTC.price].", "Bitcoin is at $105,440.25 [1]."],
    [
      "“ETFs took in $812 million in a week” [market.headline].",
      "“ETFs took in $812 million in a week” [1].",
    ],
    [
      "## Majors\n\n- BTC: {BTC.price}\n\n| ETH | {ETH.price} |",
      "## Majors\n\n- BTC: $105,440.25 [1]\n\n| ETH | $3,659.40 [2] |",
    ],
  ])("%s", (text, told) => {
    expect(settled(text).leftovers).toEqual([]);
    expect(shown(text)).toBe(told);
  });

  test.each([
    "Bitcoin was at $42,000 [BTC.price].",
    "Bitcoin is at $105,440 [ETH.price].",
    "Litecoin and Ether trade at {BTC.price}.",
    "Bitcoin fell {BTC.change24h}.",
    "Bitcoin is above $105,000 [BTC.price].",
    "Bitcoin has doubled [BTC.change24h].",
    "Bitcoin stands at a 30-day high of {BTC.dayHigh}.",
    "Bitcoin leads by {BTC.price-BTC.change24h}.",
    "Bitcoin trades at {f999}.",
    "Bitcoin trades at 1{BTC.price}.",
  ])("nothing of: %s", (text) => {
    const { leftovers, text: left } = settled(`It leads. ${text} It holds.`);
    expect([describeLeftovers(leftovers) === null, left]).toEqual([false, "It leads. It holds."]);
  });

  test("in titles without citations, in chat with a mark on what no fact has", () => {
    expect(shown("🟢 Bitcoin {BTC.change24h} at {BTC.price} [BTC.price]", { isBare: true })).toBe(
      "🟢 Bitcoin +5.08 % at $105,440.25",
    );
    expect(shown("Bitcoin is at {BTC.price}. I see $120,000 ahead.", { left: "mark" })).toBe(
      "Bitcoin is at $105,440.25 [1]. I see $120,000 [model] ahead.",
    );
    expect(shown("Ether is at {BTC.price}. Bitcoin fell {BTC.change24h} {f999}.", { left: "mark" })).toBe(
      "Ether is at $105,440.25 [1] [model]. Bitcoin fell +5.08 % [2] — [model].",
    );
  });

  test("without citations, of the coin that a sentence names alone", () => {
    const uncited = { isUncited: true, isBare: true };
    expect(shown("Ether trades at $3,659. It turned over $1.", uncited)).toBe("Ether trades at $3,659.40.");
    expect(shown("Bitcoin trades at $3,659.", uncited)).toBe("");
  });

  test("only with a fact's number where that is asked for, and never what is refused", () => {
    const text = "Bitcoin leads [BTC.price]. It leads. It will lead [BTC.price].";
    expect(shown(text, { refused: /\bwill\b/ })).toBe("Bitcoin leads [1].");
  });
});

test("a figure that no fact has is named by its place, and what is cited counts its facts", () => {
  const kept: number[] = [];
  const told = "Bitcoin {BTC.change24h} at {BTC.price} [BTC.price]. I see $120,000 ahead.";
  const { leftovers } = settled(told, { kept });
  expect(describeLeftovers(leftovers)).toContain("at “I see $120,000 ahead.”: “$120,000” cites no fact");
  expect(kept).toHaveLength(2);
});

const size = fc.double({ min: 1e-3, max: 9e12, noNaN: true });
const unit = fc.constantFrom("USD", "percent");

/** A fact of any value, alone in a ledger. */
function alone(value: number, of: "USD" | "percent") {
  const fact = factOf("BTC", of === "USD" ? "price" : "change24h", value, DESK.at);
  return buildCitationIndex(numberSources(fact.map((one) => toSource(one))), DESK.at);
}

describe("whatever the figures are", () => {
  test("what is printed is the value, within half a percent", () => {
    fc.assert(
      fc.property(size, unit, (value, of) => {
        const text = removeCitations(resolveFigures("BTC {f1}", alone(value, of)).text);
        const [, digits = "", scale = ""] = /([\d.,]+)([KMBT]?)/.exec(text) ?? [];
        const times = { "": 1, K: 1e3, M: 1e6, B: 1e9, T: 1e12 }[scale] ?? Number.NaN;
        // Two decimals of a percentage.
        const most = Math.max(0.006 * value, of === "percent" && value >= 0.1 ? 0.0051 : 1e-6);
        expect(Math.abs(Number(digits.replaceAll(",", "")) * times - value), text).toBeLessThanOrEqual(most);
      }),
    );
  });

  test("a figure beside a citation is shown as the fact has it: nothing a writer does changes a value", () => {
    const double = { noNaN: true, max: 10 };
    const by = fc.oneof(fc.double({ ...double, min: 0.9, max: 1.1 }), fc.double({ ...double, min: 0.1 }));
    fc.assert(
      fc.property(size, by, fc.integer({ min: 0, max: 4 }), unit, (value, times, places, of) => {
        const figure = (value * times).toFixed(places);
        const written = of === "USD" ? `$${figure}` : `${figure} %`;
        const ledger = alone(value, of);
        const { text } = resolveFigures(`Bitcoin is at ${written} [f1].`, ledger);
        expect(["", resolveFigures("Bitcoin is at {f1}.", ledger).text], written).toContain(text);
      }),
      { numRuns: 700 },
    );
  });

  test("no digits of any script, marks, or words for numbers get by without a fact", () => {
    const marks = "1 7 0 ٣ ３ Ⅻ ½ ² ① . , % $ - + k bn US$ # / x seven [f1] {f1} { } [ ]";
    const more = " percent| million|\u200B|\uE000|\u00A0";
    const part = fc.constantFrom(...marks.split(" "), ...more.split("|"));
    const ledger = buildCitationIndex([], DESK.at);
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 9 }), (parts) => {
        const { text } = resolveFigures(`Bitcoin gained ${parts.join("")} today.`, ledger);
        expect(text).not.toMatch(/\p{N}|(?:percent|million)(?!\p{L})/u);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each(["1,", "{f1", "[f1,", "Bitcoin ", "tentententen", "1 ", "“"])(
    "a long text of %s is read in time",
    (part) => expect(resolveFigures(part.repeat(5_000), DESK.ledger).text.length).toBeLessThan(60_000),
  );

  test.each([
    ["A fund moved $4.2M to an exchange.", true],
    ["A fund moved ten million dollars.", true],
    ["A fund moved everything it had to an L2.", false],
  ])("tells whether a text has any: %s", (text, has) => expect(hasFigures(text)).toBe(has));
});
