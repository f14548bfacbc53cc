import { expect, test } from "vitest";
import type { Condition } from "../../convex/alerts/tables";
import { alertPicture } from "../../convex/pages/picture";

const titleOf = (condition: Condition) => {
  const svg = alertPicture({ condition, now: 0, path: [], fired: [], level: 1 }, "some.convex.site");
  return /<text class="title"[^>]*>([^<]*)</.exec(svg)?.[1];
};

test("an alert's picture says in its title what it waits for, in dollars where it is worth some", () => {
  const flow = { kind: "flow", token: "USDC", direction: "in", overUsd: 10_000_000 } as const;
  expect(titleOf(flow)).toBe("Inflow of USDC over $10,000,000");
  expect(titleOf({ ...flow, token: "CBBTC", direction: "out" })).toBe("Outflow of CBBTC over $10,000,000");
  const price = { kind: "price", token: "SOL", direction: "below", levelUsd: 0.25 } as const;
  expect(titleOf(price)).toBe("SOL below $0.25");
  const rate = { kind: "funding", token: "ETH", direction: "above", percentPerHour: 0.01 } as const;
  expect(titleOf(rate)).toBe("ETH funding above 0.08\u202F% per 8 h");
});
