import { readdir, readFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { build, type BuildOptions, type Plugin } from "esbuild";
import type { BundledModule } from "./bundle";

/** The parts of a push besides the modules: the schema, the components and the variables. */
export type Definitions = {
  /** `schema.js` and `convex.config.js`, if the application has them, each with all its imports. */
  modules: BundledModule[];
  /** Components whose rows contain the time of their commit, by package. */
  commitTimes: string[];
};

/** Bundles the definitions of the application in `root`. */
export async function readDefinitions(root: string): Promise<Definitions> {
  const modules: BundledModule[] = [];
  const components = new Set<string>();
  for (const name of ["schema", "convex.config"]) {
    const entry = join(root, "convex", `${name}.ts`);
    if (!existsSync(entry)) continue;
    const { outputFiles } = await build({ ...options(root, entry), plugins: [referencedComponents] });
    modules.push({ path: `${name}.js`, source: outputFiles[0]?.text ?? "" });
    const { metafile } = await build({ ...options(root, entry), metafile: true });
    for (const input of Object.keys(metafile.inputs)) {
      if (COMPONENT.test(input)) components.add(dirname(join(root, input)));
    }
  }
  return { modules, commitTimes: await withCommitTimes(components) };
}

const COMPONENT = /node_modules\/.*\/convex\.config\.js$/;

function options(root: string, entry: string) {
  return {
    entryPoints: [entry],
    absWorkingDir: root,
    bundle: true,
    write: false,
    format: "esm",
    target: "esnext",
    platform: "browser",
    conditions: ["convex", "module"],
    logLevel: "silent",
  } as const satisfies BuildOptions;
}

/** A definition names the components it uses; their own are pushed apart from it. */
const referencedComponents: Plugin = {
  name: "components are named",
  setup: (building) => {
    building.onLoad({ filter: COMPONENT }, ({ path }) => {
      const reference = { componentDefinitionPath: path, defaultName: path };
      return { contents: `export default ${JSON.stringify(reference)};` };
    });
  },
};

async function withCommitTimes(folders: ReadonlySet<string>): Promise<string[]> {
  const found = new Set<string>();
  for (const folder of folders) {
    const files = (await readdir(folder)).filter((name) => name.endsWith(".js"));
    const sources = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")));
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(folder)?.[1];
    if (sources.some((source) => /\bcommitTs\(/.test(source))) found.add(name ?? folder);
  }
  return [...found].sort();
}
