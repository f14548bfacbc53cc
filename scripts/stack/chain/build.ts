import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { format } from "prettier";
import * as z from "zod";

/**
 * Compiles the local chain's contracts and writes one artifact per contract: `tsx build.ts [directory] [sources]`.
 * Without a directory it renews the committed ones; with a directory of other sources it compiles those instead. To be
 * run as a process of its own: the compilers leave handlers behind.
 */

const here = import.meta.dirname;
const require = createRequire(import.meta.url);
/** Imports from here are found from the one package that holds both. */
const PERMIT2 = "lib/permit2/src/Permit2.sol";
const permit2Root = path.dirname(require.resolve("@uniswap/v4-periphery/package.json"));

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

/** A source file: the name the compiler knows it by, and its place on the disk. */
type Source = { name: string; file: string };

const OWN_SOURCES = path.join(here, "contracts");

async function buildAll(directory: string, sources: string): Promise<void> {
  const own = (await readdir(sources)).filter((name) => name.endsWith(".sol")).sort();
  const compiled = await compileOwn(sources, own);
  const contracts = new Map(own.map((name) => [path.parse(name).name, contractIn(compiled, name)]));
  if (sources === OWN_SOURCES) contracts.set("Permit2", await compilePermit2());

  await mkdir(directory, { recursive: true });
  for (const [name, { abi, evm }] of contracts) {
    const artifact = JSON.stringify({ abi, init: `0x${evm.bytecode.object}` });
    const text = await format(artifact, { parser: "json", printWidth: 110 });
    await writeFile(path.join(directory, `${name}.json`), text);
  }
}

async function compileOwn(directory: string, names: string[]): Promise<z.infer<typeof outputShape>> {
  const roots = names.map((name) => ({ name, file: path.join(directory, name) }));
  const sources = await withImports(roots, (name) => ({ name, file: require.resolve(name) }));
  return run("solc", sources, {
    evmVersion: "cancun",
    optimizer: { enabled: true, runs: 200 },
    metadata: { appendCBOR: false, bytecodeHash: "none" },
  });
}

/** Uniswap's own sources, with the settings of their deployment. @throws Error when the code is not theirs. */
async function compilePermit2(): Promise<Contract> {
  const solmate = "lib/permit2/lib/solmate/";
  const place = (name: string) => path.join(permit2Root, name.replace(/^solmate\//, solmate));
  const sources = await withImports([{ name: PERMIT2, file: place(PERMIT2) }], (name) => {
    const mapped = name.replace(/^solmate\//, solmate);
    return { name: mapped, file: place(mapped) };
  });
  const compiled = run("solc-0817", sources, {
    viaIR: true,
    optimizer: { enabled: true, runs: 1_000_000 },
    metadata: { bytecodeHash: "none" },
    remappings: [`solmate/=${solmate}`],
  });
  const contract = contractIn(compiled, PERMIT2);
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

/** The runtime code that Uniswap's package holds precompiled. */
async function publishedPermit2(): Promise<string> {
  const text = await readFile(path.join(permit2Root, "lib/permit2/test/utils/DeployPermit2.sol"), "utf8");
  const code = /hex"([0-9a-f]+)"/.exec(text)?.[1];
  if (code === undefined) throw new Error("Uniswap's package holds no precompiled Permit2");
  return code;
}

/**
 * All sources that `roots` need, in the order of their names: with the code generator of Permit2's compiler the layout
 * of the code depends on that order, and on all of them being given up front.
 */
async function withImports(
  roots: Source[],
  locate: (name: string) => Source,
): Promise<Record<string, { content: string }>> {
  const found = new Map<string, { content: string }>();
  const queue = [...roots];
  for (let source = queue.pop(); source !== undefined; source = queue.pop()) {
    if (found.has(source.name)) continue;
    const content = await readFile(source.file, "utf8");
    found.set(source.name, { content });
    for (const [, imported = ""] of content.matchAll(/^\s*import\s(?:[^"';]*\sfrom\s*)?["']([^"']+)["']/gm)) {
      const relative = imported.startsWith(".");
      queue.push(locate(relative ? path.posix.join(path.posix.dirname(source.name), imported) : imported));
    }
  }
  return Object.fromEntries([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function run(
  compiler: "solc" | "solc-0817",
  sources: Record<string, { content: string }>,
  settings: Record<string, unknown>,
): z.infer<typeof outputShape> {
  const loaded: unknown = require(compiler);
  const outputSelection = { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode"] } };
  const input = { language: "Solidity", sources, settings: { ...settings, outputSelection } };
  const text = compilerShape.parse(loaded).compile(JSON.stringify(input));
  const output = outputShape.parse(JSON.parse(text));
  const errors = output.errors.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  return output;
}

/** The contract that has the name of its file. */
function contractIn(output: z.infer<typeof outputShape>, file: string): Contract {
  const contract = output.contracts[file]?.[path.parse(file).name];
  if (contract === undefined) throw new Error(`${file} holds no contract of that name`);
  return contract;
}

const [directory = path.join(here, "artifacts"), sources = OWN_SOURCES] = process.argv.slice(2);
await buildAll(path.resolve(directory), path.resolve(sources));
