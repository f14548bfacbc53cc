import { createServer, type ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { createClock, type Clock } from "../../scripts/stack/clock";
import { real } from "../../scripts/real";

/** About 7 ms of real time at the highest speed. */
const WHILE = 20_000;
let clock: Clock | undefined;

afterEach(() => clock?.stop());

function accelerated(speed = 3_000): Clock {
  clock = createClock(speed);
  return clock;
}

const realPause = (ms: number) => new Promise((resolve) => real.setTimeout(resolve, ms));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("timers fire in the order they are due, and never late, however slow the machine", async () => {
  // The clock runs on while they are registered: each is due between two readings.
  const timers = new Map<number, { from: number; to: number }>();
  const fired: { ms: number; at: number }[] = [];
  await accelerated().inside(async () => {
    for (const ms of [3 * WHILE, WHILE, 2 * WHILE]) {
      const from = Date.now() + ms;
      setTimeout(() => {
        fired.push({ ms, at: Date.now() });
        // Long enough that all three would be due at once if the clock did not wait.
        const end = performance.now() + 20;
        while (performance.now() < end);
      }, ms);
      timers.set(ms, { from, to: Date.now() + ms });
    }
    await pause(4 * WHILE);
  });
  expect(fired).toHaveLength(3);
  const due = fired.map(({ ms }) => timers.get(ms) ?? { from: 0, to: 0 });
  for (const [i, { at }] of fired.entries()) {
    // Each saw a time after its own, and not after the next one's.
    expect(at).toBeGreaterThanOrEqual(due[i]?.from ?? Infinity);
    expect(at).toBeLessThanOrEqual(due[i + 1]?.to ?? Infinity);
  }
});

test("what a timer started settles before the next one fires", async () => {
  const steps: string[] = [];
  await accelerated().inside(async () => {
    setTimeout(() => {
      void (async () => {
        for (let i = 0; i < 50; i++) await Promise.resolve();
        steps.push("first settled");
      })();
    }, 1_000);
    setTimeout(() => steps.push("second"), 1_001);
    await pause(2_000);
  });
  expect(steps).toEqual(["first settled", "second"]);
});

test("cancelled timers do not fire, and intervals repeat until cancelled", async () => {
  const fired: string[] = [];
  await accelerated().inside(async () => {
    clearTimeout(setTimeout(() => fired.push("cancelled"), 1_000));
    const interval = setInterval(() => {
      fired.push("interval");
      if (fired.length === 3) clearInterval(interval);
    }, 1_000);
    await pause(10_000);
  });
  expect(fired).toEqual(["interval", "interval", "interval"]);
});

test("the clock stands still from a fetch until its answer has arrived whole", async () => {
  const answers: ServerResponse[] = [];
  const server = createServer((_request, response) => void answers.push(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const take = async () => {
    while (answers.length === 0) await realPause(2);
    const answer = answers.pop();
    if (answer === undefined) throw new Error("No request came");
    return answer;
  };
  const stillFor = async (now: () => number) => {
    const before = now();
    await realPause(20);
    return now() - before;
  };
  try {
    const { inside, now } = accelerated();
    const call = inside(() => fetch(`http://127.0.0.1:${port}/`));
    const answer = await take();
    expect(await stillFor(now)).toBe(0);

    answer.write("half ");
    expect(await stillFor(now)).toBe(0);

    answer.end("whole");
    const response = await call;
    // Nobody has read the body yet, and it must not hold the clock for ever.
    const stoppedAt = now();
    while (now() === stoppedAt) await realPause(2);
    expect(await response.text()).toBe("half whole");
    expect(response.url).toBe(`http://127.0.0.1:${port}/`);

    const failing = inside(() => fetch(`http://127.0.0.1:${port}/`)).catch(() => "failed");
    (await take()).destroy();
    expect(await failing).toBe("failed");
    const failedAt = now();
    while (now() === failedAt) await realPause(2);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("stopping puts the globals back", () => {
  const { setTimeout, clearTimeout, setInterval, fetch, Date } = globalThis;
  const before = { setTimeout, clearTimeout, setInterval, fetch, Date };
  const replaced = accelerated();
  expect(globalThis.fetch).not.toBe(before.fetch);
  replaced.stop();
  expect(globalThis).toMatchObject(before);
});

test("a long answer, over a connection that is kept, is read with Node's own timers", async () => {
  const server = createServer((_, response) => void response.end("x".repeat(2_000_000)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const failures: unknown[] = [];
  const note = (error: unknown) => failures.push(error);
  process.on("uncaughtException", note);
  try {
    const { inside } = accelerated();
    for (let n = 0; n < 3; n++) {
      const text = await inside(async () => (await fetch(`http://127.0.0.1:${port}/`)).text());
      expect(text).toHaveLength(2_000_000);
    }
  } finally {
    process.off("uncaughtException", note);
    server.closeAllConnections();
    server.close();
  }
  expect(failures).toEqual([]);
});
