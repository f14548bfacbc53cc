import { makeFunctionReference } from "convex/server";
import { describe, expect } from "vitest";
import * as z from "zod";
import crons from "../../convex/crons";
import { MINUTE } from "../../convex/lib/time";
import { CRON_PERIODS } from "../../convex/platform/changes";
import { type App, closeApp, createApp, test } from "../support/app";
import { keepHouse } from "../support/rows/housekeeping";

const KEYS = ["LLM_GATEWAY_API_KEY", "SENTIMENT_API_KEY", "WALLET_ENCRYPTION_KEY", "SWAP_API_KEY"];
const age = z.number().nullable();
const shape = z.object({
  status: z.enum(["ok", "degraded"]),
  reasons: z.array(z.string()),
  caller: z.object({ address: z.string() }),
  checks: z.object({
    configured: z.record(z.string(), z.boolean()),
    crons: z.record(z.string(), age),
    outbox: z.object({ waiting: z.number(), oldestSeconds: age }),
    pending: z.record(z.string(), age),
    providers: z.record(z.string(), z.object({ works: z.boolean(), since: z.iso.datetime() })),
  }),
});

async function health(app: App) {
  const answer = await app.get("/health");
  expect(answer.status).toBe(200);
  return shape.parse(answer.body);
}

describe("health", () => {
  test("is ok before any cron has run, writes nothing, and is degraded when one has missed two turns", async ({
    app,
  }) => {
    const { status, reasons, checks } = await health(app);
    expect([status, reasons]).toEqual(["ok", []]);
    expect(Object.keys(checks.crons).toSorted()).toEqual(Object.keys(CRON_PERIODS).toSorted());
    expect(new Set(Object.values({ ...checks.crons, ...checks.pending }))).toEqual(new Set([null]));
    expect(checks.outbox).toEqual({ waiting: 0, oldestSeconds: null });
    expect([checks.providers, await app.rows("cronRuns")]).toEqual([{}, []]);
    await app.pass(6 * MINUTE);
    const name = "check research shifts";
    expect((await health(app)).checks.crons[name]).toBeLessThanOrEqual(310);
    await app.pass(15 * MINUTE, { cronsRun: false });
    const late = await health(app);
    expect(late.status).toBe("degraded");
    expect(late.reasons).toContainEqual(
      expect.stringMatching(/^the cron "take up what is due" last ran \d+ minutes ago$/),
    );
    expect(late.checks.crons[name]).toBeGreaterThan(15 * 60);
    await app.pass(5 * MINUTE);
    expect(await health(app)).toMatchObject({ status: "ok" });
  });

  test("shows a card that cannot be delivered by its age, and work that is overdue, for which it is degraded after half an hour", async ({
    app,
  }) => {
    app.standins.fail("messenger", { mode: "status", status: 500 });
    await app.post("/mcp/research/start", { userId: "a-user-of-health", messengerChatId: "1" });
    await app.settle();
    const isOverdueBy = (minutes: number) =>
      app.t.run(async ({ db }) => {
        const [shift] = await db.query("shifts").collect();
        const nextCollectionAt = Date.now() - minutes * MINUTE;
        if (shift !== undefined) await db.patch("shifts", shift._id, { nextCollectionAt });
      });
    await isOverdueBy(10);
    const { status, checks } = await health(app);
    expect(checks.outbox.waiting).toBe(1);
    expect(checks.outbox.oldestSeconds).toBeLessThan(60);
    expect(checks.pending.shifts).toBeGreaterThanOrEqual(9 * 60);
    expect(checks.pending.shifts).toBeLessThan(12 * 60);
    expect([status, checks.pending.orders]).toEqual(["ok", null]);
    await isOverdueBy(35);
    expect(await health(app)).toMatchObject({ status: "degraded" });
  });

  test("says that a provider fails after two failed calls in a row, and works again after one answer", async ({
    app,
  }) => {
    const ask = async () => {
      await app.post("/mcp/chat", { question: "How is Ethereum doing?" });
      const { status, reasons, checks } = await health(app);
      return [status, checks.providers.llm?.works, reasons.length];
    };
    expect(await ask()).toEqual(["ok", true, 0]);
    const [before] = await app.rows("providerStates");
    expect(await ask()).toEqual(["ok", true, 0]);
    expect((await app.rows("providerStates"))[0]).toEqual(before);
    app.standins.fail("llm", { mode: "status", status: 500 });
    await ask();
    expect(await ask()).toEqual(["degraded", false, 1]);
    const failure = /^calls of llm fail since 20.*: it does not answer as it should$/;
    expect((await health(app)).reasons).toEqual([expect.stringMatching(failure)]);
    // A key that is refused is no outage.
    app.standins.clear("llm");
    app.standins.fail("llm", { mode: "status", status: 401 });
    await ask();
    expect((await health(app)).reasons).toEqual([expect.stringMatching(/: it refuses this service's key$/)]);
    app.standins.clear("llm");
    expect(await ask()).toEqual(["ok", true, 0]);
  });

  test("is degraded while a key is missing or malformed, and says which", async () => {
    for (const names of [...KEYS.map((name) => [name]), KEYS])
      for (const value of ["", "x"]) {
        const app = createApp({ env: Object.fromEntries(names.map((name) => [name, value])) });
        const { status, reasons, checks } = await health(app);
        expect([status, reasons]).toEqual(["degraded", names.map((name) => `${name} is not configured`)]);
        for (const name of names) expect(checks.configured[name]).toBe(false);
        closeApp();
      }
  });
});

describe("every cron", () => {
  const PERIODS: Record<string, (schedule: Record<string, unknown>) => number> = {
    interval: ({ minutes }) => Number(minutes) * MINUTE,
    hourly: () => 60 * MINUTE,
    daily: () => 24 * 60 * MINUTE,
    weekly: () => 7 * 24 * 60 * MINUTE,
  };

  test("is known by its name and period, and records that it ran", async ({ app }) => {
    const all = Object.entries(crons.crons);
    expect(
      Object.fromEntries(
        all.map(([name, { schedule }]) => [name, PERIODS[schedule.type]?.({ ...schedule })]),
      ),
    ).toEqual(CRON_PERIODS);
    for (const [name, cron] of all) {
      if (cron.name === "ops/housekeeping:run") await keepHouse(app);
      else await app.t.mutation(makeFunctionReference<"mutation">(cron.name), {});
      const run = (await app.rows("cronRuns")).find((one) => one.name === name);
      expect([name, Math.abs((run?.ranAt ?? 0) - Date.now()) < 10_000]).toEqual([name, true]);
    }
  });
});
