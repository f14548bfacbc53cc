import { readFileSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import * as z from "zod";

/**
 * Compiles the local chain's contracts, which takes most of a minute, and writes their deployment code. With `--check`
 * it writes nothing, and fails if the committed code differs. Run it as a separate process, because the compiler leaves
 * handlers behind.
 */

const SETTINGS = {
  evmVersion: "cancun",
  optimizer: { enabled: true, runs: 200 },
  metadata: { appendCBOR: false, bytecodeHash: "none" },
  outputSelection: { "*": { "*": ["evm.bytecode.object"] } },
};

const require = createRequire(import.meta.url);
type Compile = (input: string, callbacks: { import: (name: string) => { contents: string } }) => string;
const compilerShape = z.object({ compile: z.custom<Compile>((value) => typeof value === "function") });

const outputShape = z.object({
  errors: z.array(z.object({ severity: z.string(), formattedMessage: z.string() })).default([]),
  contracts: z.record(
    z.string(),
    z.record(z.string(), z.object({ evm: z.object({ bytecode: z.object({ object: z.string() }) }) })),
  ),
});

/** @returns The deployment code of each contract named like its file. */
async function compile(folder: string): Promise<Map<string, string>> {
  const directory = path.join(folder, "contracts");
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sol")).sort();
  const contents = await Promise.all(names.map((name) => readFile(path.join(directory, name), "utf8")));
  const sources = Object.fromEntries(names.map((name, index) => [name, { content: contents[index] }]));
  const input = JSON.stringify({ language: "Solidity", sources, settings: SETTINGS });
  const { compile } = compilerShape.parse(require("solc"));
  const readImport = (name: string) => ({ contents: readFileSync(require.resolve(name), "utf8") });
  const output = outputShape.parse(JSON.parse(compile(input, { import: readImport })));
  const errors = output.errors.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  return new Map(
    names.map((name) => {
      const contract = path.parse(name).name;
      const code = output.contracts[name]?.[contract]?.evm.bytecode.object;
      if (code === undefined) throw new Error(`${name} holds no contract of that name`);
      return [
        path.join(folder, "artifacts", `${contract}.json`),
        `${JSON.stringify({ init: `0x${code}` }, null, 2)}\n`,
      ];
    }),
  );
}

const USAGE = `Usage: npm run check -- contracts

Compiles the local chain's contracts, which takes most of a minute, and fails if the committed code differs.
npx tsx scripts/chain/build.ts writes it again.`;

if (process.argv.includes("--help")) {
  console.log(USAGE);
} else {
  const isCheck = process.argv.includes("--check");
  for (const [file, text] of await compile(import.meta.dirname)) {
    const isSame = (await readFile(file, "utf8").catch(() => "")) === text;
    if (isCheck && !isSame) {
      console.error(`${file} is not what its contract compiles to`);
      process.exitCode = 1;
    } else if (!isSame) await writeFile(file, text);
  }
}
