import { expect, test } from "vitest";
import { withUsage, noteCall, takeUsage, type ProviderUsage } from "../../convex/platform/outside/calls";

test("what an action has noted is stored once, also when it throws, and nothing without notes", async () => {
  // Notes are a process's own, which here is that of other files, too.
  takeUsage();
  const stored: ProviderUsage[] = [];
  /** An action's context, of which counted work uses one thing. */
  const ctx = { runMutation: (_: unknown, usage: ProviderUsage) => Promise.resolve(stored.push(usage)) };
  const run = (work: () => Promise<string>): unknown => Reflect.apply(withUsage(work), null, [ctx]);
  expect(await run(() => Promise.resolve("quiet"))).toBe("quiet");
  const failing = () => {
    noteCall("chain", false);
    noteCall("chain", true);
    return Promise.reject(new Error("down"));
  };
  await expect(run(failing)).rejects.toThrow("down");
  expect(stored).toEqual([{ outcomes: [{ provider: "chain", worked: true, failures: 1 }], spent: [] }]);
});
