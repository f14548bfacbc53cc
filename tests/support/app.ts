import rateLimiter from "@convex-dev/rate-limiter/test";
import workpool from "@convex-dev/workpool/test";
import { convexTest } from "convex-test";
import { makeFunctionReference } from "convex/server";
import { vi } from "vitest";
import * as z from "zod";
import crons from "../../convex/crons";
import type { Id, TableNames } from "../../convex/_generated/dataModel";
import { deadlines } from "../../convex/lib/deadlines";
import schema from "../../convex/schema";
import { createStandins } from "../../scripts/stack/standins";

/**
 * The application under test: the real functions on convex-test, the providers' stand-ins in-process, and a simulated
 * clock that runs the scheduler and the crons of `convex/crons.ts`.
 */

const modules = import.meta.glob("../../convex/**/*.*s");
const jsonObject = z.record(z.string(), z.unknown());
const PROVIDERS = "http://providers.test";
const MINUTE = 60_000;
const usualDeadlines = { ...deadlines };

// Taken before the clock is simulated: these go on in real time.
const realSetTimeout = globalThis.setTimeout.bind(globalThis);
const realSleep = (ms: number) => new Promise<void>((resolve) => realSetTimeout(resolve, ms));

export type App = ReturnType<typeof createApp>;

export type Answer = { status: number; headers: Headers; body: Record<string, unknown>; text: string };

export const START = Date.UTC(2026, 0, 5, 9, 0, 0);

export function createApp(options: { now?: number; env?: Record<string, string | undefined> } = {}) {
  vi.useFakeTimers({
    now: options.now ?? START,
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"],
  });
  const standins = createStandins({ seed: "tests", now: () => Date.now() });
  const env = { ...standins.env(PROVIDERS), WALLET_ENCRYPTION_KEY: "ab".repeat(32), ...options.env };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    if (!request.url.startsWith(PROVIDERS))
      throw new Error(`A test reached for ${new URL(request.url).origin}`);
    return standins.handle(request);
  });
  silenceLogs();

  const t = convexTest({ schema, modules, transactionLimits: true });
  workpool.register(t, "researchPool");
  workpool.register(t, "deliveryPool");
  rateLimiter.register(t, "rateLimiter");
  const scheduledCrons = Object.values(crons.crons).map((cron) => ({ ...cron, dueAt: Date.now() }));

  /** Lets work under way go on, `steps` times a quarter of a simulated second. */
  async function settle(steps = 12): Promise<void> {
    for (let step = 0; step < steps; step++) {
      await vi.advanceTimersByTimeAsync(250);
      await Promise.race([t.finishInProgressScheduledFunctions(), realSleep(10)]);
    }
  }

  let waiting = 0;
  let pump: Promise<void> | null = null;

  /** Waits for a promise while simulated time passes; promises awaited together share one passing of time. */
  async function during<Value>(promise: Promise<Value>): Promise<Value> {
    waiting++;
    pump ??= (async () => {
      while (waiting > 0) {
        await vi.advanceTimersByTimeAsync(50);
        await realSleep(0);
      }
      pump = null;
    })();
    try {
      return await promise;
    } finally {
      waiting--;
    }
  }

  /** Moves time on, minute by minute, running every cron when it is due. */
  async function pass(ms: number, { cronsRun = true } = {}): Promise<void> {
    const end = Date.now() + ms;
    while (Date.now() < end) {
      for (const cron of scheduledCrons) {
        if (cron.schedule.type !== "interval" || cron.dueAt > Date.now()) continue;
        const minutes = "minutes" in cron.schedule ? cron.schedule.minutes : 0;
        while (cron.dueAt <= Date.now()) cron.dueAt += minutes * MINUTE;
        if (cronsRun) await t.mutation(makeFunctionReference<"mutation">(cron.name), {});
      }
      const next = Math.min(end, ...scheduledCrons.map(({ dueAt }) => dueAt));
      await settle();
      await vi.advanceTimersByTimeAsync(Math.max(0, next - Date.now()));
    }
    await settle();
  }

  async function call(
    method: string,
    path: string,
    init: RequestInit & { ip?: string } = {},
  ): Promise<Answer> {
    const { ip = null, ...rest } = init;
    const client = t.withRequestMetadata({ ip, userAgent: null });
    const response = await during(client.fetch(path, { method, ...rest }));
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    return {
      status: response.status,
      headers: response.headers,
      body: isJson ? jsonObject.parse(JSON.parse(text)) : {},
      text,
    };
  }

  return {
    t,
    standins,
    settle,
    pass,
    during,
    call,
    get: (path: string, init?: RequestInit & { ip?: string }) => call("GET", path, init),
    post: (path: string, body?: unknown, init?: RequestInit & { ip?: string }) =>
      call("POST", path, { ...init, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
    /** Every row of a table, oldest first. */
    rows: <Table extends TableNames>(table: Table) => t.run((ctx) => ctx.db.query(table).collect()),
    row: <Table extends TableNames>(table: Table, id: Id<Table>) => t.run((ctx) => ctx.db.get(table, id)),
    /** What the messenger was sent. */
    cards: () => standins.sent("messenger").filter((one) => "method" in one && one.method === "sendMessage"),
  };
}

/** Ends a test's world: real clock, real fetch, real environment. */
export function closeApp(): void {
  Object.assign(deadlines, usualDeadlines);
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
}

function silenceLogs(): void {
  for (const level of ["log", "warn", "error", "info", "debug"] as const) {
    vi.spyOn(console, level).mockImplementation(() => undefined);
  }
}
