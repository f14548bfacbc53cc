import { expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { SECOND } from "../../convex/lib/time";
import type { Caller } from "../../convex/platform/limits/callers";
import { test } from "../support/app";
import { measure } from "../support/usage";

/** Many callers at once. */

const times = <Value>(count: number, work: (index: number) => Promise<Value>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

test("a hundred readers at the end of an answer's time get it at once, and few renew it", async ({ app }) => {
  const read = () => app.get("/mcp/market");
  const first = (await read()).body.fetchedAt;
  await app.advance(61 * SECOND);
  const began = Date.now();
  const { calls, byFunction } = await measure(async () => {
    const answers = await times(100, read);
    expect(answers.map(({ status, body }) => [status, body.fetchedAt])).toEqual(
      answers.map(() => [200, first]),
    );
    expect(Date.now() - began).toBeLessThan(300);
    await app.settle();
  });
  expect(calls, JSON.stringify([...byFunction])).toBeLessThanOrEqual(220);
  // Whoever comes after the time in which it is shown on gets a new one.
  await app.advance(31 * SECOND);
  expect((await read()).body.fetchedAt).not.toBe(first);
});

test("no order waits for the questions of others: not of its user, not of its address, not of all callers", async ({
  app,
}) => {
  const take = async (caller: Caller, isOrder?: true) => {
    const wanted = { caller, ...(isOrder === undefined ? {} : { isOrder }) };
    const taking = app.t.mutation(internal.platform.limits.slots.takeSlot, wanted);
    return taking.then(
      () => true,
      () => false,
    );
  };
  const count = async (taking: Promise<boolean[]>) => (await taking).filter(Boolean).length;
  const stranger = (index: number) => ({ address: `10.0.${index % 2}.1`, requestId: "1" });
  const alice = { address: "10.0.0.1", requestId: "1", identity: "alice" };
  expect(await count(times(60, (index) => take(stranger(index))))).toBe(36);
  // Four slots are left to the questions of those who are signed in, and eight to orders.
  expect(await count(times(12, () => take(alice)))).toBe(4);
  expect(await count(times(4, (index) => take(stranger(index), true)))).toBe(4);
  expect(await count(times(6, () => take(alice, true)))).toBe(4);
});
