import { expect, test } from "vitest";
import type { Fact } from "../../convex/evidence/tables";
import { briefOf } from "../../convex/research/writing/brief";

/** Whether there is a price to write of is a matter of what was observed, not of how a text reads. */

const READINGS = {
  market: null,
  cycles: 1,
  persistent: [],
  movers: [{ symbol: "DOGE", price: 0.2, change24h: 1, source: "model" as const }],
  sentiment: [],
  onchain: [],
};

const seen = { observedAt: 0, source: "somebody", url: "https://example.org" };
const headline: Fact = {
  ...seen,
  subject: "market",
  kind: "headline",
  value: "Bitcoin price: what is next",
  unit: "text",
};
const price: Fact = { ...seen, subject: "BTC", kind: "price", value: 97_250, unit: "USD" };

test.each([
  ["a headline that speaks of one, and a coin that only a model prices", [headline], false],
  ["an observed price", [headline, price], true],
])("%s", (_, facts, isPriced) => {
  const none = { atStart: [], atReport: [], previous: null, missing: [] };
  expect(briefOf({ focus: "", facts, readings: READINGS, ...none }).isPriced).toBe(isPriced);
});
