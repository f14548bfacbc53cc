import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { endpoints } from "../../convex/endpoints";
import { measure } from "../host/billing/usage";
import { packaged } from "../stack/modules";
import { startStack, type Stack } from "../stack/stack";
import { timeAlone } from "./bareContext";
import type { Bundle } from "./bundle";
import type { Definitions } from "./definitions";

/** What one request makes the platform evaluate. */
export type RouteCost = {
  route: string;
  /** How many functions ran for it, including its own handler: the module of each is evaluated separately. */
  runs: number;
  /** Those modules together, in ms. */
  milliseconds: number;
};

/**
 * Runs the example of every endpoint once against the bundle, on a local stack of its own, and adds up what was
 * evaluated for it. An example that is refused (the wallet does not exist, nothing was paid) is counted up to that
 * point.
 */
export async function routeCosts(bundle: Bundle, { modules }: Definitions): Promise<RouteCost[]> {
  // A deployment gets the schema separately from the modules.
  for (const { path, source } of modules) {
    await mkdir(dirname(join(bundle.directory, path)), { recursive: true });
    await writeFile(join(bundle.directory, path), source);
  }
  const stack = await startStack({ source: packaged(bundle.directory), ephemeral: true });
  const known = new Map<string, number>();
  const cost = async (path: string) => {
    const milliseconds = known.get(path) ?? (await timeAlone(bundle.modules, path));
    known.set(path, milliseconds);
    return milliseconds;
  };
  try {
    const costs: RouteCost[] = [];
    for (const { methods, path, example } of endpoints) {
      const [method = "GET"] = methods;
      const runs = await modulesOf(stack, method, path, example?.input ?? {});
      let milliseconds = 0;
      for (const one of runs) milliseconds += await cost(`${one}.js`);
      costs.push({ route: `${method} ${path}`, runs: runs.length, milliseconds });
    }
    return costs;
  } finally {
    await stack.stop();
  }
}

async function modulesOf(stack: Stack, method: string, path: string, input: object): Promise<string[]> {
  const query = new URLSearchParams(Object.entries(input).map(([name, value]) => [name, String(value)]));
  const { usage } = await measure(() =>
    method === "GET"
      ? stack.application.fetch(`${path}?${query.toString()}`, { method })
      : stack.application.fetch(path, { method, body: JSON.stringify(input) }),
  );
  return usage.modules;
}
