import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { format } from "oxfmt";
import * as z from "zod";
import {
  ownCompilation,
  ownContracts,
  permit2Compilation,
  PERMIT2,
  publishedPermit2,
  type Compilation,
} from "./compilation";
import { FINGERPRINT, fingerprintOf } from "./fingerprint";

/**
 * Compiles the local chain's contracts, which takes most of a minute, and renews the committed artifacts: one per
 * contract, and their fingerprint. With `--check` it writes nothing, and fails if they differ from what it would write;
 * with an output and a source directory it compiles those instead. To be run as a separate process, because the
 * compilers leave handlers behind.
 */

const committed = path.join(import.meta.dirname, "artifacts");
const hostile = path.resolve(import.meta.dirname, "../../tests/hostile");

const require = createRequire(import.meta.url);

type Compiler = { compile(input: string): string };

const compilerShape = z.object({
  compile: z.custom<Compiler["compile"]>((value) => typeof value === "function"),
});

const contractShape = z.object({
  abi: z.array(z.record(z.string(), z.unknown())),
  evm: z.object({
    bytecode: z.object({ object: z.string() }),
    deployedBytecode: z.object({
      object: z.string(),
      /** Bytes of the code that hold immutables: zeros until the constructor has run. */
      immutableReferences: z
        .record(z.string(), z.array(z.object({ start: z.int(), length: z.int() })))
        .default({}),
    }),
  }),
});
type Contract = z.infer<typeof contractShape>;

const outputShape = z.object({
  errors: z.array(z.object({ severity: z.string(), formattedMessage: z.string() })).default([]),
  contracts: z.record(z.string(), z.record(z.string(), contractShape)).default({}),
});

async function buildAll(directory: string, sources?: string): Promise<void> {
  const own = await ownContracts(sources);
  const compiled = run(await ownCompilation(sources));
  const contracts = new Map(own.map((name) => [path.parse(name).name, contractIn(compiled, name)]));
  if (sources === undefined) contracts.set("Permit2", await compilePermit2());

  await mkdir(directory, { recursive: true });
  for (const [name, { abi, evm }] of contracts) {
    const artifact = JSON.stringify({ abi, init: `0x${evm.bytecode.object}` });
    const { code } = await format(`${name}.json`, artifact, { printWidth: 110 });
    await writeFile(path.join(directory, `${name}.json`), code);
  }
  if (sources !== undefined) return;
  const fingerprint = `${JSON.stringify(await fingerprintOf(directory), null, 2)}\n`;
  await writeFile(path.join(directory, FINGERPRINT), fingerprint);
}

/** @throws Error if the code differs from Uniswap's. */
async function compilePermit2(): Promise<Contract> {
  const contract = contractIn(run(await permit2Compilation()), PERMIT2);
  const { object, immutableReferences } = contract.evm.deployedBytecode;
  const published = Buffer.from(await publishedPermit2(), "hex");
  for (const { start, length } of Object.values(immutableReferences).flat()) {
    published.fill(0, start, start + length);
  }
  if (published.toString("hex") !== object) {
    throw new Error("The compiled Permit2 is not the one Uniswap publishes");
  }
  return contract;
}

function run({ compiler, sources, settings }: Compilation): z.infer<typeof outputShape> {
  const loaded: unknown = require(compiler);
  const outputSelection = { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode"] } };
  const input = { language: "Solidity", sources, settings: { ...settings, outputSelection } };
  const text = compilerShape.parse(loaded).compile(JSON.stringify(input));
  const output = outputShape.parse(JSON.parse(text));
  const errors = output.errors.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  return output;
}

/** The contract with the name of its file. */
function contractIn(output: z.infer<typeof outputShape>, file: string): Contract {
  const contract = output.contracts[file]?.[path.parse(file).name];
  if (contract === undefined) throw new Error(`${file} holds no contract of that name`);
  return contract;
}

/** The artifacts of a folder that differ from the compiled sources. */
async function outdated(kept: string, sources?: string): Promise<string[]> {
  const directory = await mkdtemp(path.join(tmpdir(), "artifacts-"));
  try {
    await buildAll(directory, sources);
    const names = [...new Set([...(await readdir(directory)), ...(await readdir(kept))])];
    const textIn = (folder: string, name: string) =>
      readFile(path.join(folder, name), "utf8").catch(() => null);
    const same = await Promise.all(
      names.map(async (name) => (await textIn(directory, name)) === (await textIn(kept, name))),
    );
    return names.filter((_, index) => same[index] === false);
  } finally {
    await rm(directory, { recursive: true });
  }
}

const USAGE = `Usage: npm run check -- contracts

Compiles the local chain's contracts, which takes some minutes, and fails if the committed artifacts differ from the
result. Without --check, npx tsx scripts/chain/build.ts [DIRECTORY SOURCES] writes the artifacts again.`;

if (process.argv.includes("--help")) {
  console.log(USAGE);
} else if (process.argv.includes("--check")) {
  const names = [
    ...(await outdated(committed)),
    ...(await outdated(path.join(hostile, "artifacts"), path.join(hostile, "contracts"))),
  ];
  if (names.length > 0) {
    console.error(`Not what the contracts compile to: ${names.join(", ")}`);
    process.exitCode = 1;
  } else {
    console.log("The artifacts are what the contracts compile to.");
  }
} else {
  const [directory, sources] = process.argv.slice(2).map((one) => path.resolve(one));
  await buildAll(directory ?? committed, sources);
}
