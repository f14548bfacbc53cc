import { afterAll, beforeAll, expect, test } from "vitest";
import { feedAbi } from "../../scripts/chain/abis";
import { startStack, type Stack } from "../../scripts/stack/stack";
import { clientOf } from "../chain/support";
import { until } from "../support/waits";

/** The chain of an accelerated stack. */

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ envFile: "/dev/null", speed: 480 });
});
afterAll(() => stack.stop());

function chain() {
  if (stack.chain === null) throw new Error("The stack has no chain");
  return stack.chain;
}

test("feeds and blocks follow the market and the application's time, and are never ahead of it", async () => {
  const HEARTBEAT = 1_200;
  const rounds = new Set<number>();
  const end = stack.clock.now() / 1_000 + HEARTBEAT;
  const feed = {
    address: chain().addresses.feeds.ETH,
    abi: feedAbi,
    functionName: "latestRoundData",
  } as const;
  await until(async () => {
    const [, answer, , round] = await clientOf(chain()).readContract(feed);
    const { timestamp } = await clientOf(chain()).getBlock();
    const now = stack.clock.now() / 1_000;
    const updatedAt = Number(round);
    // What a contract or a call sees is the head's time: neither may be ahead of the clock.
    expect(Number(timestamp)).toBeLessThanOrEqual(now);
    expect(updatedAt).toBeLessThanOrEqual(now);
    const price = stack.standins.market.price("ETH", updatedAt * 1_000);
    expect(Math.abs(Number(answer) / 1e8 / price - 1)).toBeLessThan(0.01);
    rounds.add(updatedAt);
    return updatedAt > end;
  });
  expect(rounds.size).toBeGreaterThan(1);
});

test("a stopped stack leaves no chain and no setting behind", async () => {
  expect(process.env.CHAIN_RPC_URL).toBe(chain().url);
  expect(process.env.EVIDENCE_API_URL).toBe(`${stack.providersUrl}/evidence`);
  await stack.stop();
  await expect(fetch(chain().url)).rejects.toThrow(TypeError);
  expect([process.env.CHAIN_RPC_URL, process.env.EVIDENCE_API_URL]).toEqual([undefined, undefined]);
});
