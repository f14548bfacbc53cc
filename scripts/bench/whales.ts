import type { Hex } from "viem";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { MINUTE } from "../../convex/lib/time";
import { startChain, type Chain } from "../chain/index";
import { createMoves, type Moves } from "../chain/moves";
import { pricesOf } from "../stack/localChain";
import { dumpRows, restoreRows } from "../stack/rows";
import { createMarket } from "../standins/sources/market";
import { random } from "../standins/random";
import type { Progress } from "./progress";
import { figure, type Table } from "./table";
import { planned, type Planned } from "./whaleMoves";
import { createWorld, START, type World } from "./world";

/** Measured whale alerts against what really moved on a chain that drops blocks, through a restart; and what reading costs. */
export const question =
  "Are the measured whale movements complete and right, and what does reading the chain cost?";

const PER_BLOCK = 5;
const BLOCKS_PER_LOOK = 10;
const SETTLING = 3;
/** Blocks dropped, one reorganisation after another, spread over the transfers. */
const DROPS = [1, 2, 4, 6, 9, 12];
/** Base's blocks come every two seconds. */
const BLOCKS_A_MINUTE = 30;
const QUIET_MINUTES = 10;

/** A transfer that was sent, with its transaction. */
type Sent = Planned & { hash: Hex };
type Cost = { requests: number; calls: number };

/** One alert as the deployment shows it. */
const alertShape = z.object({
  txHash: z.string(),
  alertType: z.string(),
  movement: z.object({ quantity: z.string() }),
});
const listShape = z.object({ alerts: z.array(alertShape) });

export async function run(progress: Progress): Promise<Table> {
  let now = () => START;
  const market = createMarket({ seed: "whales", now: () => now() });
  const chain = await startChain({
    ...{ port: 0, clock: () => now() / 1_000, speed: 1, stateFile: null },
    prices: () => pricesOf(market),
    log: () => undefined,
  });
  try {
    const moves = await createMoves(chain);
    const bench = await createBench(chain, moves, (clock) => (now = clock));
    try {
      return await measured(bench, progress);
    } finally {
      bench.stop();
    }
  } finally {
    await chain.stop();
  }
}

type Bench = Awaited<ReturnType<typeof createBench>>;

/** The application on the chain, which can be restarted in the middle of what it does. */
async function createBench(chain: Chain, moves: Moves, follow: (now: () => number) => void) {
  const cost: Cost = { requests: 0, calls: 0 };
  /** The process dies at this request; the answer never comes while anybody can tell. */
  let death: { at: number; died: () => void; lost: Promise<Response> } | null = null;
  const start = async (at: number): Promise<World> => {
    const world = await createWorld({ chain, start: at });
    follow(world.clock.now);
    const inner = globalThis.fetch;
    globalThis.fetch = async (input, init) => {
      const { url } = new Request(input, init);
      if (!url.startsWith(chain.url)) return inner(input, init);
      cost.requests++;
      if (typeof init?.body === "string") cost.calls += callsIn(init.body);
      if (death !== null && cost.requests >= death.at) {
        death.died();
        return death.lost;
      }
      return inner(input, init);
    };
    return world;
  };
  let world = await start(START);
  const minute = () => world.clock.advance(MINUTE);
  return {
    chain,
    moves,
    cost,
    world: () => world,
    /** The cron's visit and what follows from it. */
    look: async () => {
      await chain.feeds.tick();
      await world.clock.during(world.t.mutation(internal.whales.chain.cursor.begin, {}));
      await minute();
    },
    /** The process dies at its n-th call of a run, and another goes on with what was committed. */
    dieAndRestart: async (n: number) => {
      await chain.feeds.tick();
      let lose: (error: Error) => void = () => undefined;
      const lost = new Promise<Response>((_resolve, reject) => (lose = reject));
      lost.catch(() => undefined);
      const dead = new Promise<void>((died) => (death = { at: cost.requests + n, died, lost }));
      await world.clock.during(world.t.mutation(internal.whales.chain.cursor.begin, {}));
      const passing = minute();
      await dead;
      const rows = dumpRows(world.host.core);
      // What the dead process does from here on nobody keeps; it only has to end.
      lose(new Error("The process is gone"));
      await passing;
      death = null;
      const at = world.clock.now();
      world.stop();
      world = await start(at);
      await restoreRows(world.host.core, rows);
      // The lost run's lease ends.
      await world.clock.advance(4 * MINUTE);
    },
    stop: () => world.stop(),
  };
}

function callsIn(body: string): number {
  const sent: unknown = JSON.parse(body);
  return Array.isArray(sent) ? sent.length : 1;
}

async function measured(bench: Bench, progress: Progress): Promise<Table> {
  const plan = planned();
  await bench.moves.mine(SETTLING);
  await bench.look();
  const first = await cursor(bench);
  const sent: Sent[] = [];
  const drops = [...DROPS];
  const perRound = PER_BLOCK * BLOCKS_PER_LOOK;
  const rounds = Math.ceil(plan.length / perRound);
  let dropped = 0;
  for (let round = 0; round < rounds; round++) {
    progress(`round ${round + 1} of ${rounds}`);
    const part = plan.slice(round * perRound, (round + 1) * perRound);
    for (let next = 0; next < part.length; next += PER_BLOCK) {
      sent.push(...(await send(bench.moves, part.slice(next, next + PER_BLOCK))));
    }
    if (round === Math.floor(rounds / 2)) await bench.dieAndRestart(4);
    await bench.look();
    const depth = round % 3 === 2 ? drops.shift() : undefined;
    if (depth === undefined) continue;
    dropped += await reorganised(bench, sent, depth, round);
  }
  await bench.moves.mine(SETTLING);
  await bench.look();
  await bench.look();

  const expected = sent.filter(({ alert }) => alert !== null);
  const found = await shown(bench);
  const right = new Set(expected.map(keyOf));
  const keys = found.map((one) => `${one.txHash} ${one.alertType} ${one.movement.quantity}`);
  const hits = new Set(keys.filter((key) => right.has(key)));
  const rows = await rowCount(bench);
  progress("a second pass");
  await restartCursor(bench, first);
  for (let i = 0; i < 3; i++) await bench.look();
  const added = (await rowCount(bench)) - rows;
  const foundAgain = await shown(bench);
  const isSame = JSON.stringify(foundAgain) === JSON.stringify(found);

  progress("quiet minutes");
  const quiet = await quietCost(bench);
  const precision = keys.length === 0 ? 0 : hits.size / keys.length;
  const recall = right.size === 0 ? 0 : hits.size / right.size;
  const isPerfect = precision === 1 && recall === 1 && keys.length === right.size && added === 0 && isSame;
  const kinds = [...new Set(plan.map(({ kind }) => kind))];
  return {
    inputs: [
      `${figure(plan.length)} transfers of USDC, USDT, DAI, WETH, cbBTC and ETH on the local chain, ${PER_BLOCK} a block; a look every ${BLOCKS_PER_LOOK} blocks.`,
      `Of them: ${kinds.map((kind) => `${plan.filter((one) => one.kind === kind).length} ${kind}`).join(", ")}.`,
      `${DROPS.length} reorganisations of ${DROPS.join(", ")} blocks dropped ${dropped} transfers; every other was mined again. The process`,
      "died once in the middle of a run. A second pass reads every block again.",
      `Cost: ${QUIET_MINUTES} minutes of ${BLOCKS_A_MINUTE} blocks each, read once a minute. Requests are HTTP, calls JSON-RPC.`,
    ],
    columns: [
      "",
      "expected",
      "found",
      "precision",
      "recall",
      "a second pass adds",
      "requests a minute",
      "calls a minute",
    ],
    rows: [
      [
        "movements",
        figure(right.size),
        figure(keys.length),
        figure(precision, 3),
        figure(recall, 3),
        figure(added),
        figure(quiet.requests / QUIET_MINUTES, 1),
        figure(quiet.calls / QUIET_MINUTES, 1),
      ],
    ],
    notes: [
      isPerfect ? "Complete and right." : "NOT COMPLETE, OR NOT RIGHT.",
      ...[...right]
        .filter((key) => !hits.has(key))
        .slice(0, 5)
        .map((key) => `MISSING: ${key}`),
      ...keys
        .filter((key) => !right.has(key))
        .slice(0, 5)
        .map((key) => `FALSE: ${key}`),
    ],
  };
}

/** Sends transfers into one block, those of several logs in blocks of their own. */
async function send(moves: Moves, part: readonly Planned[]): Promise<Sent[]> {
  const sent: Sent[] = [];
  const single = part.filter(({ steps }) => steps.kind === "single");
  const hashes = await moves.send(
    single.flatMap(({ steps }) => (steps.kind === "single" ? [steps.move] : [])),
  );
  for (const [index, one] of single.entries()) sent.push({ ...one, hash: hashes[index] ?? "0x" });
  for (const one of part) {
    const { steps } = one;
    if (steps.kind === "together") sent.push({ ...one, hash: await moves.together(steps.moves) });
    if (steps.kind === "mint")
      sent.push({ ...one, hash: await moves.mint(steps.coin, steps.to, steps.amount) });
  }
  return sent;
}

/** The chain drops its last blocks; every other transfer in them is mined again. @returns How many were in them. */
async function reorganised(bench: Bench, sent: Sent[], depth: number, round: number): Promise<number> {
  const chance = random("whales", "reorganisation", round);
  await bench.chain.miner.pause();
  await bench.moves.drop(depth);
  bench.chain.miner.resume();
  const recent = sent.slice(-PER_BLOCK * (depth + SETTLING));
  const gone: Sent[] = [];
  for (const one of recent) {
    if ((await bench.chain.rpc("eth_getTransactionReceipt", [one.hash])) === null) gone.push(one);
  }
  for (const one of gone) sent.splice(sent.indexOf(one), 1);
  const again = chance.shuffled(gone).filter((_one, index) => index % 2 === 0);
  sent.push(
    ...(await send(
      bench.moves,
      again.map(({ hash: _hash, ...one }) => one),
    )),
  );
  return gone.length;
}

function keyOf({ hash, alert }: Sent): string {
  return alert === null ? "" : `${hash} ${alert.type} ${alert.quantity}`;
}

async function shown(bench: Bench): Promise<z.infer<typeof alertShape>[]> {
  const { alerts } = listShape.parse(await bench.world().call("GET", "/mcp/whale-alerts?hours=168"));
  return alerts;
}

async function rowCount(bench: Bench): Promise<number> {
  return bench.world().t.run(async ({ db }) => (await db.query("whaleAlerts").collect()).length);
}

type Place = { number: number; hash: string; time: number };

async function cursor(bench: Bench): Promise<Place> {
  const at = await bench.world().t.run(async ({ db }) => (await db.query("whaleCursors").first())?.at);
  if (at === undefined) throw new Error("The chain is not being read");
  return at;
}

async function restartCursor(bench: Bench, at: Place): Promise<void> {
  await bench.world().t.run(async ({ db }) => {
    const row = await db.query("whaleCursors").first();
    if (row !== null) await db.patch("whaleCursors", row._id, { at });
  });
}

/** What a look costs in which nothing is found. */
async function quietCost(bench: Bench): Promise<Cost> {
  const before = { ...bench.cost };
  for (let i = 0; i < QUIET_MINUTES; i++) {
    await bench.moves.mine(BLOCKS_A_MINUTE);
    await bench.look();
  }
  return { requests: bench.cost.requests - before.requests, calls: bench.cost.calls - before.calls };
}
