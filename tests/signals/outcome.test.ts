import { describe, expect, test } from "vitest";
import type { SignalLevels } from "../../convex/signals/rules";
import { computeOutcome, type Minute } from "../../convex/signals/tracker";
import { HOUR, MINUTE } from "./support";

/** How a signal ends, from what is known of its price's path. */

const AT_8 = Date.UTC(2026, 0, 5, 8);
/** Issued 20 s into a minute. */
const ISSUED = AT_8 + 20_000;
const EXPIRES = ISSUED + 6 * HOUR;
const LATE = EXPIRES + 10 * MINUTE;

const long: SignalLevels = { signal: "BUY", entry: 100, tp1: 101, tp2: 102, sl: 99 };

/** The candle of a minute after 08:00. */
function candle(minute: number, prices: Partial<Record<"open" | "high" | "low" | "close", number>>): Minute {
  const { open = 100, close = 100 } = prices;
  const { high = Math.max(open, close), low = Math.min(open, close) } = prices;
  return { openedAt: AT_8 + minute * MINUTE, open, high, low, close };
}

/** Candles at 100 for every minute to the expiry's, but for what is given. */
function quiet(...others: Minute[]): Minute[] {
  const minutes = Array.from({ length: 362 }, (_, minute) => candle(minute, {}));
  return minutes.map((usual) => others.find(({ openedAt }) => openedAt === usual.openedAt) ?? usual);
}

const end = (levels: SignalLevels, seen: readonly Minute[], now = LATE) =>
  computeOutcome({ ...levels, generatedAt: ISSUED, expiresAt: EXPIRES }, seen, now);

/**
 * A walk of the minutes by the words of the rule, one price after the other: what touches first, the stop first. Of the
 * issue's minute nobody can place the extremes: the adverse one counts, as if at once, and the other does not.
 */
function walked({ signal, entry, tp1, sl }: SignalLevels, seen: readonly Minute[]) {
  const isBuy = signal === "BUY";
  const result = (exitPrice: number): unknown =>
    signal === "HOLD" ? null : expect.closeTo((isBuy ? 1 : -1) * (exitPrice - entry), 5);
  let last = entry;
  for (const { openedAt, open, high, low, close } of seen) {
    if (openedAt > EXPIRES) break;
    const isFirst = openedAt < ISSUED;
    const isLast = openedAt + MINUTE > EXPIRES;
    const [worst, best] = isBuy ? [low, high] : [high, low];
    const prices = isLast ? [open] : isFirst ? [worst, close] : [worst, best];
    for (const price of prices) {
      if (sl !== null && (isBuy ? price <= sl : price >= sl))
        return {
          status: "LOSS",
          exitPrice: sl,
          pnlPercent: result(sl),
          closedAt: Math.max(openedAt, ISSUED),
        };
      if (tp1 !== null && (isBuy ? price >= tp1 : price <= tp1)) {
        const closedAt = isFirst ? openedAt + MINUTE : openedAt;
        return { status: "WIN", exitPrice: tp1, pnlPercent: result(tp1), closedAt };
      }
    }
    if (!isLast) last = close;
  }
  return { status: "EXPIRED", exitPrice: last, pnlPercent: result(last), closedAt: EXPIRES };
}

/** `FULL_PROOFS=1` runs every trial; the suite runs a share of them. */
const PATHS = process.env["FULL_PROOFS"] === "1" ? 10_000 : 800;

test("on random paths it ends as a walk of the minutes does, looked at whenever", () => {
  let state = 17;
  const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  const kinds = new Set<string>();
  for (let n = 0; n < PATHS; n++) {
    const side = random() < 0.5 ? 1 : -1;
    const [near, far] = [0.2 + 2 * random(), 0.2 + 2 * random()];
    const [tp1, sl] = [100 + side * near, 100 - side * far];
    const position: SignalLevels = { signal: side === 1 ? "BUY" : "SELL", entry: 100, tp1, tp2: tp1, sl };
    const levels =
      n % 20 === 0 ? ({ ...long, signal: "HOLD", tp1: null, tp2: null, sl: null } as const) : position;
    // A third are quiet, but for one minute in which the price runs far to either side or both.
    const place = [0, 359, 360, 361, Math.floor(361 * random())][Math.floor(5 * random())];
    const isQuiet = random() < 1 / 3;
    const volatility = isQuiet ? 0.001 : 0.02 + 0.1 * random();
    let price = 100;
    const seen = Array.from({ length: 366 }, (_, minute) => {
      const open = price;
      const isFar = isQuiet && minute === place;
      if (isFar && minute === 0 && random() < 0.6) price += side * 3;
      const close = (price += volatility * (random() - 0.5) * 2);
      const wick = () => volatility * random() + (isFar && random() < 0.6 ? 3 : 0);
      const [high, low] = [Math.max(open, close) + wick(), Math.min(open, close) - wick()];
      return candle(minute, { open, close, high, low });
    });
    const due = walked(levels, seen);
    const known = (now: number) => seen.filter(({ openedAt }) => openedAt + MINUTE <= now);
    const early = ISSUED + Math.floor(random() * 6 * HOUR);
    // In whatever order the minutes are told.
    const all = n % 10 === 0 ? known(LATE).toReversed() : known(LATE);
    const outcome = end(levels, known(early), early) ?? end(levels, all);
    expect(outcome).toEqual({ ...due, gapMinutes: 0 });
    kinds.add(`${levels.signal} ${due.status}${isQuiet ? `, far in minute ${String(place)}` : ""}`);
  }
  for (const signal of ["BUY", "SELL"])
    for (const kind of [
      ...["WIN", "LOSS", "EXPIRED", "WIN, far in minute 0", "LOSS, far in minute 0"],
      ...[
        "EXPIRED, far in minute 0",
        "WIN, far in minute 359",
        "EXPIRED, far in minute 360",
        "EXPIRED, far in minute 361",
      ],
    ])
      expect(kinds).toContain(`${signal} ${kind}`);
  expect(kinds).toContain("HOLD EXPIRED");
});

describe("what candles do not tell", () => {
  test("an outcome with a hole before it waits for two hours, and has a gap from then on", () => {
    const seen = quiet(candle(30, { high: 101 })).filter(
      ({ openedAt }) => openedAt < AT_8 + 20 * MINUTE || openedAt >= AT_8 + 27 * MINUTE,
    );
    expect(end(long, seen, AT_8 + 2 * HOUR)).toBeNull();
    const late = AT_8 + 30 * MINUTE + 2 * HOUR;
    expect(end(long, seen, late)).toMatchObject({ status: "WIN", gapMinutes: 7 });
    const filled = quiet(candle(30, { high: 101 }), candle(22, { low: 99 }));
    expect(end(long, filled, late)).toMatchObject({ status: "LOSS", gapMinutes: 0 });
  });

  test("without any price near its expiry it ends without a result, when its life has passed again", () => {
    expect(end(long, [], ISSUED + 12 * HOUR)).toBeNull();
    const nothing = { status: "EXPIRED", exitPrice: null, pnlPercent: null };
    expect(end(long, [], ISSUED + 12 * HOUR + 1)).toMatchObject({ ...nothing, gapMinutes: 361 });
  });
});
