import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  subtractCosts,
  listDaysOfWeek,
  computePnlPercent,
  enterProposal,
  findProposalProblems,
  findShortfall,
  getDueWeek,
} from "../../convex/signals/rules";
import { buy, DAY, MINUTE, sell } from "./support";

const price = fc.double({ min: 0.01, max: 200_000, noNaN: true });

const in15 = (priceUsd: number) => ({ priceUsd, costBps: 15 });

describe("what may be issued", () => {
  test.each([
    ["a target as far as the costs", { tp1: 100.15, sl: 99.85 }, "costs of 0.15 %"],
    ["a target a little beyond them", { tp1: 100.16, sl: 99.85 }, null],
    ["a stop nearer than the noise of a minute", { tp1: 101, sl: 99.86 }, "sl 99.86 must be at least 0.15 %"],
    ["a target on the side of the stop", { tp1: 98 }, "must satisfy"],
    ["a reward of 0.8 to risk", { tp1: 100.8, sl: 99 }, null],
    ["a reward of less", { tp1: 100.79, sl: 99 }, "at least 0.8 times as far as sl"],
    ["an entry 0.5 % away", { entry: 100.5 }, null],
    ["an entry further away", { entry: 100.51 }, "within 0.5 % of the live price 100"],
  ])("%s", (_name, change, problem) => {
    const told = findProposalProblems({ ...buy, signal: "BUY", ...change }, in15(100));
    if (problem === null) expect(told).toBeNull();
    else expect(told).toContain(problem);
    const mirror = (value: number) => 200 - value;
    const { entry, tp1, sl } = { ...buy, ...change };
    const sold = { ...sell, signal: "SELL" as const, entry: mirror(entry), tp1: mirror(tp1), sl: mirror(sl) };
    expect(findProposalProblems(sold, in15(100)) === null).toBe(problem === null);
  });

  test("is entered at the live price, from which the levels are held against each other", () => {
    const proposal = { ...buy, signal: "BUY" as const, entry: 99.6, tp1: 101, sl: 99 };
    expect(enterProposal(proposal, in15(100))).toEqual({ ...proposal, entry: 100 });
    expect(findProposalProblems(proposal, in15(100))).toBeNull();
    // From its own entry it would be worth its risk, from the live price it is not.
    expect(findProposalProblems({ ...proposal, tp1: 100.5 }, in15(100))).toContain("0.8 times");
  });
});

describe("a signal's own break-even", () => {
  const proposal = { ...buy, signal: "BUY" as const };

  test("is the chance of its levels and the costs' share of the way from stop to target", () => {
    expect(findShortfall({ ...proposal, confidence: 57 }, in15(100))).toContain("below the 57.5 %");
    expect(findShortfall({ ...proposal, confidence: 58 }, in15(100))).toBeNull();
    expect(findShortfall({ ...proposal, confidence: 50 }, { priceUsd: 100, costBps: 0 })).toBeNull();
    expect(
      findShortfall({ ...proposal, signal: "HOLD", tp1: null, sl: null, confidence: 0 }, in15(100)),
    ).toBeNull();
  });

  test("below it, it is a HOLD that says why, in both directions", () => {
    for (const one of [proposal, { ...sell, signal: "SELL" as const }]) {
      const { signal, tp1, tp2, sl, reasoning } = enterProposal({ ...one, confidence: 57 }, in15(100));
      expect([signal, tp1, tp2, sl]).toEqual(["HOLD", null, null, null]);
      expect(reasoning).toContain(`No position: the model proposed a ${one.signal}`);
      expect(reasoning).toContain(one.reasoning);
    }
  });
});

describe("a result", () => {
  test("is mirrored between BUY and SELL, none of HOLD's, and less by the costs", () => {
    fc.assert(
      fc.property(price, price, (entry, exit) => {
        expect(computePnlPercent("SELL", entry, exit)).toBe(
          0 - (computePnlPercent("BUY", entry, exit) ?? NaN),
        );
        expect(computePnlPercent("HOLD", entry, exit)).toBeNull();
      }),
    );
    expect([subtractCosts(1, 15), subtractCosts(-1, 15), subtractCosts(0.15, 15)]).toEqual([0.85, -1.15, 0]);
  });
});

test("a week's recap is due from Sunday 23:55 until the next one is", () => {
  expect(listDaysOfWeek("2028-02-28").slice(0, 3)).toEqual(["2028-02-28", "2028-02-29", "2028-03-01"]);
  const sunday = Date.UTC(2026, 10, 22, 23, 55);
  expect(getDueWeek(sunday - 1)).toBe("2026-11-09");
  expect(getDueWeek(sunday)).toBe("2026-11-16");
  expect(getDueWeek(sunday + 6 * MINUTE)).toBe("2026-11-16");
  expect(getDueWeek(sunday + 7 * DAY - 1)).toBe("2026-11-16");
  expect(getDueWeek(sunday + 7 * DAY)).toBe("2026-11-23");
  expect(listDaysOfWeek(getDueWeek(sunday)).at(-1)).toBe("2026-11-22");
});
