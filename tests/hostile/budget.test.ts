import { describe, expect } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { createApp, type App, test } from "../support/app";

/** What the providers may cost in a day: `DAILY_BUDGET_USD`, and whom it stops. */

const HOUR = 3_600_000;
const amounts = z.object({
  limitUsd: z.number(),
  spentUsd: z.number(),
  leftUsd: z.number(),
  by: z.record(z.string(), z.number()),
});
const budgetShape = z.object({
  resetsAt: z.string(),
  providers: z.object({ llm: amounts, sentiment: amounts, agentApi: amounts }),
});

async function budgetOf(app: App) {
  // Health counts to the minute.
  const { body } = await app.get("/health");
  return z.object({ checks: z.object({ budget: budgetShape }) }).parse(body).checks.budget;
}

const ask = (app: App, init: { ip?: string; as?: string } = {}) =>
  app.post("/mcp/chat", { question: "How is Ethereum doing?" }, init);

/** Asks as strangers do, until one is refused. */
async function untilRefused(app: App) {
  for (let asked = 0; asked < 200; asked++) {
    const answer = await ask(app, { ip: `198.51.100.${asked}` });
    if (answer.status !== 200) return { asked, answer };
  }
  throw new Error("Nobody was refused");
}

describe("a day's budget", () => {
  test("is 25 USD per provider where nothing is set, and health shows who spent what", async ({ app }) => {
    const fresh = await budgetOf(app);
    expect(fresh).toEqual({
      resetsAt: "2026-01-06T00:00:00.000Z",
      providers: Object.fromEntries(
        ["llm", "sentiment", "agentApi"].map((name) => [
          name,
          { limitUsd: 25, spentUsd: 0, leftUsd: 25, by: {} },
        ]),
      ),
    });
    expect((await ask(app)).status).toBe(200);
    expect((await ask(app, { as: "alice" })).status).toBe(200);
    await app.t.mutation(internal.whales.agent.watches.begin, {});
    await app.advance(10 * 60_000);
    const { llm, agentApi } = (await budgetOf(app)).providers;
    // The market that both were told of is the service's own.
    expect(Object.keys(llm.by).toSorted()).toEqual(["anonymous", "service", "signedIn"]);
    expect(agentApi.by).toEqual({ service: 0.05 });
    // What the gateway's usage says, by the model's price: within the size of a chat, not its greatest cost.
    expect(llm.by.anonymous).toBeGreaterThan(0);
    expect(llm.by.anonymous).toBeLessThan(0.01);
    expect(llm.leftUsd).toBeCloseTo(25 - llm.spentUsd, 3);
  });

  test("stops strangers with the time at which it is whole again, from whatever address; everything else goes on", async () => {
    const app = createApp({ env: { DAILY_BUDGET_USD: "0.1" } });
    const { asked, answer } = await untilRefused(app);
    expect(asked).toBeGreaterThan(3);
    expect([answer.status, answer.body]).toEqual([
      429,
      {
        error:
          "Today's budget of the LLM gateway for callers who are not signed in is used up: it is restored at 2026-01-06T00:00:00.000Z",
      },
    ]);
    const untilMidnight = (Date.UTC(2026, 0, 6) - Date.now()) / 1_000;
    expect(Number(answer.headers.get("retry-after"))).toBe(Math.ceil(untilMidnight));
    const upstream = app.standins.sent("llm").length;
    for (const refused of [
      await app.post("/mcp/research", { token: "SOL" }),
      await app.get("/mcp/market?token=DOGE"),
      await app.post("/mcp/token", { question: "PEPE" }),
      await app.post("/mcp/research/start", { userId: "a-stranger", token: "SOL" }),
    ]) {
      expect([refused.status, refused.body.error]).toEqual([429, expect.stringContaining("budget")]);
    }
    expect(app.standins.sent("llm").length).toBe(upstream);
    expect(await app.rows("shifts")).toEqual([]);

    expect((await ask(app, { as: "alice" })).status).toBe(200);
    await app.t.mutation(internal.signals.issue.openDay, {});
    await app.settle(40);
    expect((await app.rows("signals")).map(({ token }) => token).toSorted()).toEqual(["BTC", "ETH"]);

    await app.advance(15 * HOUR);
    expect((await ask(app)).status).toBe(200);
  });

  test("lets a shift that has begun go on to its end, with nothing left for its later stages", async () => {
    const app = createApp({ env: { DAILY_BUDGET_USD: "1.25" } });
    const start = async (n: number, token: string) =>
      (await app.post("/mcp/research/start", { userId: `stranger-${n}`, token }, { ip: `198.51.100.${n}` }))
        .status;
    // The first stage of two shifts is all that strangers have.
    expect([await start(1, "SOL"), await start(2, "BTC"), await start(3, "ETH")]).toEqual([200, 200, 429]);
    // What others have paid for costs nothing more.
    expect(await start(4, "SOL")).toBe(200);
    await app.pass(8 * HOUR + 600_000);
    expect(
      (await app.rows("shifts")).map((row) => [row.status, row.interimReportsCount, row.finalReportSent]),
    ).toEqual([
      ["completed", 2, true],
      ["completed", 2, true],
      ["completed", 2, true],
    ]);
    const sources = (await app.rows("observations")).flatMap(({ sources: one }) =>
      Object.values(one).map((reading) => (reading.state === "failed" ? reading.error : reading.state)),
    );
    expect(sources.filter((one) => one.includes("budget")).length).toBeGreaterThan(10);
    const { sentiment, llm } = (await budgetOf(app)).providers;
    expect(Math.max(sentiment.by.anonymous ?? 0, llm.by.anonymous ?? 0)).toBeLessThanOrEqual(0.5);
    // The reports came out of what the service keeps for itself.
    expect(llm.by.shift).toBeGreaterThan(0);
  });

  test("holds however many ask at once", async () => {
    const app = createApp({ env: { DAILY_BUDGET_USD: "0.2" } });
    await ask(app);
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, i) => ask(app, { ip: `198.51.100.${i}` })),
    );
    const statuses = new Set(answers.map(({ status }) => status));
    expect(statuses).toEqual(new Set([200, 429]));
    const { by, limitUsd } = (await budgetOf(app)).providers.llm;
    expect(by.anonymous).toBeLessThanOrEqual(0.4 * limitUsd);
  });

  test("counts what is refused by the provider as nothing, and what was not heard in time as its greatest cost", async ({
    app,
  }) => {
    await ask(app);
    const before = (await budgetOf(app)).providers.llm.by.anonymous ?? 0;
    app.standins.fail("llm", { mode: "status", status: 503, times: 1, schema: "chat" });
    expect((await ask(app)).status).toBe(502);
    await app.advance(60_000);
    expect((await budgetOf(app)).providers.llm.by.anonymous).toBe(before);
    app.standins.fail("llm", { mode: "hang", times: 1, schema: "chat" });
    expect((await ask(app)).status).toBe(502);
    await app.advance(60_000);
    expect((await budgetOf(app)).providers.llm.by.anonymous).toBeGreaterThan(before + 0.003);
  });

  test("that is nearly used up is told to the operator once a day", async () => {
    const app = createApp({ env: { DAILY_BUDGET_USD: "0.1" } });
    const warnings = () => app.cards().filter(({ text }) => text.includes("budget is nearly used up"));
    await app.pass(10 * 60_000);
    expect(warnings()).toEqual([]);
    expect((await app.get("/health")).body.status).toBe("ok");
    await untilRefused(app);
    await app.pass(30 * 60_000);
    const { body } = await app.get("/health");
    expect(body.status).toBe("degraded");
    expect(body.reasons).toEqual([
      expect.stringMatching(/^\d+ % of today's llm budget for callers who are not signed in is used up$/),
    ]);
    expect(warnings().map(({ text }) => text)).toEqual([expect.stringContaining("LLM gateway: 0.0")]);
  });
});
