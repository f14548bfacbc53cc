import { pad, toHex } from "viem";
import * as z from "zod";
import { getErrorMessage } from "../../convex/lib/errors";
import { real } from "../real";
import { FEEDS, type FeedName } from "./addresses";
import { hexShape, type Rpc } from "./node";

/**
 * The loops of the chain, in real time: the miner mines pending transactions, and stamps blocks with the
 * application's clock (the node's own mining loses transactions that arrive while it mines, and knows only its own
 * time); the feeds' prices are written into their storage, which needs no block.
 */

type TurnQueue = <Value>(work: () => Promise<Value>) => Promise<Value>;

/** A queue of tasks, run one after another whether or not they fail. */
export function createTurns(): TurnQueue {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work, work);
    last = result.catch(() => undefined);
    return result;
  };
}

type Loop = {
  /** Runs a task after the tasks before it. */
  inTurn: TurnQueue;
  /** After this resolves, no task of the loop is running. */
  pause: () => Promise<void>;
  resume: () => void;
  paused: () => boolean;
  /** Resolves when the current turn, if any, has ended. */
  stop: () => Promise<void>;
};

type Log = (message: string) => void;

/**
 * Takes turns until stopped, but none while paused; each returns how many ms to wait before the next. Of consecutive
 * failures only the first is logged.
 */
function startLoop(name: string, retryMs: number, log: Log, turn: () => Promise<number>): Loop {
  const inTurn = createTurns();
  let [running, paused, failing] = [true, false, false];
  let runNow = () => {};
  const next = async (): Promise<number> => {
    try {
      const wait = paused ? retryMs : await turn();
      failing = false;
      return wait;
    } catch (error) {
      if (running && !failing) log(`The chain's ${name} failed: ${getErrorMessage(error)}`);
      failing = true;
      return retryMs;
    }
  };
  const runLoop = async () => {
    while (running) {
      const wait = await next();
      if (!running) return;
      await new Promise<void>((resolve) => {
        const timer = real.setTimeout(resolve, wait);
        runNow = () => {
          real.clearTimeout(timer);
          resolve();
        };
      });
    }
  };
  const over = runLoop();
  return {
    inTurn,
    pause: () => {
      paused = true;
      return inTurn(() => Promise.resolve());
    },
    resume: () => {
      paused = false;
    },
    paused: () => paused,
    stop: () => {
      running = false;
      runNow();
      return over;
    },
  };
}

export type Miner = Omit<Loop, "inTurn"> & {
  /** Mines one block now, even when paused; transactions sent meanwhile stay pending. */
  mine(): Promise<void>;
  /** Runs the miner's next turn at once: mines a block if a transaction is pending, unless paused. */
  look(): Promise<void>;
};

const BUSY_MS = 40;
const IDLE_MS = 150;
/** How long after a block the miner checks frequently. */
const BUSY_FOR_MS = 1_000;
/** Calls see the time of the head, so an idle chain needs a block now and then. In seconds of real time. */
const HEARTBEAT_SECONDS = 60;
/** After this many checks without a change, queued transactions are stuck. */
const STUCK_AFTER = 4;

const headShape = z.object({ timestamp: hexShape });
const poolStatusShape = z.object({ pending: hexShape, queued: hexShape });

export type Pace = {
  rpc: Rpc;
  /** Seconds of the application's time. */
  clock: () => number;
  /** How many times faster than real time the clock runs. */
  speed: number;
  log: Log;
};

export function startMiner({ rpc, clock, speed, log }: Pace): Miner {
  let minedAt = performance.now();
  let headTime = 0;
  let still = 0;
  let lastHeld = "";

  const mineNow = async () => {
    headTime = await mineBlock(rpc, clock);
    minedAt = performance.now();
  };
  const poll = async (isPaused: boolean) => {
    if (isPaused) return;
    const { pending, queued } = poolStatusShape.parse(await rpc.call("txpool_status"));
    if (BigInt(pending) > 0n) {
      lastHeld = "";
      return mineNow();
    }
    still = BigInt(queued) > 0n && queued === lastHeld ? still + 1 : 0;
    lastHeld = queued;
    if (still >= STUCK_AFTER) {
      still = 0;
      await freeStuck(rpc);
    }
    if (clock() - headTime >= HEARTBEAT_SECONDS * speed) await mineNow();
  };

  // One after another: a block must not be older than the one before it.
  const loop: Loop = startLoop("miner", IDLE_MS, log, async () => {
    // In the queue, but not during the loop's own start.
    await Promise.resolve();
    await loop.inTurn(() => poll(loop.paused()));
    // In fast time an idle wait is long.
    return performance.now() - minedAt < BUSY_FOR_MS ? BUSY_MS : Math.max(BUSY_MS, IDLE_MS / speed);
  });
  return {
    ...loop,
    mine: () => loop.inTurn(mineNow),
    look: () => loop.inTurn(() => poll(loop.paused())),
  };
}

/** Mines one block, never dated before its parent, and returns its time. */
export async function mineBlock(rpc: Rpc, clock: () => number): Promise<number> {
  const timestamp = Math.max(await timeOfHead(rpc), Math.floor(clock()));
  await rpc.call("evm_mine", [{ timestamp }]);
  return timestamp;
}

/** The time of the last block, in seconds. */
async function timeOfHead(rpc: Rpc): Promise<number> {
  return Number(headShape.parse(await rpc.call("eth_getBlockByNumber", ["latest", false])).timestamp);
}

const poolShape = z.record(z.string(), z.record(z.string(), z.object({ hash: hexShape, nonce: hexShape })));
const poolContentShape = z.object({ pending: poolShape, queued: poolShape });

/**
 * Puts transactions back into the pool that the node wrongly holds for an earlier nonce: this happens if a block is
 * mined while the next transaction is being added, and nothing else frees them.
 */
async function freeStuck(rpc: Rpc): Promise<void> {
  const { pending, queued } = poolContentShape.parse(await rpc.call("txpool_content"));
  for (const [sender, byNonce] of Object.entries(queued)) {
    const waiting = Object.values(byNonce).sort((a, b) => Number(a.nonce) - Number(b.nonce));
    const [first] = waiting;
    if (first === undefined || pending[sender] !== undefined) continue;
    const next = hexShape.parse(await rpc.call("eth_getTransactionCount", [sender, "latest"]));
    // Otherwise a nonce is really missing.
    if (BigInt(first.nonce) !== BigInt(next)) continue;
    const signed = await rpc.batch(waiting.map(({ hash }) => ["eth_getRawTransactionByHash", [hash]]));
    await rpc.call("anvil_removePoolTransactions", [sender]);
    for (const bytes of signed) await rpc.call("eth_sendRawTransaction", [bytes]);
  }
}

const PRICED = ["ETH", "BTC", "USDC", "USDT", "DAI"] as const satisfies readonly FeedName[];

/** In USD. */
export type Prices = Record<(typeof PRICED)[number], number>;

type Round = { answer: bigint; updatedAt: number };

export type Feeds = Pick<Loop, "pause" | "resume" | "stop"> & {
  /** Writes the current prices. Needed after a reorganisation, which reverts the last ones. */
  tick(): Promise<void>;
  /** Writes one feed: prices have 8 decimals, `updatedAt` is in seconds. The next tick overwrites a price. */
  set(name: FeedName, round: Round): Promise<void>;
};

/** At high speed ticks come every 300 s of the application's time, so that no feed is ever stale. */
const TICK_MS = 1_000;
const TICK_SECONDS = 300;

/** Starts with a tick immediately. */
export function startFeeds({ rpc, speed, log }: Pace, miner: Miner, prices: () => Prices): Feeds {
  const everyMs = Math.min(TICK_MS, (TICK_SECONDS * 1_000) / speed);
  const write = async () => {
    // The head's time, not the clock's: on a real chain, too, no round is younger than the block in which it is read.
    const updatedAt = await timeOfHead(rpc);
    const now = prices();
    const rounds = PRICED.map((name) => [name, BigInt(Math.round(now[name] * 1e8))] as const);
    await rpc.batch(rounds.map(([name, answer]) => feedWrite(name, { answer, updatedAt })));
  };
  const loop: Loop = startLoop("feeds", everyMs, log, async () => {
    // In fast time the head itself is old within one tick.
    if (speed > 1 && !miner.paused()) await miner.mine();
    await Promise.resolve();
    await loop.inTurn(async () => {
      if (!loop.paused()) await write();
    });
    return everyMs;
  });
  return {
    ...loop,
    tick: () => loop.inTurn(write),
    set: (name, round) => loop.inTurn(async () => void (await rpc.batch([feedWrite(name, round)]))),
  };
}

/** In the contract's layout: the time above 192 bits of answer, in two's complement. */
export function feedWrite(name: FeedName, { answer, updatedAt }: Round): [string, unknown[]] {
  const packed = toHex((BigInt(updatedAt) << 192n) | BigInt.asUintN(192, answer), { size: 32 });
  return ["anvil_setStorageAt", [FEEDS[name], pad("0x0"), packed]];
}
