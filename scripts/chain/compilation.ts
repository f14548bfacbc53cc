import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

/** The inputs for compiling the local chain's contracts. */

const here = import.meta.dirname;
const require = createRequire(import.meta.url);
const permit2Root = path.dirname(require.resolve("@uniswap/v4-periphery/package.json"));

/** A compiler's input. Permit2 and its imports are found from the one package that contains both. */
export type Compilation = {
  compiler: "solc" | "solc-0817";
  /** By the compiler's names for them. */
  sources: Record<string, { content: string }>;
  settings: Record<string, unknown>;
};

/** A source file: the compiler's name for it, and its place on the disk. */
type Source = { name: string; file: string };

export const PERMIT2 = "lib/permit2/src/Permit2.sol";

const OWN = path.join(here, "contracts");

/** The files of the chain's own contracts, or of those in another folder. */
export async function ownContracts(folder = OWN): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith(".sol")).sort();
}

export async function ownCompilation(folder = OWN): Promise<Compilation> {
  const roots = (await ownContracts(folder)).map((name) => ({ name, file: path.join(folder, name) }));
  return {
    compiler: "solc",
    sources: await withImports(roots, (name) => ({ name, file: require.resolve(name) })),
    settings: {
      evmVersion: "cancun",
      optimizer: { enabled: true, runs: 200 },
      metadata: { appendCBOR: false, bytecodeHash: "none" },
    },
  };
}

/** Uniswap's own sources, with the settings of their deployment. */
export async function permit2Compilation(): Promise<Compilation> {
  const solmate = "lib/permit2/lib/solmate/";
  const place = (name: string) => path.join(permit2Root, name.replace(/^solmate\//, solmate));
  const sources = await withImports([{ name: PERMIT2, file: place(PERMIT2) }], (name) => {
    const mapped = name.replace(/^solmate\//, solmate);
    return { name: mapped, file: place(mapped) };
  });
  return {
    compiler: "solc-0817",
    sources,
    settings: {
      viaIR: true,
      optimizer: { enabled: true, runs: 1_000_000 },
      metadata: { bytecodeHash: "none" },
      remappings: [`solmate/=${solmate}`],
    },
  };
}

/** The precompiled runtime code in Uniswap's package, in hex. */
export async function publishedPermit2(): Promise<string> {
  const text = await readFile(path.join(permit2Root, "lib/permit2/test/utils/DeployPermit2.sol"), "utf8");
  const code = /hex"([0-9a-f]+)"/.exec(text)?.[1];
  if (code === undefined) throw new Error("Uniswap's package holds no precompiled Permit2");
  return code;
}

/**
 * All sources that `roots` need, in the order of their names: the code generator of Permit2's compiler makes the layout
 * of the code depend on that order, and on having all of them from the start.
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
