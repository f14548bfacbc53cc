import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Address } from "viem";
import { afterEach, beforeEach } from "vitest";
import type { Chain } from "../../scripts/chain";
import { feedAbi } from "../../scripts/chain/abis";
import { clientOf, startTestChain, balanceOf } from "./support";

/** Chains that keep their state in a folder of the test's own, and are started again on it. */

let directory: string;
const running = new Set<Chain>();

/** To be called once in a file: a folder for each test, with nothing left running in it. */
export function useStateFolder(): void {
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "chain-"));
  });
  afterEach(async () => {
    await Promise.all([...running].map(stop));
    await rm(directory, { recursive: true });
  });
}

export function stateFile(): string {
  return path.join(directory, "chain", "state.json");
}

export async function start(options: Parameters<typeof startTestChain>[0] = {}): Promise<Chain> {
  const chain = await startTestChain({ stateFile: stateFile(), ...options });
  running.add(chain);
  return chain;
}

export async function stop(chain: Chain): Promise<void> {
  running.delete(chain);
  await chain.stop();
}

export const usdcOf = (chain: Chain, owner: Address): Promise<bigint> =>
  balanceOf(chain, chain.addresses.tokens.USDC, owner);

/** How old the ETH price is, in seconds of the given time. */
export async function ageOfPrice(chain: Chain, now: number): Promise<number> {
  const address = chain.addresses.feeds.ETH;
  const round = await clientOf(chain).readContract({
    address,
    abi: feedAbi,
    functionName: "latestRoundData",
  });
  return now - Number(round[3]);
}

export const HEARTBEAT = 1_200;
export const HOLDER = "0x3333333333333333333333333333333333333333";
