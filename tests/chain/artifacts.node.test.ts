import { readdir } from "node:fs/promises";
import path from "node:path";
import { erc20Abi, type Abi } from "viem";
import { expect, test } from "vitest";
import * as z from "zod";
import * as abis from "../../scripts/chain/abis";
import { CONTRACTS, readArtifact, type ContractName } from "../../scripts/chain/artifacts";
import { FINGERPRINT, fingerprintOf, writtenFingerprint } from "../../scripts/chain/fingerprint";

const artifacts = path.resolve(import.meta.dirname, "../../scripts/chain/artifacts");

test("the committed artifacts are complete, and of the sources and compilers that are here", async () => {
  const names = CONTRACTS.map((name) => `${name}.json`);
  expect((await readdir(artifacts)).sort()).toEqual([...names, FINGERPRINT].sort());
  // Which code these sources compile to is for `npm run check -- contracts` to see: it compiles them for most of a minute.
  expect(await fingerprintOf(artifacts)).toEqual(await writtenFingerprint(artifacts));
});

const written: [string, Abi, ContractName[]][] = [
  ["faucetAbi", abis.faucetAbi, ["Usdc", "Usdt", "Dai"]],
  ["wethAbi", abis.wethAbi, ["Weth"]],
  ["feedAbi", abis.feedAbi, ["Feed"]],
  ["settlerAbi", abis.settlerAbi, ["Settler"]],
  ["registryAbi", abis.registryAbi, ["Registry"]],
  ["permit2Abi", abis.permit2Abi, ["Permit2"]],
  ["usdcAbi", abis.usdcAbi, ["Usdc"]],
  ["viem's erc20Abi", erc20Abi, ["Usdc", "Usdt", "Dai", "Weth"]],
];

test.each(written)("%s is in the artifact", async (_, abi, contracts) => {
  for (const contract of contracts) {
    const artifact = await readArtifact(contract);
    const known = new Set(artifact.abi.map(signatureOf));
    for (const item of abi) expect(known, contract).toContain(signatureOf(item));
  }
});

function signatureOf(item: unknown): string {
  const { type, name, inputs } = z
    .object({
      type: z.string(),
      name: z.string().default(""),
      inputs: z.array(z.object({ type: z.string() })).default([]),
    })
    .parse(item);
  return `${type} ${name}(${inputs.map((input) => input.type).join()})`;
}
