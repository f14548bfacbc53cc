import { makeFunctionReference } from "convex/server";
import { describe, expect } from "vitest";
import * as z from "zod";
import crons from "../../convex/crons";
import { CRON_PERIODS } from "../../convex/lib/changes";
import { type App, closeApp, createApp, test } from "../support/app";
import { keepHouse } from "../support/rows/housekeeping";

const MINUTE = 60_000;
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
  test("is 200 and ok before any cron has run, and writes nothing", async ({ app }) => {
    const { status, reasons, checks } = await health(app);
    expect([status, reasons]).toEqual(["ok", []]);
    expect(Object.keys(checks.crons).toSorted()).toEqual(Object.keys(CRON_PERIODS).toSorted());
    expect(new Set(Object.values(checks.crons))).toEqual(new Set([null]));
    expect(checks.outbox).toEqual({ waiting: 0, oldestSeconds: null });
    expect(new Set(Object.values(checks.pending))).toEqual(new Set([null]));
    expect(checks.providers).toEqual({});
    expect(await app.rows("cronRuns")).toEqual([]);
  });

  test("says when a cron did its work, and is degraded when it has missed two turns", async ({ app }) => {
    await app.pass(10 * MINUTE);
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

  test("a card that cannot be delivered shows in the outbox by its age", async ({ app }) => {
    app.standins.fail("messenger", { mode: "status", status: 500 });
    await app.post("/mcp/research/start", { userId: "a-user-of-health", messengerChatId: "1" });
    await app.settle();
    const { outbox } = (await health(app)).checks;
    expect(outbox.waiting).toBe(1);
    expect(outbox.oldestSeconds).toBeLessThan(60);
  });

  test("shows work that is overdue by its kind, and is degraded after half an hour", async ({ app }) => {
    await app.post("/mcp/research/start", { userId: "a-user-of-health" });
    await app.settle();
    const isOverdueBy = (minutes: number) =>
      app.t.run(async ({ db }) => {
        const [shift] = await db.query("shifts").collect();
        const nextCollectionAt = Date.now() - minutes * MINUTE;
        if (shift !== undefined) await db.patch("shifts", shift._id, { nextCollectionAt });
      });
    await isOverdueBy(10);
    const { status, checks } = await health(app);
    expect(checks.pending.shifts).toBeGreaterThanOrEqual(9 * 60);
    expect(checks.pending.shifts).toBeLessThan(12 * 60);
    expect(checks.pending.orders).toBeNull();
    expect(status).toBe("ok");
    await isOverdueBy(35);
    expect(await health(app)).toMatchObject({ status: "degraded" });
  });

  test("a provider fails after two failed calls in a row, and works again after one answer", async ({
    app,
  }) => {
    const ask = async (question: string) => {
      await app.post("/mcp/chat", { question });
      const { status, reasons, checks } = await health(app);
      return [status, checks.providers.llm?.works, reasons.length];
    };
    expect(await ask("How is Ethereum doing?")).toEqual(["ok", true, 0]);
    const [before] = await app.rows("providerStates");
    expect(await ask("And Bitcoin?")).toEqual(["ok", true, 0]);
    expect((await app.rows("providerStates"))[0]).toEqual(before);
    app.standins.fail("llm", { mode: "status", status: 500 });
    await ask("And now?");
    expect(await ask("And now?")).toEqual(["degraded", false, 1]);
    expect((await health(app)).reasons).toEqual([expect.stringMatching(/^calls of llm fail since 20/)]);
    app.standins.clear("llm");
    expect(await ask("And now?")).toEqual(["ok", true, 0]);
  });

  test.for(["LLM_GATEWAY_API_KEY", "SENTIMENT_API_KEY", "WALLET_ENCRYPTION_KEY", "SWAP_API_KEY"])(
    "is degraded while %s is missing, and says so",
    async (name) => {
      for (const value of ["", "x"]) {
        const app = createApp({ env: { [name]: value } });
        const { status, reasons, checks } = await health(app);
        expect([status, reasons]).toEqual(["degraded", [`${name} is not configured`]]);
        expect(checks.configured[name]).toBe(false);
        closeApp();
      }
    },
  );

  test("is degraded with every reason while nothing at all is configured", async () => {
    const none = ["LLM_GATEWAY_API_KEY", "SENTIMENT_API_KEY", "WALLET_ENCRYPTION_KEY", "SWAP_API_KEY"];
    const app = createApp({
      env: Object.fromEntries([...none, "MESSENGER_BOT_TOKEN"].map((name) => [name, ""])),
    });
    const { status, reasons } = await health(app);
    expect([status, reasons]).toEqual(["degraded", none.map((name) => `${name} is not configured`)]);
  });
});

describe("every cron", () => {
  const PERIODS: Record<string, (schedule: Record<string, unknown>) => number> = {
    interval: ({ minutes }) => Number(minutes) * MINUTE,
    hourly: () => 60 * MINUTE,
    daily: () => 24 * 60 * MINUTE,
    weekly: () => 7 * 24 * 60 * MINUTE,
  };

  test("is known by its name and period", () => {
    const scheduled = Object.entries(crons.crons).map(([name, { schedule }]) => [
      name,
      PERIODS[schedule.type]?.({ ...schedule }),
    ]);
    expect(Object.fromEntries(scheduled)).toEqual(CRON_PERIODS);
  });

  test.for(Object.entries(crons.crons))("%s records that it ran", async ([name, cron], { app }) => {
    const from = Date.now();
    if (cron.name === "ops/housekeeping:run") await keepHouse(app);
    else await app.t.mutation(makeFunctionReference<"mutation">(cron.name), {});
    const [run, ...others] = await app.rows("cronRuns");
    expect([run?.name, others]).toEqual([name, []]);
    expect(run?.ranAt).toBeGreaterThanOrEqual(from);
    expect(run?.ranAt).toBeLessThanOrEqual(Date.now());
  });
});
