import { pad, toHex, type Hex } from "viem";
import { FEEDS, type FeedName } from "./addresses";
import { startLoop, type Loop } from "./loop";
import { timeOfHead, type Miner } from "./miner";
import type { Rpc, RpcCall } from "./rpc";

/** Keeps the price feeds on the local chain up to date, by writing their storage: that needs no block. */

const PRICED = ["ETH", "BTC", "USDC", "USDT", "DAI"] as const satisfies readonly FeedName[];

/** In USD. */
export type Prices = Record<(typeof PRICED)[number], number>;

export type Feeds = Pick<Loop, "pause" | "resume" | "stop"> & {
  /** Writes the current prices. Needed after a reorganisation, which reverts the last ones. */
  tick(): Promise<void>;
  /** Writes one feed: prices have 8 decimals, `updatedAt` is in seconds. The next tick overwrites a price. */
  set(name: FeedName, round: { answer: bigint; updatedAt: number }): Promise<void>;
};

/** At high speed ticks come every 300 s of the application's time, so that no feed is ever stale. */
const TICK_MS = 1_000;
const TICK_SECONDS = 300;
const SLOT = pad("0x0");

/** Starts with a tick immediately. */
export function startFeeds(options: {
  rpc: Rpc;
  miner: Miner;
  prices: () => Prices;
  speed: number;
  log: (message: string) => void;
}): Feeds {
  const { rpc, miner, prices, speed, log } = options;
  const everyMs = Math.min(TICK_MS, (TICK_SECONDS * 1_000) / speed);

  const write = async () => {
    // The head's time, not the clock's: on a real chain, too, no round is younger than the block in which it is read.
    const updatedAt = await timeOfHead(rpc);
    const now = prices();
    await rpc.batch(
      PRICED.map((name) => storageWrite(name, { answer: BigInt(Math.round(now[name] * 1e8)), updatedAt })),
    );
  };

  const loop = startLoop({
    turn: async () => {
      if (loop.paused()) return everyMs;
      // In fast time the head itself is old within one tick.
      if (speed > 1 && !miner.paused()) await miner.mine();
      await loop.inTurn(async () => {
        if (!loop.paused()) await write();
      });
      return everyMs;
    },
    retryMs: everyMs,
    failed: (error) => {
      log(`The chain's feeds are not updated: ${error instanceof Error ? error.message : String(error)}`);
    },
  });

  return {
    ...loop,
    tick: () => loop.inTurn(write),
    set: (name, round) => loop.inTurn(() => writeFeed(rpc, name, round)),
  };
}

export async function writeFeed(
  rpc: Rpc,
  name: FeedName,
  round: { answer: bigint; updatedAt: number },
): Promise<void> {
  await rpc.batch([storageWrite(name, round)]);
}

function storageWrite(name: FeedName, round: { answer: bigint; updatedAt: number }): RpcCall {
  return ["anvil_setStorageAt", [FEEDS[name], SLOT, packed(round)]];
}

/** In the contract's layout: the time above 192 bits of answer, in two's complement. */
function packed({ answer, updatedAt }: { answer: bigint; updatedAt: number }): Hex {
  return toHex((BigInt(updatedAt) << 192n) | BigInt.asUintN(192, answer), { size: 32 });
}
