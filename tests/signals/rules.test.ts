import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dayBefore, dayOf, daysOfWeek, isIssueTime, weekDueAt } from "../../convex/signals/calendar";
import { outcomeOf, pnlPercent, problemsOf, type Levels } from "../../convex/signals/rules";
import { buy, DAY, HOUR, MINUTE, sell } from "./support";

const NOW = Date.UTC(2026, 0, 5, 8);
const price = fc.double({ min: 0.01, max: 200_000, noNaN: true });

/** Levels in order around an entry. */
const levels = fc
  .record({
    signal: fc.constantFrom("BUY" as const, "SELL" as const, "HOLD" as const),
    entry: price,
    near: fc.double({ min: 0.001, max: 0.2, noNaN: true }),
    far: fc.double({ min: 0, max: 0.2, noNaN: true }),
    risk: fc.double({ min: 0.001, max: 0.2, noNaN: true }),
  })
  .map(({ signal, entry, near, far, risk }): Levels => {
    if (signal === "HOLD") return { signal, entry, tp1: null, tp2: null, sl: null };
    const side = signal === "BUY" ? 1 : -1;
    const at = (fraction: number) => entry * (1 + side * fraction);
    return { signal, entry, tp1: at(near), tp2: at(near + far), sl: at(-risk) };
  });

describe("what may be issued", () => {
  test("is what is ordered, near the live price, and not over already", () => {
    fc.assert(
      fc.property(levels, fc.integer({ min: 0, max: 100 }), (proposal, confidence) => {
        expect(problemsOf({ ...proposal, confidence }, proposal.entry)).toBeNull();
        expect(problemsOf({ ...proposal, confidence }, proposal.entry * 1.04)).toContain("within 3 %");
        if (proposal.signal === "HOLD") return;
        const mirrored = proposal.signal === "BUY" ? ("SELL" as const) : ("BUY" as const);
        expect(problemsOf({ ...proposal, signal: mirrored, confidence }, proposal.entry)).toContain(
          "must satisfy",
        );
      }),
    );
  });

  test("takes an entry 3 % away and none further", () => {
    const far = (live: number) => problemsOf({ ...buy, signal: "HOLD" }, live);
    expect([far(103), far(97.1)]).toEqual([null, null]);
    expect([far(103.2), far(97)]).toEqual([expect.stringContaining("3 %"), expect.stringContaining("3 %")]);
  });
});

describe("how a signal ends", () => {
  const at = (signal: object, priceUsd: number, age: number) =>
    outcomeOf(
      { ...buy, signal: "BUY", ...signal, generatedAt: NOW },
      { priceUsd, observedAt: NOW + age, takenAt: NOW + age },
      NOW + age,
    );

  test.each([
    [buy, 101, "WIN", 101, 1],
    [buy, 150, "WIN", 101, 1],
    [buy, 98, "LOSS", 98, -2],
    [buy, 50, "LOSS", 98, -2],
    [sell, 99, "WIN", 99, 1],
    [sell, 50, "WIN", 99, 1],
    [sell, 102, "LOSS", 102, -2],
    [sell, 150, "LOSS", 102, -2],
  ])("%o at %d", (signal, live, status, exitPrice, pnl) => {
    const ended = { status, exitPrice, pnlPercent: pnl };
    expect(at(signal, live, MINUTE)).toEqual(ended);
    // The price decides before age, however old the signal is.
    expect(at(signal, live, 3 * DAY)).toEqual(ended);
  });

  test("expires when older than 6 hours, at the live price", () => {
    expect(at(buy, 100.5, 6 * HOUR)).toBeNull();
    expect(at(buy, 100.5, 6 * HOUR + 1)).toEqual({ status: "EXPIRED", exitPrice: 100.5, pnlPercent: 0.5 });
    expect(at(sell, 100.5, 6 * HOUR + 1)).toEqual({ status: "EXPIRED", exitPrice: 100.5, pnlPercent: -0.5 });
  });

  test("without a measured price waits, and is closed without a result 6 hours behind its expiry", () => {
    const blind = (age: number) => outcomeOf({ ...buy, signal: "BUY", generatedAt: NOW }, null, NOW + age);
    expect(blind(12 * HOUR)).toBeNull();
    expect(blind(12 * HOUR + 1)).toEqual({ status: "EXPIRED", exitPrice: null, pnlPercent: null });
    const at = (observedAt: number, takenAt: number) =>
      outcomeOf(
        { ...buy, signal: "BUY", generatedAt: NOW },
        { priceUsd: 150, observedAt, takenAt },
        NOW + MINUTE,
      );
    expect(at(NOW - 1, NOW - 1)).toBeNull();
    expect(at(NOW - 10 * MINUTE, NOW + MINUTE)).toBeNull();
    expect(at(NOW - MINUTE, NOW + MINUTE)).toMatchObject({ status: "WIN" });
  });

  test("HOLD only expires, and without a result", () => {
    const holding = { signal: "HOLD", tp1: null, tp2: null, sl: null };
    expect(at(holding, 1, HOUR)).toBeNull();
    expect(at(holding, 1, 7 * HOUR)).toEqual({ status: "EXPIRED", exitPrice: 1, pnlPercent: null });
  });

  test("exactly once, at the first look that decides, whatever the prices and the ticks", () => {
    const look = fc.record({
      /** The tick's distance from the one before. */
      after: fc.integer({ min: 1, max: 5 * HOUR }),
      move: fc.option(fc.double({ min: 0.7, max: 1.4, noNaN: true })),
    });
    fc.assert(
      fc.property(levels, fc.array(look, { minLength: 1, maxLength: 40 }), (proposal, looks) => {
        const signal = { ...proposal, generatedAt: NOW };
        const { entry, tp1, sl } = proposal;
        const side = proposal.signal === "BUY" ? 1 : -1;
        let now = NOW;
        let ended = null as ReturnType<typeof outcomeOf>;
        for (const { after, move } of looks) {
          now += after;
          const live = move === null ? null : entry * move;
          const outcome = outcomeOf(
            signal,
            live === null ? null : { priceUsd: live, observedAt: now, takenAt: now },
            now,
          );
          const age = now - NOW;
          const won = live !== null && tp1 !== null && side * (live - tp1) >= 0;
          const lost = live !== null && sl !== null && side * (sl - live) >= 0;
          expect(won && lost).toBe(false);
          const over = won || lost || (live !== null ? age > 6 * HOUR : age > 12 * HOUR);
          expect(outcome !== null).toBe(over);
          if (outcome === null) continue;
          expect(outcome.status).toBe(won ? "WIN" : lost ? "LOSS" : "EXPIRED");
          expect(outcome.exitPrice).toBe(won ? tp1 : lost ? sl : live);
          if (outcome.pnlPercent !== null && outcome.exitPrice !== null) {
            expect(outcome.pnlPercent).toBeCloseTo(side * (outcome.exitPrice / entry - 1) * 100, 5);
          }
          expect(outcome.pnlPercent === null).toBe(proposal.signal === "HOLD" || live === null);
          if (outcome.status === "WIN") expect(outcome.pnlPercent).toBeGreaterThan(0);
          if (outcome.status === "LOSS") expect(outcome.pnlPercent).toBeLessThan(0);
          ended = outcome;
          break;
        }
        if (ended === null) expect(now - NOW).toBeLessThanOrEqual(12 * HOUR);
      }),
    );
  });

  test("a result is mirrored between BUY and SELL, and none of HOLD's", () => {
    fc.assert(
      fc.property(price, price, (entry, exit) => {
        expect(pnlPercent("SELL", entry, exit)).toBe(0 - (pnlPercent("BUY", entry, exit) ?? NaN));
        expect(pnlPercent("HOLD", entry, exit)).toBeNull();
      }),
    );
  });
});

describe("days and weeks", () => {
  test("are UTC, with leap days", () => {
    expect(dayOf(Date.UTC(2028, 1, 29, 23, 59))).toBe("2028-02-29");
    expect(dayBefore("2028-03-01")).toBe("2028-02-29");
    expect(dayBefore("2026-01-01")).toBe("2025-12-31");
    expect(daysOfWeek("2028-02-28").slice(0, 3)).toEqual(["2028-02-28", "2028-02-29", "2028-03-01"]);
    expect([isIssueTime(NOW), isIssueTime(NOW - 1)]).toEqual([true, false]);
  });

  test("a week's recap is due from Sunday 23:55 until the next one is", () => {
    const sunday = Date.UTC(2026, 10, 22, 23, 55);
    expect(weekDueAt(sunday - 1)).toBe("2026-11-09");
    expect(weekDueAt(sunday)).toBe("2026-11-16");
    expect(weekDueAt(sunday + 6 * MINUTE)).toBe("2026-11-16");
    expect(weekDueAt(sunday + 7 * DAY - 1)).toBe("2026-11-16");
    expect(weekDueAt(sunday + 7 * DAY)).toBe("2026-11-23");
    expect(daysOfWeek(weekDueAt(sunday)).at(-1)).toBe("2026-11-22");
  });
});
