import { beforeEach, expect, test } from "vitest";
import { noteCall, takeNoted, type Noted } from "../../convex/lib/outside/notes";
import { counted, countedBy } from "../../convex/lib/outside/providerCalls";

/** An action's context, of which counted work uses one thing: the mutation that stores what was noted. */
function context() {
  const stored: Noted[] = [];
  const runMutation = (_reference: unknown, noted: Noted) => Promise.resolve(void stored.push(noted));
  const failures = () =>
    stored.flatMap(({ outcomes }) => outcomes).reduce((sum, one) => sum + one.failures, 0);
  return { ctx: { runMutation }, stored, failures };
}

// Notes are a process's own, which here is that of other files, too.
beforeEach(() => void takeNoted());

/** Calls a provider, and once more when it may go on. */
const asking = counted(async (_ctx, until: Promise<void>) => {
  noteCall("chain", true);
  await until;
  noteCall("chain", true);
});

async function run(ctx: object, until: Promise<void>): Promise<void> {
  await Reflect.apply(asking, null, [ctx, until]);
}

test("calls of work beside other work are stored, whichever ends first", async () => {
  const { ctx, failures } = context();
  let goOn = () => {};
  const later = new Promise<void>((resolve) => (goOn = resolve));
  const [first, second] = [run(ctx, Promise.resolve()), run(ctx, later)];
  await first;
  goOn();
  await second;
  expect(failures()).toBe(4);
});

test("calls of work inside other work are stored once, with the others'", async () => {
  const { ctx, stored, failures } = context();
  const outer = async () => run(ctx, Promise.resolve());
  const ended: Noted[] = [];
  const end = (noted: Noted) => Promise.resolve(void ended.push(noted));
  await Reflect.apply(countedBy<void>, null, [ctx, outer, end]);
  expect([stored.length, ended.map(({ outcomes }) => outcomes)]).toEqual([
    0,
    [[{ provider: "chain", worked: false, failures: 2 }]],
  ]);
  expect(failures()).toBe(0);
});
