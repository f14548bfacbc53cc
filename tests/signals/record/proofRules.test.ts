import { describe, expect, test } from "vitest";
import { coinFlip } from "../../../convex/signals/trade/controls";
import { GENESIS, type Statement } from "../../../convex/signals/record/chain";
import type { ClosedContent, IssuedContent } from "../../../convex/signals/record/events";
import { signalView } from "../../../convex/signals/views/signals";
import { problemsOfRecord } from "../../../scripts/verifySignals";
import { rowOf } from "./forger";
import { rechained } from "./record";

/** Chains whose every hash is right: only what they tell can be wrong. */

type Told = { issued: IssuedContent; closed?: ClosedContent };

const circumstances: Pick<
  IssuedContent,
  "token" | "day" | "model" | "promptVersion" | "refusedDays" | "gapMinutes"
> = {
  ...{ token: "BTC", day: "2026-01-05", model: "m", promptVersion: "signal-2" },
  ...{ refusedDays: 0, gapMinutes: 0 },
};

const issued: IssuedContent = {
  ...circumstances,
  ...{ timeframe: "1h", signal: "BUY", costBps: 15 },
  ...{ entry: 100, tp1: 101, tp2: 102, sl: 99, confidence: 70, reasoning: "Up." },
  ...{ calibratedConfidence: 50, calibrationMethod: "shrinkage", calibrationOutcomes: 0 },
  ...{ coin: coinFlip(GENESIS, "BTC", "2026-01-05"), momentum: "SELL" },
  ...{ generatedAt: "2026-01-05T08:00:00.000Z", expiresAt: "2026-01-05T14:00:00.000Z" },
  ...{ priceSource: "coinbase", priceObservedAt: "2026-01-05T07:59:50.000Z" },
};

function closed(
  time: string,
  status: ClosedContent["status"],
  exitPrice: number | null,
  pnlPercent: number | null,
): ClosedContent {
  const decidedBy = exitPrice === null ? null : "candle";
  return {
    ...circumstances,
    ...{ status, exitPrice, pnlPercent, decidedBy, inDoubt: false },
    closedAt: `2026-01-0${time}:00.000Z`,
  };
}
const won = closed("5T09:00", "WIN", 101, 1);

const holding: Partial<IssuedContent> = {
  ...{ signal: "HOLD", tp1: null, tp2: null, sl: null },
  ...{ coin: null, momentum: null },
};

function problems(story: readonly Told[]): string[] {
  const statements = story.flatMap((one): Statement[] => [
    { kind: "issued", content: one.issued },
    ...(one.closed === undefined ? [] : [{ kind: "closed" as const, content: one.closed }]),
  ]);
  return problemsOfRecord({ ...rechained(statements), signals: story.map((one) => signalView(rowOf(one))) });
}

describe("a record whose hashes are right", () => {
  test.each([
    ["a win", {}, won],
    ["a loss at its last moment", {}, closed("5T14:00", "LOSS", 99, -1)],
    ["an expiry between its levels", {}, closed("5T14:00", "EXPIRED", 100.9, 0.9)],
    ["an expiry that nobody could price", {}, closed("5T14:00", "EXPIRED", null, null)],
    ["a HOLD", holding, closed("5T14:00", "EXPIRED", 150, null)],
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
    ["a win after its expiry", {}, closed("5T14:01", "WIN", 101, 1), /closed at .*, after its expiry/],
    ["expired after a minute", {}, closed("5T08:01", "EXPIRED", 100.9, 0.9), /it expires at 2026-01-05T14/],
    ["expired beyond its stop", {}, closed("5T14:00", "EXPIRED", 97, -3), /expired at 97, beyond its levels/],
    ["expired beyond its target", {}, closed("5T14:00", "EXPIRED", 101.5, 1.5), /beyond its levels/],
    [
      "a result that its exit does not give",
      {},
      closed("5T14:00", "LOSS", 99, -0.1),
      /PnL is -1 %, not -0.1 %/,
    ],
    ["a loss beside its stop", {}, closed("5T14:00", "LOSS", 99.9, -0.1), /a LOSS ends at 99, not at 99.9/],
    ["a price that nothing told", {}, { ...won, decidedBy: null }, /what decided it does not fit/],
    ["a target within the costs", { tp1: 100.1, sl: 99.9 }, won, /more than the costs/],
    ["more risk than reward", { sl: 98 }, won, /0\.8 times as far/],
    [
      "a coin of its own",
      { coin: issued.coin === "BUY" ? "SELL" : "BUY" },
      won,
      /the hash before it says otherwise/,
    ],
    ["refused days that no event tells", { refusedDays: 2 }, won, /tells of 2 refused days, the events of 0/],
    ["levels out of order", { sl: 105 }, won, /levels of a BUY must satisfy/],
    ["a level that is missing", { tp2: null }, won, /must have tp1, tp2 and sl/],
    ["a confidence beyond all", { confidence: 170 }, won, /confidence/],
    ["the model's own price", { priceSource: "llm" }, won, /model's own word/],
    ["a price from later", { priceObservedAt: "2026-01-05T08:30:00.000Z" }, won, /before its price was seen/],
    ["a HOLD that won", holding, closed("5T09:00", "WIN", null, null), /a WIN ends at null/],
    ["a HOLD with a stop", { ...holding, sl: 98 }, closed("5T14:00", "EXPIRED", 1, null), /has no levels/],
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
      coin: coinFlip(GENESIS, "BTC", "2026-01-04"),
      ...{ generatedAt: "2026-01-04T08:00:00.000Z", expiresAt: "2026-01-04T14:00:00.000Z" },
    };
    const holds = { ...issued, ...holding };
    expect(problems([{ issued: { ...earlier, ...holding } }, { issued: holds }])).toEqual([]);
    expect(problems([{ issued: holds }, { issued: { ...earlier, ...holding } }])).toEqual([
      "Event 2 (issued BTC 2026-01-04) is older than an event before it",
    ]);
  });
});
