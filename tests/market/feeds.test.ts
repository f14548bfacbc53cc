import { describe, expect, test } from "vitest";
import { feedPrice, sequencerIsUp } from "../../convex/market/feeds";

const NOW_S = 1_800_000_000;
const NOW = NOW_S * 1000;
const round = (ageSeconds: number, answer = 300_000_000_000n) => ({
  answer,
  updatedAt: BigInt(NOW_S - ageSeconds),
});

describe("a live price", () => {
  test.each([
    ["fresh", "ETH", round(0), 300_000_000_000n],
    ["at its heartbeat, a little late", "ETH", round(1_320), 300_000_000_000n],
    ["past its heartbeat", "ETH", round(1_321), null],
    ["a day old, where that is its heartbeat", "USDC", round(86_400), 300_000_000_000n],
    ["past a day", "USDC", round(86_521), null],
    ["from the future", "ETH", round(-61), null],
    ["zero", "ETH", round(0, 0n), null],
    ["negative", "ETH", round(0, -5n), null],
    ["never written", "ETH", { answer: 1n, updatedAt: 0n }, null],
    ["no answer at all", "ETH", null, null],
  ] as const)("%s", (_name, feed, latest, expected) => expect(feedPrice(feed, latest, NOW)).toBe(expected));
});

describe("the sequencer", () => {
  test.each([
    ["up for long", { answer: 0n, startedAt: BigInt(NOW_S - 3_601) }, true],
    ["just back", { answer: 0n, startedAt: BigInt(NOW_S - 3_600) }, false],
    ["down", { answer: 1n, startedAt: BigInt(NOW_S - 99_999) }, false],
    ["never started", { answer: 0n, startedAt: 0n }, false],
    ["unknown", null, false],
  ] as const)("%s", (_name, status, expected) => expect(sequencerIsUp(status, NOW)).toBe(expected));
});
