import { expect, test } from "vitest";
import { DAY } from "../../convex/lib/time";
import { computeChance, toPosition } from "../../convex/signals/rules";
import { computeRecord, judgeEdge, type Excess } from "../../convex/signals/record";
import type { Signal } from "../../convex/signals/tables";
import { listDifferences, computeStatistics } from "../../scripts/verify/figures";
import { parseSignal } from "../../scripts/verify/record";

/** The record's figures against textbook definitions and another program, and its verdicts on histories without an edge. */

/** `FULL_PROOFS=1` runs every trial; the suite runs a share of them. */
const isFull = process.env["FULL_PROOFS"] === "1";

function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const FIRST = Date.UTC(2026, 0, 5);
const dayNamed = (day: number) => new Date(FIRST + day * DAY).toISOString().slice(0, 10);

type Setting = { rewardToRisk: number; costBps: number; gaps: number; expired: number };

/** What a record does not look at. */
const ISSUE = {
  reasoning: "",
  model: "",
  promptVersion: "",
  price: { usd: 100, source: "coinbase", observedAt: FIRST },
} as const;

/** A trade that ends as a price without direction does: the mean of its score is its chance. */
function trade(random: () => number, day: number, token: "BTC" | "ETH", setting: Setting): Signal {
  const { rewardToRisk, costBps, gaps, expired } = setting;
  const side = random() < 0.5 ? 1 : -1;
  const entry = 50 + 100 * random();
  const risk = entry * (0.003 + 0.02 * random());
  const [tp1, sl] = [entry + side * rewardToRisk * risk, entry - side * risk];
  const levels = { signal: side === 1 ? "BUY" : "SELL", entry, tp1, sl } as const;
  const position = toPosition({ ...levels });
  if (position === null) throw new Error("It is a trade");
  const isExpired = random() < expired;
  // Between the levels, symmetric around the entry.
  const away = (random() - 0.5) * 1.6 * risk * Math.min(1, rewardToRisk);
  const isWon = random() < computeChance(position);
  const exitPrice = isExpired ? entry + away : isWon ? tp1 : sl;
  const pnlPercent = Number((side * (exitPrice / entry - 1) * 100).toFixed(6)) + 0;
  const isUnpriced = isExpired && random() < 0.02;
  const generatedAt = FIRST + day * DAY;
  return {
    ...ISSUE,
    token,
    day: dayNamed(day),
    ...levels,
    tp2: tp1,
    generatedAt,
    expiresAt: generatedAt + DAY / 4,
    confidence: Math.floor(101 * random()),
    costBps,
    status: isExpired ? "EXPIRED" : isWon ? "WIN" : "LOSS",
    gapMinutes: random() < gaps ? 6 + Math.floor(40 * random()) : Math.floor(6 * random()),
    closedAt: FIRST + day * DAY + Math.floor(14 * 3_600_000 * random()),
    exitPrice: isUnpriced ? null : exitPrice,
    pnlPercent: isUnpriced ? null : pnlPercent,
  };
}

const SETTINGS: Setting[] = [0.8, 1, 2, 4].flatMap((rewardToRisk) =>
  [0, 15].flatMap((costBps) =>
    [
      { gaps: 0, expired: 0 },
      { gaps: 0.1, expired: 0.3 },
      { gaps: 0.4, expired: 0.6 },
    ].map((rest) => ({ rewardToRisk, costBps, ...rest })),
  ),
);

/** A signal as the verifier reads it. */
const told = ({ price, generatedAt, expiresAt, closedAt = generatedAt, ...one }: Signal) => {
  const iso = (at: number) => new Date(at).toISOString();
  const times = { generatedAt: iso(generatedAt), expiresAt: iso(expiresAt), closedAt: iso(closedAt) };
  return parseSignal({ ...one, ...times, priceSource: price.source, priceObservedAt: iso(price.observedAt) });
};

const mean = (values: readonly number[]) => values.reduce((all, one) => all + one, 0) / values.length;

test("a record of random histories with gaps and HOLDs is that of the textbook, and of another program", () => {
  for (let n = 0; n < (isFull ? 1_000 : 72); n++) {
    const random = generator(n + 1);
    const setting = SETTINGS[n % SETTINGS.length];
    if (setting === undefined) throw new Error("There is a setting");
    const rows: Signal[] = [];
    const days = Math.floor(60 * random());
    for (let day = 0; day < days; day++)
      for (const token of ["BTC", "ETH"] as const) {
        const one = trade(random, day, token, setting);
        const fate = random();
        if (fate < 0.1) continue;
        if (fate > 0.8) {
          const nothing = { tp1: null, sl: null, pnlPercent: null } as const;
          rows.push({ ...one, ...nothing, signal: "HOLD", status: "EXPIRED" });
        } else rows.push(one);
      }
    const pending = { ...trade(random, days, "BTC", setting), status: "PENDING" as const };
    const record = computeRecord([...rows, pending]);

    // The other program is the verifier; what it rounds not is as near.
    expect(listDifferences(record, computeStatistics([...rows, pending].map(told)), "record")).toEqual([]);

    // By their definitions.
    const net = rows
      .flatMap(({ pnlPercent, costBps, closedAt = 0 }) =>
        typeof pnlPercent === "number" ? [{ result: pnlPercent - costBps / 100, closedAt }] : [],
      )
      .toSorted((a, b) => a.closedAt - b.closedAt)
      .map(({ result }) => result);
    const [gains, losses] = [net.filter((one) => one > 0), net.filter((one) => one < 0)];
    const { afterCosts, risk, edge } = record;
    expect(record.trades).toBe(net.length);
    if (net.length > 0) expect(afterCosts.expectancyPercent).toBeCloseTo(mean(net), 6);
    if (losses.length > 0)
      expect(afterCosts.profitFactor).toBeCloseTo(
        (mean(gains) * gains.length || 0) / -(mean(losses) * losses.length),
        4,
      );
    expect([risk.sharpe === null, risk.maxDrawdownPercent === null]).toEqual(Array(2).fill(net.length < 30));
    if (net.length >= 30) {
      const squares = net.map((one) => (one - mean(net)) ** 2);
      expect(risk.sharpe).toBeCloseTo(
        mean(net) / Math.sqrt((mean(squares) * net.length) / (net.length - 1)),
        4,
      );
      const sums = net.map((_, index) => mean(net.slice(0, index + 1)) * (index + 1));
      const falls = sums.map((sum, index) => Math.max(0, ...sums.slice(0, index)) - sum);
      expect(risk.maxDrawdownPercent).toBeCloseTo(Math.max(0, ...falls), 4);
    }
    expect(edge.lowPoints).toBeLessThanOrEqual((edge.excessPoints ?? 0) + 1e-6);
    expect(edge.highPoints).toBeGreaterThanOrEqual((edge.excessPoints ?? 0) - 1e-6);
    expect(edge.verdict === "worse than chance").toBe(
      edge.highPoints < 0 && edge.verdict !== "no record yet" && edge.verdict !== "better than chance",
    );
  }
});

/** One a setting, or all 48,000. */
const HISTORIES = 24 * (isFull ? 2_000 : 1);

test("of histories of 250 signals without an edge, at most 5 % ever read better or worse, in 24 settings", () => {
  expect(SETTINGS).toHaveLength(24);
  let wrong = 0;
  for (let n = 0; n < HISTORIES; n++) {
    const random = generator(77_000 + n);
    const setting = SETTINGS[n % SETTINGS.length];
    if (setting === undefined) throw new Error("There is a setting");
    const days: Excess[] = [];
    let isWrong = false;
    for (let day = 0; day < 125 && !isWrong; day++) {
      const both = (["BTC", "ETH"] as const).map((token) => told(trade(random, day, token, setting)));
      const of = (which: keyof Excess) => mean(both.map((one) => one[which]));
      days.push({ least: of("least"), most: of("most"), net: of("net") });
      isWrong = !["no record yet", "not told from chance"].includes(judgeEdge(days, 2 * days.length));
    }
    if (isWrong) wrong += 1;
  }
  if (isFull) console.info(`${wrong} of ${HISTORIES} histories without an edge were ever judged`);
  expect(wrong / HISTORIES).toBeLessThanOrEqual(0.05);
});

test("an edge of 15 points is found within 250 signals, and a loss of it, too", () => {
  const verdictAt = (shift: number) => {
    const random = generator(5);
    const setting = { rewardToRisk: 1, costBps: 0, gaps: 0, expired: 0 };
    const rows = Array.from({ length: 250 }, (_, index) => {
      const one = trade(random, Math.floor(index / 2), index % 2 === 0 ? "BTC" : "ETH", setting);
      const isTurned = random() < 2 * Math.abs(shift) && one.status === (shift > 0 ? "LOSS" : "WIN");
      return isTurned
        ? ({ ...one, status: shift > 0 ? "WIN" : "LOSS", exitPrice: shift > 0 ? one.tp1 : one.sl } as const)
        : one;
    });
    return computeRecord(rows).edge.verdict;
  };
  expect([verdictAt(0.15), verdictAt(0), verdictAt(-0.15)]).toEqual([
    "better than chance",
    "not told from chance",
    "worse than chance",
  ]);
});

test("what confidences were worth is told by the fullest bins, in one sentence", () => {
  const random = generator(9);
  const setting = { rewardToRisk: 1, costBps: 0, gaps: 0, expired: 0 };
  const rows = Array.from({ length: 51 }, (_, index) => {
    const one = trade(random, index, "BTC", setting);
    const isWon = index % 2 === 0;
    return {
      ...one,
      confidence: index < 41 ? 60 + (index % 20) : 100,
      status: isWon ? ("WIN" as const) : ("LOSS" as const),
    };
  });
  const { reliability } = computeRecord(rows);
  expect(reliability.says).toBe(
    "Of 41 signals stated at 60–79 %, 51 % were won; of 10 signals stated at 80–100 %, 50 % were won.",
  );
  expect(computeRecord([]).reliability.says).toBeNull();
});

test("days on which a token got none, between its first and last signal, are counted", () => {
  const random = generator(3);
  const setting = { rewardToRisk: 1, costBps: 0, gaps: 0, expired: 0 };
  const rows = [0, 1, 4].flatMap((day) =>
    (["BTC", "ETH"] as const).map((token) => trade(random, day, token, setting)),
  );
  expect(computeRecord(rows).missingDays).toBe(4);
  expect(computeRecord(rows.slice(1)).missingDays).toBe(5);
});
