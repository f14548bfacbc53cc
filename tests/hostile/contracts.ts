import { readFile } from "node:fs/promises";
import path from "node:path";
import {
  encodeAbiParameters,
  encodeFunctionData,
  keccak256,
  pad,
  parseAbi,
  toHex,
  zeroAddress,
  type Address,
  type Hex,
} from "viem";
import * as z from "zod";
import type { Chain } from "../../scripts/stack/chain";
import { REGISTRY } from "../../scripts/stack/chain/addresses";

/** The contracts of `contracts/`, compiled by `scripts/stack/chain/build.ts`, and how tests put them on a chain. */

export const HOSTILE = ["FreeRider", "HostileToken", "Puppet"] as const;

const hexShape = z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]*$/)]);
const artifactShape = z.object({ init: hexShape });

/** Puts a contract's code at an address, whatever is there. */
export async function place(
  chain: Chain,
  contract: (typeof HOSTILE)[number],
  address: Address,
): Promise<void> {
  const file = path.join(import.meta.dirname, "artifacts", `${contract}.json`);
  const { init } = artifactShape.parse(JSON.parse(await readFile(file, "utf8")));
  const call = [{ to: address, gas: toHex(20_000_000) }, "latest", { [address]: { code: init } }];
  await chain.rpc("anvil_setCode", [address, hexShape.parse(await chain.rpc("eth_call", call))]);
}

/** Says in 0x's registry which settler is the genuine one, and which was before; `null` says none. */
export async function register(
  chain: Chain,
  current: Address | null,
  previous: Address | null = null,
): Promise<void> {
  for (const [index, settler] of [current, previous].entries()) {
    const slot = keccak256(
      encodeAbiParameters([{ type: "uint256" }, { type: "uint256" }], [2n, BigInt(index)]),
    );
    await chain.rpc("anvil_setStorageAt", [REGISTRY, slot, pad(settler ?? zeroAddress, { size: 32 })]);
  }
}

const puppetAbi = parseAbi([
  "struct Take { address token; uint256 permitted; uint256 nonce; uint256 deadline; address recipient; uint256 requested; }",
  "struct Step { address to; uint256 value; bytes data; bool mustSucceed; }",
  "function run(Take take, Step[] steps) payable",
]);

export const hostileTokenAbi = parseAbi(["function behave(uint256 fee, address called, bytes data)"]);

export type Take = {
  token: Address;
  permitted: bigint;
  nonce: bigint;
  deadline: bigint;
  recipient: Address;
  requested: bigint;
};
export type Step = { to: Address; value?: bigint; data?: Hex; mustSucceed?: boolean };

export const NO_TAKE: Take = {
  token: zeroAddress,
  permitted: 0n,
  nonce: 0n,
  deadline: 0n,
  recipient: zeroAddress,
  requested: 0n,
};

/** The call that makes a puppet take what a permit allows, and then do this. */
export function puppetCall(take: Take, steps: readonly Step[]): Hex {
  const whole = steps.map(({ to, value = 0n, data = "0x", mustSucceed = false }) => ({
    to,
    value,
    data,
    mustSucceed,
  }));
  return encodeFunctionData({ abi: puppetAbi, functionName: "run", args: [take, whole] });
}
