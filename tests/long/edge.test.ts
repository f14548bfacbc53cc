import { expect, test } from "vitest";
import { figure } from "../../scripts/bench/table";
import { lookDaily } from "../../scripts/bench/signals/signalHistories";

const rounds = {
  histories: Number(process.env.LONG_ROUNDS ?? 10_000),
  days: 365,
  seed: Number(process.env.LONG_SEED ?? 1),
};

test("of 10,000 histories without an edge, looked at daily for 730 signals, at most 5 % ever read better than chance", async ({
  annotate,
}) => {
  const { found, excess } = lookDaily(rounds, 0);
  const share = found / rounds.histories;
  await annotate(
    `${figure(rounds.histories)} histories without an edge: ${found} ever read better than chance (${(100 * share).toFixed(2)} %), mean excess ${(100 * excess).toFixed(3)} points`,
    "figures",
  );
  expect(share).toBeLessThanOrEqual(0.05);
}, 1_800_000);

test.each([
  [0.03, 0.2],
  [0.05, 0.7],
  [0.1, 0.99],
])(
  "an edge of %d is found within 730 signals with the power that is told",
  (edge, power) => {
    const { found, excess } = lookDaily({ ...rounds, histories: Math.ceil(rounds.histories / 5) }, edge);
    console.log(`figures: edge ${edge}, found ${found} of ${rounds.histories / 5}, mean excess ${excess}`);
    expect(Math.abs(excess - edge)).toBeLessThan(0.002);
    expect(found / Math.ceil(rounds.histories / 5)).toBeGreaterThanOrEqual(power);
  },
  1_800_000,
);
