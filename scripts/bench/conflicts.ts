import { SECOND } from "../../convex/lib/time";
import { startChain } from "../chain/index";
import { seededRandom } from "../host/globals";
import { pricesOf } from "../stack/localChain";
import { createMarket } from "../standins/sources/market";
import { createMixedLoad, WEBHOOK_SECRET } from "./mixedLoad";
import type { Progress } from "./progress";
import { figure, type Table } from "./table";
import { createWorld, START, type World } from "./world";

/** Mutations that run again, or fail, because others wrote what they had read, with the platform's conflicts. */
export const question = "How many mutations conflict at 50 requests a second of mixed load?";

const PER_SECOND = 50;
const SECONDS = 20;
/** A mutation's duration on the platform, from its first read to its commit. */
const MEAN_MS = [40];
const ANSWER_MS = { llm: 3 * SECOND, sentiment: 45 * SECOND, messenger: 300, tickers: 200, chain: 50 };
const MOST_SHARE = 2;
/** By then every caller has an answer. */
const AFTERMATH = 30 * SECOND;

type Counted = {
  mutations: number;
  retries: number;
  failures: number;
  by: ReadonlyMap<string, number>;
  requests: number;
  /** Answers other than 200, as `kind: status`, with their number. */
  refused: ReadonlyMap<string, number>;
};

export async function run(progress: Progress): Promise<Table> {
  const counted: Counted[] = [];
  for (const mean of MEAN_MS) {
    progress(`mutations of ${mean} ms`);
    counted.push(await count(mean));
  }
  const share = ({ retries, mutations }: Counted) => (100 * retries) / mutations;
  const tables = [...new Set(counted.flatMap(({ by }) => [...by.keys()]))].toSorted();
  const missed = counted.filter((one) => one.failures > 0 || share(one) >= MOST_SHARE);
  return {
    inputs: [
      `${SECONDS} simulated seconds of ${PER_SECOND} requests each, at random moments, the interval crons once in the middle: of 20`,
      "8 market (cached), 2 chat, 2 token, 1 connect, 2 sends with a key, 2 bot updates, 1 research start, 2 of the web application.",
      "A mutation takes half to one and a half of the time in the first column; what overlaps on a row runs again, 4 times at most.",
      `Answers take 3 s (gateway), 45 s (sentiment), 50 ms (chain). Target: no failures, a share under ${MOST_SHARE} %.`,
      "On the platform's class S256: the 8 scheduled functions that the smallest class runs at once are too few for this load.",
    ],
    columns: ["a mutation takes", "requests", "mutations", "retries", "share", "failures", "answers but 200"],
    rows: counted.map((one, index) => [
      `${MEAN_MS[index]} ms`,
      figure(one.requests),
      figure(one.mutations),
      figure(one.retries),
      `${figure(share(one), 2)} %`,
      figure(one.failures),
      figure([...one.refused.values()].reduce((sum, some) => sum + some, 0)),
    ]),
    notes: [
      ...counted.flatMap(({ refused }, index) =>
        [...refused].map(([what, times]) => `${MEAN_MS[index]} ms: ${times} × ${what}`),
      ),
      missed.length === 0 ? "Within the target." : "NOT WITHIN THE TARGET",
    ],
    next: {
      question: "Which functions ran again, over which table's rows",
      inputs: [],
      columns: ["", ...MEAN_MS.map((mean) => `${mean} ms`)],
      rows: tables.map((table) => [table, ...counted.map(({ by }) => figure(by.get(table) ?? 0))]),
      notes: [],
    },
  };
}

async function count(meanMs: number): Promise<Counted> {
  let now = () => START;
  const market = createMarket({ seed: "bench", now: () => START });
  const chain = await startChain({
    port: 0,
    clock: () => now() / 1_000,
    speed: 1,
    stateFile: null,
    prices: () => pricesOf(market),
    log: () => undefined,
  });
  try {
    const chance = seededRandom(meanMs);
    const world = await createWorld({
      chain,
      answerMs: ANSWER_MS,
      // Of the smallest class's places, the 8 for scheduled work are too few for this load.
      platformClass: "S256",
      durationMs: () => meanMs * (0.5 + chance()),
      variables: { MESSENGER_WEBHOOK_SECRET: WEBHOOK_SECRET },
    });
    now = world.clock.now;
    try {
      const next = await createMixedLoad(world, {
        seed: String(meanMs),
        fund: (address, amounts) => chain.fund(address, amounts),
      });
      return await loaded(world, next, chance);
    } finally {
      world.stop();
    }
  } finally {
    await chain.stop();
  }
}

async function loaded(
  { clock, crons, host }: World,
  next: Awaited<ReturnType<typeof createMixedLoad>>,
  chance: () => number,
): Promise<Counted> {
  const { conflicts } = host.core.commits;
  const before = { ...conflicts, by: new Map(conflicts.by) };
  const refused = new Map<string, number>();
  const failures: unknown[] = [];
  const at = (ms: number, work: () => Promise<unknown>) =>
    clock.after(ms, () => void work().catch((error: unknown) => failures.push(error)));
  const requests = PER_SECOND * SECONDS;
  for (let i = 0; i < requests; i++) {
    const { kind, send } = next();
    at(chance() * SECONDS * SECOND, async () => {
      const status = await send();
      if (status === 200) return;
      const what = `${kind}: ${status}`;
      refused.set(what, (refused.get(what) ?? 0) + 1);
    });
  }
  // All intervals count from the push, so they come together.
  for (const { tick, schedule } of crons) if (schedule.type === "interval") at((SECONDS / 2) * SECOND, tick);
  await clock.advance(SECONDS * SECOND + AFTERMATH);
  if (failures.length > 0) throw new AggregateError(failures, "A request or a cron failed");
  const by = [...conflicts.by].map(([table, some]) => [table, some - (before.by.get(table) ?? 0)] as const);
  return {
    mutations: conflicts.mutations - before.mutations,
    retries: conflicts.retries - before.retries,
    failures: conflicts.failures - before.failures,
    by: new Map(by),
    requests,
    refused,
  };
}
