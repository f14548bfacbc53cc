import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  PART_LIMIT,
  describeFailure,
  toPlainText,
  renderCard,
  getSpanText,
  type Paragraph,
} from "../../convex/messenger/format";

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 300 }),
  fc.constantFrom("<b>&amp;", "a < b && c > d", "Fine. Then more. And on! ", " ", "\n"),
  fc.integer({ min: 1, max: 900 }).map((n) => "Prices <moved> & held. ".repeat(n)),
  fc.integer({ min: 1, max: 6_000 }).map((n) => "&".repeat(n)),
  fc.integer({ min: 1, max: 3_000 }).map((n) => "🚀".repeat(n)),
);
const link = fc.record({
  words: fc.string({ maxLength: 40 }).map((words) => words.replace(/\s+/g, " ")),
  href: fc.webUrl({ withQueryParameters: true }).map((url) => `${url}"&<x>`),
});
const command = fc.record({ command: fc.constantFrom("help", "evil.tech", "no command") });
const paragraph: fc.Arbitrary<Paragraph> = fc.array(
  fc.oneof(text, fc.record({ bold: text }), link, command),
  { maxLength: 4 },
);

const said = (paragraphs: readonly Paragraph[]) => paragraphs.flat().map(getSpanText).join("");
/** Spaces and signs are the style of figures: a minus is no hyphen. */
const squeezed = (all: string) => all.replace(/[\s\u2060]+/g, "").replaceAll("\u2212", "-");

describe("a card's parts", () => {
  test("say everything in order, each within the limit and well formed", () => {
    fc.assert(
      fc.property(fc.array(paragraph, { maxLength: 6 }), (paragraphs) => {
        const parts = renderCard(paragraphs);
        for (const part of parts) {
          // The messenger counts no tags.
          expect(part.replace(/<a href="[^"<>]*">|<\/a>/g, "").length).toBeLessThanOrEqual(PART_LIMIT);
          expect(part.trim()).not.toBe("");
          const bare = part.replace(
            /<(b|a href="[^"<>]*")>([^<>]*)<\/[ab]>/g,
            (_, _tag, words: string) => words,
          );
          expect(bare).not.toMatch(/[<>]/);
          expect(bare.replace(/&(?:lt|gt|amp);/g, "")).not.toContain("&");
          expect(part).not.toMatch(/\p{Surrogate}/u);
        }
        expect(squeezed(parts.map(toPlainText).join(""))).toBe(squeezed(said(paragraphs)));
      }),
      { numRuns: 80 },
    );
  });

  test("are cut between paragraphs when those fit, else behind a sentence", () => {
    const paragraphs: Paragraph[] = Array.from({ length: 8 }, (_, i) => [`${i} ${"x".repeat(1_000)}`]);
    const parts = renderCard(paragraphs);
    expect(parts).toHaveLength(3);
    expect(parts.flatMap((part) => part.split("\n\n"))).toEqual(paragraphs.flat());
    for (const part of renderCard([["A sentence of words. ".repeat(300)]]))
      expect(part.endsWith(".")).toBe(true);
  });

  test("cut an oversized paragraph between its lines, styles and all", () => {
    const lines = Array.from({ length: 20 }, (_, i) => `🔴 line ${i} · ${"word ".repeat(60).trim()}`);
    const spans = lines.flatMap((one, i) => [{ bold: `${i === 0 ? "Title\n" : "\n"}Mark ${i}` }, ` ${one}`]);
    const parts = renderCard([spans, ["Behind."]]);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.flatMap((part) => part.split("\n")).filter((one) => one !== "")).toEqual([
      "<b>Title</b>",
      ...lines.map((one, i) => `<b>Mark ${i}</b> ${one}`),
      "Behind.",
    ]);
  });

  test("an empty card has none", () => expect(renderCard([[], [""], [{ bold: "" }]])).toEqual([]));
});

describe("a failure in a person's chat", () => {
  const busy = "A source that I need does not answer just now. Try again in a minute.";

  test.each([
    ["The chain did not answer", busy],
    ["The chain did not answer: nothing was moved", `Nothing was moved. ${busy}`],
    ["The price has moved: nothing was signed, so order it again", `Nothing was signed. ${busy}`],
  ])("keeps what it says about money: %s", (message, told) => {
    expect(describeFailure(502, message)).toBe(told);
  });
});
