import { readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Modules } from "../host/functions";
import { partOf, type Part } from "../host/parts";

type Component = { name: string; package: string; children: readonly Component[] };

/** An application's folder, and how each file is loaded by its name without `.ts`: by patterns that a bundler reads. */
export type Source = { directory: string; load: (file: string) => Promise<unknown> };

/** This repository's application. */
export const own: Source = {
  directory: fileURLToPath(new URL("../../convex", import.meta.url)),
  load: (file) => {
    const [, folder, name] = /^(?:(.+)[/])?([^/]+)$/.exec(file) ?? [];
    return folder === undefined
      ? import(/* @vite-ignore */ `../../convex/${name}.ts`)
      : import(/* @vite-ignore */ `../../convex/${folder}/${name}.ts`);
  },
};

const batchWorker = { name: "batchWorker", package: "@convex-dev/batch-worker", children: [] };

/** As in `convex/convex.config.ts`, which cannot be imported outside Convex's own tools. */
const components: readonly Component[] = [
  { name: "rateLimiter", package: "@convex-dev/rate-limiter", children: [batchWorker] },
];

/** An application and the components it uses. */
export async function loadParts(source: Source): Promise<Part[]> {
  return [await loadPart("", source), ...(await loadComponents(source.directory))];
}

/** The components of the application in `directory`. */
export async function loadComponents(directory: string): Promise<Part[]> {
  return (await Promise.all(components.map((one) => loadComponent(one, "", directory)))).flat();
}

/** The same, with its modules loaded. */
export async function preloaded(part: Part): Promise<Part> {
  const entries = Object.entries(part.modules).map(async ([name, load]) => {
    const module = await load();
    return [name, () => Promise.resolve(module)] as const;
  });
  return { ...part, modules: Object.fromEntries(await Promise.all(entries)) };
}

async function loadComponent(
  component: Component,
  parentPath: string,
  parentDirectory: string,
): Promise<Part[]> {
  // Resolved from the parent: each package may bring its own version of a child.
  const resolve = createRequire(path.join(parentDirectory, "convex.config.js")).resolve;
  const directory = path.dirname(resolve(`${component.package}/convex.config.js`));
  const componentPath = parentPath === "" ? component.name : `${parentPath}/${component.name}`;
  const children = component.children.map((child) => loadComponent(child, componentPath, directory));
  return [await loadPart(componentPath, packaged(directory)), ...(await Promise.all(children)).flat()];
}

/** The modules of a package, which are JavaScript. */
export function packaged(directory: string): Source {
  const urlOf = (file: string) => pathToFileURL(path.join(directory, `${file}.js`)).href;
  return { directory, load: (file) => import(/* @vite-ignore */ urlOf(file)) };
}

async function loadPart(partPath: string, { directory, load }: Source): Promise<Part> {
  const modules: Modules = {};
  let schema: unknown;
  for (const file of await readdir(directory, { recursive: true })) {
    const slashed = file.split(path.sep).join("/");
    if (!isModule(slashed)) continue;
    const name = slashed.replace(/\.[jt]s$/, "");
    if (name === "schema") schema = defaultOf(await load(name));
    else modules[name] = () => load(name);
  }
  if (schema === undefined) throw new Error(`There is no schema.ts in ${directory}`);
  return partOf(partPath, schema, modules);
}

function isModule(file: string): boolean {
  if (!/\.[jt]s$/.test(file) || file.endsWith(".d.ts") || /\.test\.[jt]s$/.test(file)) return false;
  return !/^(?:_generated[/]|(?:convex|auth)\.config\.[jt]s$)/.test(file);
}

function defaultOf(module: unknown): unknown {
  return typeof module === "object" && module !== null ? Reflect.get(module, "default") : undefined;
}
