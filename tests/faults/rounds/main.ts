import { parseArgs } from "node:util";
import { startChain } from "../../../scripts/chain";
import { pricesOf } from "../../../scripts/stack/localChain";
import { createMarket } from "../../../scripts/standins/sources/market";
import { random } from "../../../scripts/standins/random";
import { startHost } from "./host";
import { findings } from "./invariants";
import { play, prepare } from "./workload";

/**
 * `npm run test:long -- crashes`: rounds in which the service dies at random outside calls and commits, and must lose
 * nothing.
 *
 *     npm run test:long -- crashes --seed 7 --rounds 200
 *
 * A round belongs to its seed: one that fails names it, to be repeated alone. `--log` shows what the service logged.
 */

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    rounds: { type: "string", default: "200" },
    log: { type: "boolean" },
  },
});
const first = Number(values.seed);
const rounds = Number(values.rounds);
const MINUTE = 60_000;
const DAY = 86_400_000;

/** Each round begins shortly before the day's signals, whose card is a picture. */
let time = Date.UTC(2026, 0, 5, 7, 40);
let now = () => time;
const market = createMarket({ seed: "faults", now: () => now() });
const chain = await startChain({
  port: 0,
  clock: () => now() / 1_000,
  speed: 1,
  stateFile: null,
  prices: () => pricesOf(market),
  log: (message) => console.error(message),
});
// Blocks and prices come at simulated times.
await chain.miner.pause();
await chain.feeds.pause();

let failed = 0;
let deaths = 0;
let pictures = 0;
for (let seed = first; seed < first + rounds; seed++) {
  const startedAt = process.cpuUsage();
  const chance = random("faults", seed);
  const host = await startHost({
    chain,
    start: time,
    seed: String(seed),
    downtime: () => chance.pick([100, 5_000, 90_000, 11 * MINUTE]),
  });
  now = host.now;
  let found: string[];
  let summary = "";
  try {
    const workload = await prepare(host, chance, String(seed));
    const planned = chance.whole(1, 4);
    const many = workload.shifts > 0 ? 3 : 1;
    const arm = () => {
      const point = chance.pick(["before", "after", "write"] as const);
      host.arm({ point, n: chance.whole(1, many * (point === "write" ? 120 : 30)) });
    };
    arm();
    await play(host, workload, chance, { deaths: planned, arm });
    found = await findings(host, workload);
    summary = `${workload.asked.length} requests, ${workload.shifts} shifts, ${host.remains.length} deaths`;
  } catch (error) {
    found = [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
  deaths += host.remains.length;
  pictures += host.standins.sent("messenger").filter(({ method }) => method === "sendPhoto").length;
  time += (Math.floor((host.now() - time) / DAY) + 1) * DAY;
  now = () => time;
  host.stop();
  const { user, system } = process.cpuUsage(startedAt);
  console.log(
    `round ${seed}: ${found.length === 0 ? "ok" : "FAILED"}, ${summary}, ${((user + system) / 1e6).toFixed(1)} s of CPU`,
  );
  if (values.log === true) console.log(host.log.join("\n"));
  if (found.length === 0) continue;
  failed++;
  for (const one of found) console.log(`  ${one}`);
  console.log(`  Repeat it alone: npm run test:long -- crashes --seed ${seed} --rounds 1`);
}
await chain.stop();
console.log(
  `${rounds - failed} rounds of ${rounds} held, with ${pictures} pictures, through ${deaths} deaths`,
);
process.exit(failed === 0 ? 0 : 1);
