import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { erc20Abi, type Abi } from "viem";
import { expect, test } from "vitest";
import * as z from "zod";
import { CHECKER_CODE } from "../../convex/providers/checkerCode";
import * as abis from "../../scripts/stack/chain/abis";
import { CONTRACTS, readArtifact, type ContractName } from "../../scripts/stack/chain/artifacts";

const chain = path.resolve(import.meta.dirname, "../../scripts/stack/chain");

test("the committed artifacts are what the sources compile to, Permit2's code being Uniswap's own", async () => {
  const directory = await mkdtemp(path.join(tmpdir(), "artifacts-"));
  try {
    // The build itself refuses a Permit2 that differs from the one Uniswap publishes.
    await promisify(execFile)(process.execPath, ["--import", "tsx", path.join(chain, "build.ts"), directory]);
    const names = CONTRACTS.map((name) => `${name}.json`).sort();
    expect((await readdir(directory)).sort()).toEqual(names);
    expect((await readdir(path.join(chain, "artifacts"))).sort()).toEqual(names);
    for (const name of names) {
      const built = await readFile(path.join(directory, name), "utf8");
      const committed = await readFile(path.join(chain, "artifacts", name), "utf8");
      expect(built === committed, name).toBe(true);
    }
  } finally {
    await rm(directory, { recursive: true });
  }
});

test("the contracts of the hostile tests are what their sources compile to", async () => {
  const hostile = path.resolve(import.meta.dirname, "../hostile");
  const directory = await mkdtemp(path.join(tmpdir(), "artifacts-"));
  try {
    const build = [
      "--import",
      "tsx",
      path.join(chain, "build.ts"),
      directory,
      path.join(hostile, "contracts"),
    ];
    await promisify(execFile)(process.execPath, build);
    const names = (await readdir(path.join(hostile, "artifacts"))).sort();
    expect((await readdir(directory)).sort()).toEqual(names);
    for (const name of names) {
      const built = await readFile(path.join(directory, name), "utf8");
      const committed = await readFile(path.join(hostile, "artifacts", name), "utf8");
      expect(built === committed, name).toBe(true);
    }
  } finally {
    await rm(directory, { recursive: true });
  }
});

test("the checker that stands in for a wallet has the code of its source", async () => {
  const { init } = await readArtifact("Checker");
  expect(init.endsWith(CHECKER_CODE.slice(2))).toBe(true);
  // What comes before is the constructor: it returns the rest.
  expect((init.length - CHECKER_CODE.length) / 2).toBeLessThan(40);
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
