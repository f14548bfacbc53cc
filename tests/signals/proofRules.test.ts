import { describe, expect, test } from "vitest";
import type { ClosedContent, IssuedContent, Statement } from "../../convex/signals/eventChain";
import type { PublicSignal } from "../../convex/signals/views";
import { problemsOfRecord } from "../../scripts/verifySignalsChecks";
import { rechained } from "./record";

/** Chains whose every hash is right: only what they tell can be wrong. */

type Told = { issued: IssuedContent; closed?: ClosedContent };

const issued: IssuedContent = {
  ...{ token: "BTC", day: "2026-01-05", timeframe: "1h", signal: "BUY" },
  ...{ entry: 100, tp1: 101, tp2: 102, sl: 98, confidence: 70, reasoning: "Up." },
  ...{ generatedAt: "2026-01-05T08:00:00.000Z", expiresAt: "2026-01-05T14:00:00.000Z" },
  ...{ priceUsd: 100, priceSource: "coinbase", priceObservedAt: "2026-01-05T07:59:50.000Z" },
};

function closed(
  time: string,
  status: ClosedContent["status"],
  exitPrice: number | null,
  pnlPercent: number | null,
): ClosedContent {
  return {
    ...{ token: "BTC", day: "2026-01-05", status, exitPrice, pnlPercent },
    closedAt: `2026-01-0${time}:00.000Z`,
  };
}
const won = closed("5T09:00", "WIN", 101, 1);

const holding: Partial<IssuedContent> = { signal: "HOLD", tp1: null, tp2: null, sl: null };

function problems(story: readonly Told[]): string[] {
  const statements = story.flatMap((one): Statement[] => [
    { kind: "issued", content: one.issued },
    ...(one.closed === undefined ? [] : [{ kind: "closed" as const, content: one.closed }]),
  ]);
  const signals = story.map(({ issued, closed }): PublicSignal => {
    const { day: _day, priceUsd: _price, priceSource: _source, priceObservedAt: _at, ...shown } = issued;
    if (closed === undefined) return { ...shown, status: "PENDING" };
    const { status, closedAt, exitPrice, pnlPercent } = closed;
    return { ...shown, status, closedAt, exitPrice, pnlPercent };
  });
  return problemsOfRecord({ ...rechained(statements), signals });
}

describe("a record whose hashes are right", () => {
  test.each([
    ["a win", {}, won],
    ["a loss, long after its expiry", {}, closed("6T09:00", "LOSS", 98, -2)],
    ["an expiry at the live price", {}, closed("5T14:01", "EXPIRED", 100.9, 0.9)],
    ["an expiry that nobody could price", {}, closed("5T20:01", "EXPIRED", null, null)],
    ["a HOLD", holding, closed("5T14:01", "EXPIRED", 150, null)],
  ] as const)("holds with %s", (_name, changes, end) => {
    expect(problems([{ issued: { ...issued, ...changes }, closed: end }])).toEqual([]);
  });

  test.each([
    [
      "closed before it was issued",
      {},
      closed("5T07:00", "WIN", 101, 1),
      /closed at .* before it was issued/,
    ],
    ["expired after a minute", {}, closed("5T08:01", "EXPIRED", 100.9, 0.9), /was still open, not EXPIRED/],
    ["expired beyond its stop", {}, closed("5T15:01", "EXPIRED", 97, -3), /was a LOSS, not EXPIRED/],
    ["expired beyond its target", {}, closed("5T15:01", "EXPIRED", 101.5, 1.5), /was a WIN, not EXPIRED/],
    ["expired unpriced at once", {}, closed("5T08:30", "EXPIRED", null, null), /was still open, not EXPIRED/],
    ["levels out of order", { sl: 105 }, won, /levels of a BUY must satisfy/],
    ["a level that is missing", { tp2: null }, won, /must have tp1, tp2 and sl/],
    ["an entry off the live price", { priceUsd: 200 }, won, /within 3 %/],
    ["a confidence beyond all", { confidence: 170 }, won, /confidence/],
    ["the model's own price", { priceSource: "llm" }, won, /model's own word/],
    ["a price from later", { priceObservedAt: "2026-01-05T08:30:00.000Z" }, won, /before its price was seen/],
    ["a HOLD that won", holding, closed("5T09:00", "WIN", null, null), /still open, not WIN/],
    ["a HOLD with a stop", { ...holding, sl: 98 }, closed("5T14:01", "EXPIRED", 1, null), /has no levels/],
    ["an expiry after a week", { expiresAt: "2026-01-12T14:00:00.000Z" }, won, /cannot expire at/],
    [
      "another day's moment",
      { generatedAt: "2026-01-04T08:00:00.000Z", expiresAt: "2026-01-04T14:00:00.000Z" },
      won,
      /not on its day/,
    ],
  ] as const)("does not hold with %s", (_name, changes, end, problem) => {
    expect(problems([{ issued: { ...issued, ...changes }, closed: end }]).join("\n")).toMatch(problem);
  });

  test("does not hold with events out of order", () => {
    const earlier: IssuedContent = {
      ...{ ...issued, day: "2026-01-04", priceObservedAt: "2026-01-04T08:00:00.000Z" },
      ...{ generatedAt: "2026-01-04T08:00:00.000Z", expiresAt: "2026-01-04T14:00:00.000Z" },
    };
    expect(problems([{ issued: earlier }, { issued }])).toEqual([]);
    expect(problems([{ issued }, { issued: earlier }])).toEqual([
      "Event 2 (issued BTC 2026-01-04) is older than an event before it",
    ]);
  });
});
