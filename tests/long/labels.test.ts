import { expect, test } from "vitest";
import { figure } from "../../scripts/bench/table";
import { labelPaths } from "../../scripts/bench/signals/signalPaths";

test("10,000 paths are labelled from candles as from every price, but where candles cannot tell", async ({
  annotate,
}) => {
  const paths = Number(process.env.LONG_ROUNDS ?? 10_000);
  const { counts, wrong, late } = labelPaths({ paths, seed: Number(process.env.LONG_SEED ?? 1) });
  const inOne = wrong.filter(({ dark }) => dark === "both levels in one candle").length;
  await annotate(
    `${figure(paths)} paths: ${counts.WIN} won, ${counts.LOSS} lost, ${counts.EXPIRED} expired; ${wrong.length} labelled otherwise, ${inOne} of them for two levels in one candle, the others in the minute of issue or expiry`,
    "figures",
  );
  expect(wrong.filter(({ dark }) => dark === null)).toEqual([]);
  expect(late).toBe(0);
  expect(wrong.length / paths).toBeLessThan(0.01);
}, 1_800_000);
