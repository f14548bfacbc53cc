import { readFile } from "node:fs/promises";
import path from "node:path";
import {
  concat,
  encodeAbiParameters,
  encodeFunctionData,
  keccak256,
  numberToHex,
  pad,
  parseAbi,
  toHex,
  zeroAddress,
  type Address,
  type Hex,
} from "viem";
import * as z from "zod";
import type { Chain } from "../../../scripts/chain";
import { REGISTRY } from "../../../scripts/chain/addresses";
import { settlerCall, type Slippage } from "../../../scripts/chain/settlerCall";

/** The contracts of `contracts/`, compiled by `scripts/chain/build.ts`, and how tests put them on a chain. */

const hexShape = z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]*$/)]);
const artifactShape = z.object({ init: hexShape });

/** Puts a contract's code at an address, whatever is there. */
export async function place(chain: Chain, contract: "Puppet", address: Address): Promise<void> {
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
  "function play(bool fair)",
  "function take(Take take)",
  "function step(Step step)",
  "function run(Step[] steps) payable",
  "function runIfFair(Step[] steps) payable",
]);

export type Take = {
  token: Address;
  permitted: bigint;
  nonce: bigint;
  deadline: bigint;
  recipient: Address;
  requested: bigint;
};
export type Step = { to: Address; value?: bigint; data?: Hex; mustSucceed?: boolean };

const whole = ({ to, value = 0n, data = "0x", mustSucceed = false }: Step) => ({
  to,
  value,
  data,
  mustSucceed,
});

/** What stands where an action says that its signature is: the end of so many words. */
const endOf = (words: number): Hex => numberToHex(32 * words, { size: 32 });
/** An action that no contract knows. */
const NOTHING: Hex = concat(["0x00000000", endOf(1)]);

/**
 * The call that makes a puppet, or a settler that is one, take what a permit allows, and then do this. It reads as an
 * honest swap's, whatever it promises.
 * @param take `null` where it takes nothing.
 */
export function puppetCall(
  promised: Slippage,
  take: Take | null,
  steps: readonly Step[],
  awaitsSignature = take !== null,
): Hex {
  const taking = take && encodeFunctionData({ abi: puppetAbi, functionName: "take", args: [take] });
  const first = taking === null ? NOTHING : concat([taking, endOf(7)]);
  const others = steps.map((one) =>
    encodeFunctionData({ abi: puppetAbi, functionName: "step", args: [whole(one)] }),
  );
  return settlerCall(promised, [first, ...others], "0x", { awaitsSignature });
}

/** The call that makes a puppet do this by itself: always, or only while it plays fair. */
export function puppetRun(steps: readonly Step[], functionName: "run" | "runIfFair" = "run"): Hex {
  return encodeFunctionData({ abi: puppetAbi, functionName, args: [steps.map(whole)] });
}
