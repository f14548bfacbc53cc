import { brierAfter150, overconfident } from "./signalForecasts";
import { lookDaily } from "./signalHistories";
import { labelPaths } from "./signalPaths";
import type { Progress } from "./progress";
import { figure, type Table } from "./table";

/** What the signals' record makes of histories whose truth is known. Long forms, other seeds: `npm run test:long`. */
export const question = "The signals' record on simulated histories: claims, labels, calibration";

const SEED = 1;
const HISTORIES = 10_000;
const PLANTED = 2_000;
const PATHS = 10_000;
const FORECASTERS = 200;
const DAYS = 365;

export function run(progress: Progress): Promise<Table> {
  const timed = (name: string, work: () => { found: string; allowed: string; holds: boolean }) => {
    progress(name);
    const startedAt = performance.now();
    const { found, allowed, holds } = work();
    const seconds = (performance.now() - startedAt) / 1_000;
    return { row: [name, found, allowed, `${figure(seconds, 1)} s`], holds };
  };
  const answers = [
    timed(`${figure(HISTORIES)} histories without an edge, looked at daily for 730 signals`, () => {
      const { found } = lookDaily({ histories: HISTORIES, days: DAYS, seed: SEED }, 0);
      const share = found / HISTORIES;
      return {
        found: `${percent(share)} ever read "better than chance"`,
        allowed: "at most 5 %",
        holds: share <= 0.05,
      };
    }),
    timed(`${figure(PLANTED)} histories with an edge of 5 points`, () => {
      const { found } = lookDaily({ histories: PLANTED, days: DAYS, seed: SEED }, 0.05);
      const share = found / PLANTED;
      return { found: `${percent(share)} found`, allowed: "at least 70 %", holds: share >= 0.7 };
    }),
    timed(`${figure(PATHS)} price paths, labelled from candles and from every second's price`, () => {
      const { wrong } = labelPaths({ paths: PATHS, seed: SEED });
      const unexplained = wrong.filter(({ dark }) => dark === null).length;
      return {
        found: `${wrong.length} labelled otherwise, ${unexplained} of them where candles can tell`,
        allowed: "under 1 %, none where they can tell",
        holds: unexplained === 0 && wrong.length / PATHS < 0.01,
      };
    }),
    timed(`${figure(FORECASTERS)} forecasters that say 75 % and hit 55 %`, () => {
      let [stated, calibrated] = [0, 0];
      for (let n = 0; n < FORECASTERS; n++) {
        const one = brierAfter150(overconfident({ n: 730, spread: 20, seed: SEED * 10_000 + n }));
        stated += one.stated;
        calibrated += one.calibrated;
      }
      const better = 1 - calibrated / stated;
      return {
        found: `Brier ${percent(better)} better out of sample after 150`,
        allowed: "at least 15 %",
        holds: better >= 0.15,
      };
    }),
  ];
  const broken = answers.filter(({ holds }) => !holds).map(({ row }) => row[0]);
  return Promise.resolve({
    inputs: [
      `Seed ${SEED}; what each is made of is told in scripts/bench/signalHistories, signalPaths and signalForecasts.`,
      "`npm run test:long -- edge`, `labels` and `calibration` ask more of them, with other seeds.",
    ],
    columns: ["", "found", "demanded", "took"],
    rows: answers.map(({ row }) => row),
    notes: [broken.length === 0 ? "All hold." : `DO NOT HOLD: ${broken.join("; ")}`],
  });
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
