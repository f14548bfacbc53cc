import { readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { noteModule } from "./metering";
import type { GenericSchema, SchemaDefinition } from "convex/server";

/** Modules by path, loaded when first needed. */
export type Modules = Record<string, () => Promise<unknown>>;
export type Schema = SchemaDefinition<GenericSchema, boolean>;

/** The application (path `""`) or a component, with all that a deployment would have been pushed of it. */
export type Source = { path: string; schema: Schema; modules: Modules };

type Component = { name: string; package: string; children: readonly Component[] };

const batchWorker = { name: "batchWorker", package: "@convex-dev/batch-worker", children: [] };

/** As in `convex/convex.config.ts`, which cannot be imported outside Convex's own tools. */
const components: readonly Component[] = [
  { name: "researchPool", package: "@convex-dev/workpool", children: [batchWorker] },
  { name: "deliveryPool", package: "@convex-dev/workpool", children: [batchWorker] },
  { name: "rateLimiter", package: "@convex-dev/rate-limiter", children: [batchWorker] },
];

/** The application in `directory` and the components it uses. */
export async function loadSources(directory: string): Promise<Source[]> {
  const app = await loadSource("", directory);
  const loaded = await Promise.all(components.map((one) => loadComponent(one, "", directory)));
  return [app, ...loaded.flat()];
}

/** The same, with its modules loaded. */
export async function preloaded(source: Source): Promise<Source> {
  const entries = Object.entries(source.modules).map(async ([name, load]) => {
    const module = await load();
    return [name, () => Promise.resolve(module)] as const;
  });
  return { ...source, modules: Object.fromEntries(await Promise.all(entries)) };
}

async function loadComponent(
  component: Component,
  parentPath: string,
  parentDirectory: string,
): Promise<Source[]> {
  // From the parent's own place: each package may bring its own version of a child.
  const resolve = createRequire(path.join(parentDirectory, "convex.config.js")).resolve;
  const directory = path.dirname(resolve(`${component.package}/convex.config.js`));
  const componentPath = parentPath === "" ? component.name : `${parentPath}/${component.name}`;
  const children = component.children.map((child) => loadComponent(child, componentPath, directory));
  return [await loadSource(componentPath, directory), ...(await Promise.all(children)).flat()];
}

async function loadSource(sourcePath: string, directory: string): Promise<Source> {
  const modules: Modules = {};
  let schema: Schema | undefined;
  for (const file of await readdir(directory, { recursive: true })) {
    const slashed = file.split(path.sep).join("/");
    if (!isModule(slashed)) continue;
    const url = pathToFileURL(path.join(directory, file)).href;
    const load = (): Promise<unknown> => {
      if (sourcePath === "") noteModule(slashed.replace(/\.[jt]s$/, ""));
      return import(/* @vite-ignore */ url);
    };
    if (/^schema\.[jt]s$/.test(slashed)) schema = schemaOf(await load(), directory);
    else modules[`./convex/${slashed}`] = load;
  }
  if (schema === undefined) throw new Error(`There is no schema.ts in ${directory}`);
  return { path: sourcePath, schema, modules };
}

function isModule(file: string): boolean {
  if (!/\.[jt]s$/.test(file) || file.endsWith(".d.ts") || /\.test\.[jt]s$/.test(file)) return false;
  return !/^(?:convex|auth)\.config\.[jt]s$/.test(file);
}

function schemaOf(module: unknown, directory: string): Schema {
  const schema: unknown =
    typeof module === "object" && module !== null ? Reflect.get(module, "default") : null;
  if (!isSchema(schema))
    throw new Error(`The schema in ${directory} is not a default export of defineSchema()`);
  return schema;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && "tables" in value && "schemaValidation" in value;
}
