import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { endpoints } from "../../convex/http";
import { measure } from "../host/usage";
import { packaged } from "../stack/modules";
import { startStack, type Stack } from "../stack/stack";
import { timeAlone } from "./bareContext";
import type { Bundle } from "./bundle";

/** What one request makes the platform evaluate. */
export type RouteCost = {
  route: string;
  /** How many functions ran for it, its own handler included: the module of each is evaluated by itself. */
  runs: number;
  /** Those modules together, in ms. */
  milliseconds: number;
};

/**
 * Runs the example of every endpoint once against the bundle, on a local stack of its own, and adds up what was
 * evaluated for it. An example that is refused (there is no such wallet, nothing was paid) is counted that far.
 */
export async function routeCosts(bundle: Bundle): Promise<RouteCost[]> {
  // A deployment gets the schema apart from the modules.
  const schema = fileURLToPath(new URL("../../convex/schema.ts", import.meta.url));
  await writeFile(
    join(bundle.directory, "schema.ts"),
    `export { default } from ${JSON.stringify(schema)};\n`,
  );
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
