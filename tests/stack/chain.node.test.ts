import type { Address } from "viem";
import { afterEach, expect, test } from "vitest";
import type { Chain } from "../../scripts/chain";
import { feedAbi } from "../../scripts/chain/abis";
import type { FeedName } from "../../scripts/chain/addresses";
import { startStack, type Stack, type StackOptions } from "../../scripts/stack/stack";
import { clientOf } from "../chain/support";
import { until } from "../support/waits";
import { temporaryDirectory } from "./processes";

/** The local chain as a part of the stack. */

const HOLDER: Address = "0x4444444444444444444444444444444444444444";

let stack: Stack | undefined;

afterEach(() => stop());

async function start(options: StackOptions = {}): Promise<{ stack: Stack; chain: Chain }> {
  stack = await startStack({ envFile: "/dev/null", ...options });
  if (stack.chain === null) throw new Error("The stack has no chain");
  return { stack, chain: stack.chain };
}

async function stop(): Promise<void> {
  await stack?.stop();
  stack = undefined;
}

async function round(chain: Chain, feed: FeedName): Promise<{ price: number; updatedAt: number }> {
  const [, answer, , updatedAt] = await clientOf(chain).readContract({
    address: chain.addresses.feeds[feed],
    abi: feedAbi,
    functionName: "latestRoundData",
  });
  return { price: Number(answer) / 1e8, updatedAt: Number(updatedAt) };
}

test("the chain outlives a restart, and an ephemeral stack does not see it", async () => {
  const dataDir = await temporaryDirectory();
  const first = await start({ dataDir });
  await first.chain.fund(HOLDER, { USDC: 7n, ETH: 8n });
  const height = await clientOf(first.chain).getBlockNumber();
  expect(process.env.CHAIN_RPC_URL).toBe(first.chain.url);
  await stop();
  await expect(fetch(first.chain.url)).rejects.toThrow(TypeError);
  expect(process.env.CHAIN_RPC_URL).toBeUndefined();

  const second = await start({ dataDir });
  expect(await clientOf(second.chain).getBlockNumber()).toBeGreaterThanOrEqual(height);
  expect(await clientOf(second.chain).getBalance({ address: HOLDER })).toBe(8n);
  await stop();

  const { chain } = await start({ dataDir, ephemeral: true });
  expect(await clientOf(chain).getBalance({ address: HOLDER })).toBe(0n);
});

test("at 480 times the speed feeds and blocks follow the application's time, and are never ahead of it", async () => {
  const HEARTBEAT = 1_200;
  const { stack, chain } = await start({ speed: 480 });
  const rounds = new Set<number>();
  const end = stack.clock.now() / 1_000 + HEARTBEAT;
  await until(async () => {
    const { updatedAt } = await round(chain, "ETH");
    const { timestamp } = await clientOf(chain).getBlock();
    const now = stack.clock.now() / 1_000;
    // What a contract or a call sees is the head's time: neither may be ahead of the clock.
    expect(Number(timestamp)).toBeLessThanOrEqual(now);
    expect(updatedAt).toBeLessThanOrEqual(now);
    rounds.add(updatedAt);
    return updatedAt > end;
  });
  expect(rounds.size).toBeGreaterThan(1);
});
