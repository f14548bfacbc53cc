import { expect, test } from "vitest";
import { figure } from "../../scripts/bench/table";
import { brierAfter150, overconfident } from "../../scripts/bench/signals/signalForecasts";

const rounds = Number(process.env.LONG_ROUNDS ?? 500);
const seed = Number(process.env.LONG_SEED ?? 1);

function improvement(spread: number): { stated: number; calibrated: number; percent: number } {
  const runs = Array.from({ length: rounds }, (_, round) =>
    brierAfter150(overconfident({ n: 730, spread, seed: seed * 10_000 + round })),
  );
  const stated = runs.reduce((sum, one) => sum + one.stated, 0) / rounds;
  const calibrated = runs.reduce((sum, one) => sum + one.calibrated, 0) / rounds;
  return { stated, calibrated, percent: 100 * (1 - calibrated / stated) };
}

test("forecasters that say 75 % and hit 55 %: after 150 outcomes the Brier score is at least 15 % better out of sample", async ({
  annotate,
}) => {
  const { stated, calibrated, percent } = improvement(20);
  await annotate(
    `${figure(rounds)} forecasters of 730, saying 55 to 95: Brier ${stated.toFixed(4)} stated, ${calibrated.toFixed(4)} calibrated, ${percent.toFixed(1)} % better`,
    "figures",
  );
  expect(percent).toBeGreaterThanOrEqual(15);
}, 1_800_000);

test("one that always says 75 % gains what there is to gain", async ({ annotate }) => {
  const { stated, calibrated, percent } = improvement(0);
  // (0.75 - 0.55)² of (0.75 - 0.55)² + 0.55 x 0.45: whoever knows the 55 % gains no more.
  const most = (100 * 0.04) / (0.04 + 0.2475);
  await annotate(
    `saying 75 always: Brier ${stated.toFixed(4)} stated, ${calibrated.toFixed(4)} calibrated, ${percent.toFixed(1)} % better of ${most.toFixed(1)} possible`,
    "figures",
  );
  expect(percent).toBeGreaterThan(most - 1);
}, 1_800_000);
