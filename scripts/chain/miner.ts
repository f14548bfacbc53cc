import * as z from "zod";
import { startLoop, type Loop } from "./loop";
import { hexShape, type Rpc } from "./rpc";

/**
 * Mines when there is something to mine, and stamps blocks with the application's clock. The node's own mining loses
 * transactions that arrive while it mines, and knows only its own time.
 */

export type Miner = Omit<Loop, "inTurn"> & {
  /** Mines one block now, even when paused; while it is, sent transactions stay pending. */
  mine(): Promise<void>;
  /** Does immediately what the miner would do a moment later: mines a block if anything is pending, unless paused. */
  look(): Promise<void>;
};

const BUSY_MS = 15;
const IDLE_MS = 150;
/** How long after a block the miner checks often. */
const BUSY_FOR_MS = 1_000;
/** Calls see the time of the head, so an idle chain needs a block now and then. In seconds of real time. */
const HEARTBEAT_SECONDS = 60;
/** After so many checks without a change, queued transactions are stuck. */
const STUCK_AFTER = 4;

const headShape = z.object({ timestamp: hexShape });
const poolStatusShape = z.object({ pending: hexShape, queued: hexShape });

/** @param options.clock Seconds of the application's time. */
export function startMiner(options: {
  rpc: Rpc;
  clock: () => number;
  speed: number;
  log: (message: string) => void;
}): Miner {
  const { rpc, clock, speed, log } = options;
  let minedAt = performance.now();
  let headTime = 0;
  let still = 0;
  let seen = "";

  const mineNow = async () => {
    headTime = await mineBlock(rpc, clock);
    minedAt = performance.now();
  };

  const look = async () => {
    if (loop.paused()) return;
    const { pending, queued } = poolStatusShape.parse(await rpc.call("txpool_status"));
    if (BigInt(pending) > 0n) {
      seen = "";
      return mineNow();
    }
    still = BigInt(queued) > 0n && queued === seen ? still + 1 : 0;
    seen = queued;
    if (still >= STUCK_AFTER) {
      still = 0;
      await freeStuck(rpc);
    }
    if (clock() - headTime >= HEARTBEAT_SECONDS * speed) await mineNow();
  };

  // One after another: a block must not be older than the one before it.
  const loop = startLoop({
    turn: async () => {
      await loop.inTurn(look);
      // In fast time an idle wait is long.
      return performance.now() - minedAt < BUSY_FOR_MS ? BUSY_MS : Math.max(BUSY_MS, IDLE_MS / speed);
    },
    retryMs: IDLE_MS,
    failed: (error) => {
      log(`The chain's miner failed: ${error instanceof Error ? error.message : String(error)}`);
    },
  });

  return {
    ...loop,
    mine: () => loop.inTurn(mineNow),
    look: () => loop.inTurn(look),
  };
}

/** Mines one block, never dated before its parent, and returns its time. */
export async function mineBlock(rpc: Rpc, clock: () => number): Promise<number> {
  const timestamp = Math.max(await timeOfHead(rpc), Math.floor(clock()));
  await rpc.call("evm_mine", [{ timestamp }]);
  return timestamp;
}

/** Of the last block, in seconds. */
export async function timeOfHead(rpc: Rpc): Promise<number> {
  const head = headShape.parse(await rpc.call("eth_getBlockByNumber", ["latest", false]));
  return Number(head.timestamp);
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
