import { endpoints } from "../../convex/http";
import { measure } from "../stack/metering";
import { startStack, type Stack } from "../stack/stack";
import type { Bundle } from "./bundle";
import type { Checked } from "./checks";

/** What one request makes the platform evaluate. */
export type RouteCost = {
  route: string;
  /** The modules of the functions that it called, `http.js` left out: each is evaluated by itself. */
  modules: string[];
  /** `http.js` and those modules together, in ms, every call counted. */
  milliseconds: number;
};

/**
 * Runs the example of every endpoint once against the bundle, on a local stack of its own, and adds up what was
 * evaluated for it. An example that is refused (there is no such wallet, nothing was paid) is counted that far.
 */
export async function routeCosts(bundle: Bundle, entries: readonly Checked[]): Promise<RouteCost[]> {
  const cost = new Map(entries.map(({ path, evaluation }) => [path, evaluation.milliseconds]));
  const stack = await startStack({ directory: bundle.directory, ephemeral: true });
  try {
    const costs: RouteCost[] = [];
    for (const { methods, path, example } of endpoints) {
      const [method = "GET"] = methods;
      const called = await calledBy(stack, method, path, example?.input ?? {});
      const modules = called.map((name) => `${name.split(":")[0] ?? name}.js`);
      const milliseconds = ["http.js", ...modules].reduce((sum, one) => sum + (cost.get(one) ?? 0), 0);
      costs.push({ route: `${method} ${path}`, modules: [...new Set(modules)], milliseconds });
    }
    return costs;
  } finally {
    await stack.stop();
  }
}

async function calledBy(stack: Stack, method: string, path: string, input: object): Promise<string[]> {
  const query = new URLSearchParams(Object.entries(input).map(([name, value]) => [name, String(value)]));
  const { usage } = await measure(() =>
    method === "GET"
      ? stack.application.fetch(`${path}?${query.toString()}`, { method })
      : stack.application.fetch(path, { method, body: JSON.stringify(input) }),
  );
  return usage.called;
}
