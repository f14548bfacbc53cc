import { expect, test } from "vitest";
import { counted, noteCall, takeNoted, type Noted } from "../../convex/lib/outside/calls";

test("what an action has noted is stored once, also when it throws, and nothing without notes", async () => {
  // Notes are a process's own, which here is that of other files, too.
  takeNoted();
  const stored: Noted[] = [];
  /** An action's context, of which counted work uses one thing. */
  const ctx = { runMutation: (_: unknown, noted: Noted) => Promise.resolve(stored.push(noted)) };
  const run = (work: () => Promise<string>): unknown => Reflect.apply(counted(work), null, [ctx]);
  expect(await run(() => Promise.resolve("quiet"))).toBe("quiet");
  const failing = () => {
    noteCall("chain", false);
    noteCall("chain", true);
    return Promise.reject(new Error("down"));
  };
  await expect(run(failing)).rejects.toThrow("down");
  expect(stored).toEqual([{ outcomes: [{ provider: "chain", worked: true, failures: 1 }], spent: [] }]);
});
