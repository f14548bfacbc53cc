import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { endpoints } from "../../convex/http";
import { measure } from "../stack/host/usage";
import { startStack, type Stack } from "../stack/stack";
import type { Bundle } from "./bundle";
import type { Checked } from "./checks";

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
export async function routeCosts(bundle: Bundle, entries: readonly Checked[]): Promise<RouteCost[]> {
  const cost = new Map(entries.map(({ path, evaluation }) => [path, evaluation.milliseconds]));
  // A deployment gets the schema apart from the modules.
  const schema = fileURLToPath(new URL("../../convex/schema.ts", import.meta.url));
  await writeFile(
    join(bundle.directory, "schema.ts"),
    `export { default } from ${JSON.stringify(schema)};\n`,
  );
  const stack = await startStack({ directory: bundle.directory, ephemeral: true });
  try {
    const costs: RouteCost[] = [];
    for (const { methods, path, example } of endpoints) {
      const [method = "GET"] = methods;
      const runs = await modulesOf(stack, method, path, example?.input ?? {});
      const milliseconds = runs.reduce((sum, one) => sum + (cost.get(`${one}.js`) ?? 0), 0);
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
