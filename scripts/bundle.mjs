/**
 * Runs a TypeScript file of this repository: bundles it with all it imports, packages too, into `node_modules/.cache`, and
 * imports the bundle. A bundle is made again when one of its sources, or the list of files in one of their folders, has
 * changed. One file instead of two thousand modules starts a command in a quarter of the time.
 */
import { readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const cache = path.join(root, "node_modules", ".cache", "scripts");

/** They look for files of their own beside them, or bring a binary. */
const EXTERNAL = [
  "openapi-typescript",
  "esbuild",
  "oxfmt",
  "playwright-core",
  "vitest",
  "vitest/*",
  "@resvg/resvg-wasm",
];

/** @param {string} file The absolute path of the entry. */
export async function run(file) {
  const home = path.join(cache, createHash("sha256").update(file).digest("hex").slice(0, 16));
  const entry = (await freshIn(home)) ?? (await bundle(file, home));
  process.setSourceMapsEnabled(true);
  await import(pathToFileURL(entry).href);
}

/** The entry of the bundle that was made last, unless something has changed since, or what is kept of it is not whole. */
async function freshIn(home) {
  try {
    const { entry, sources, stamp } = JSON.parse(await readFile(path.join(home, "current.json"), "utf8"));
    await stat(entry);
    return (await stampOf(sources)) === stamp ? entry : null;
  } catch {
    return null;
  }
}

async function bundle(file, home) {
  const { build } = await import("esbuild");
  const startedAt = Date.now();
  const folder = path.join(home, `${process.pid}-${Date.now()}`);
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { main: file },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: `node${process.versions.node}`,
    sourcemap: "linked",
    // Node reads a map with each module: without the texts, which are on the disk, it is a third as long.
    sourcesContent: false,
    metafile: true,
    logLevel: "error",
    external: [...EXTERNAL, "built:*"],
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);',
    },
    plugins: [ownPlaces],
  });
  const files = Object.keys(metafile.inputs).map((name) => path.resolve(root, name));
  const own = files.filter((name) => !name.includes(`${path.sep}node_modules${path.sep}`));
  const lockfile = path.join(root, "package-lock.json");
  const sources = [...new Set([...own, ...own.map((name) => path.dirname(name)), lockfile])].sort();
  const entry = path.join(folder, "main.mjs");
  // What was changed while it was bundled may not be in it: the next start looks again.
  const times = await Promise.all(sources.map((name) => stat(name).then(({ mtimeMs }) => mtimeMs)));
  if (Math.max(...times) >= startedAt) return entry;
  const draft = path.join(folder, "current.json");
  await writeFile(draft, JSON.stringify({ entry, sources, stamp: await stampOf(sources) }));
  await replaced(home);
  // Whoever bundles the same at the same time has the same bundle.
  await rename(draft, path.join(home, "current.json"));
  await forgetOld(home);
  return entry;
}

/** The folder of the current bundle bears the time until which it was current. */
async function replaced(home) {
  try {
    const { entry } = JSON.parse(await readFile(path.join(home, "current.json"), "utf8"));
    await utimes(path.dirname(entry), new Date(), new Date());
  } catch {
    // There is none, or another start has taken it away.
  }
}

/** Bundles that were replaced stay a day: what runs from one still loads parts of it. */
async function forgetOld(home) {
  const folders = (await readdir(home)).filter((name) => name !== "current.json");
  for (const folder of folders.map((name) => path.join(home, name))) {
    const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: Infinity }));
    if (mtimeMs < Date.now() - 86_400_000) await rm(folder, { recursive: true, force: true });
  }
}

/** In a bundle, each source keeps its own place. */
const ownPlaces = {
  name: "own-places",
  setup({ onLoad }) {
    onLoad({ filter: /[/\\](?:scripts|convex|tests)[/\\][^?]*\.ts$/ }, async ({ path: name }) => {
      const text = await readFile(name, "utf8");
      if (!text.includes("import.meta.")) return null;
      const contents = text
        .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(name).href))
        .replaceAll("import.meta.dirname", JSON.stringify(path.dirname(name)));
      return { contents, loader: "ts" };
    });
  },
};

/** Changes with every change of a source. @throws Error where one is gone. */
async function stampOf(sources) {
  const told = await Promise.all(
    sources.map((name) => stat(name).then(({ mtimeMs, size }) => `${mtimeMs} ${size}`)),
  );
  return createHash("sha256").update(told.join("\n")).digest("hex");
}
