import { beforeEach, expect, test } from "vitest";
import { counted, noteCall, takeNoted, type Noted } from "../../convex/lib/outside/calls";

// Notes are a process's own, which here is that of other files, too.
beforeEach(() => void takeNoted());

/** An action's context, of which counted work uses one thing: the mutation that stores what was noted. */
const run = (work: () => Promise<string>, store: (noted: Noted) => Promise<void>): unknown =>
  Reflect.apply(counted(work), null, [{ runMutation: (_: unknown, noted: Noted) => store(noted) }]);

test("what an action has noted is stored once, also when it throws, and nothing without notes", async () => {
  const stored: Noted[] = [];
  const store = (noted: Noted) => Promise.resolve(void stored.push(noted));
  expect(await run(() => Promise.resolve("quiet"), store)).toBe("quiet");
  const failing = () => {
    noteCall("chain", false);
    noteCall("chain", true);
    return Promise.reject(new Error("down"));
  };
  await expect(run(failing, store)).rejects.toThrow("down");
  expect(stored).toEqual([{ outcomes: [{ provider: "chain", worked: true, failures: 1 }], spent: [] }]);
});

test("notes that cannot be stored change no answer", async () => {
  const working = () => {
    noteCall("chain", false);
    return Promise.resolve("answer");
  };
  expect(await run(working, () => Promise.reject(new Error("busy")))).toBe("answer");
});
