import { describe, expect, vi } from "vitest";
import { creditDeposit } from "../../convex/credits/model";
import type { TableNames } from "../../convex/_generated/dataModel";
import { tablesOf } from "../../convex/lib/records";
import schema, { records } from "../../convex/schema";
import { type App, test } from "../support/app";
import { keepHouse } from "../support/rows/housekeeping";

const DAY = 24 * 60 * 60_000;
const FIRST_REPORT_MS = 2.6 * 60 * 60_000;

function later(days: number): void {
  vi.setSystemTime(Date.now() + days * DAY);
}

async function counts(app: App): Promise<Partial<Record<string, number>>> {
  const all = await Promise.all(
    tablesOf(records).map(async (table) => [table, (await app.rows(table)).length] as const),
  );
  return Object.fromEntries(all.filter(([, count]) => count > 0));
}

/** A shift until its first report, the market, a token's question, on-demand research and a wallet. */
async function liveADay(app: App, as: string): Promise<void> {
  const userId = "a-user-who-lives-a-day";
  await app.post("/mcp/research/start", { userId, token: "BTC", messengerChatId: "42" }, { as });
  await app.get("/mcp/market");
  await app.post("/mcp/token", { question: "SOL" });
  await app.post("/mcp/research", { token: "ETH" });
  await app.post("/mcp/wallet/create", { userId });
  await app.pass(FIRST_REPORT_MS);
  await app.post("/mcp/research/stop", { userId }, { as });
}

describe("the tables' records", () => {
  test("name every table of the schema, with a reason for how long its rows live", () => {
    expect(tablesOf(records).toSorted()).toEqual(Object.keys(schema.tables).toSorted());
    for (const { keep } of Object.values(records)) {
      const reasons = typeof keep === "string" ? [keep] : [keep].flat().map(({ why }) => why);
      expect(reasons.length).toBeGreaterThan(0);
      for (const reason of reasons) expect(reason.length).toBeGreaterThan(5);
    }
  });

  test("say of every table with a userId whose rows those are, besides those of the account, the ledger and the service itself", () => {
    const named = tablesOf(records).filter((table) => {
      const { validator } = schema.tables[table];
      const shapes = validator.kind === "union" ? validator.members : [validator];
      return shapes.some(({ fields }) => "userId" in fields);
    });
    const silent = named.filter((table) => records[table].ownedBy === undefined);
    expect(silent.toSorted()).toEqual(["walletKeys"]);
  });

  test("give every section of the export one table", () => {
    const sections = tablesOf(records).flatMap((table) => records[table].ownedBy?.section ?? []);
    expect(sections.length).toBeGreaterThan(20);
    expect(new Set(sections).size).toBe(sections.length);
  });

  test("never let money, keys or proofs go", () => {
    const forGood: TableNames[] = [
      ...(["creditTransactions", "gameSessions"] as const),
      ...(["transfers", "paymentClaims", "orders"] as const),
      ...(["wallets", "walletKeys", "accounts", "addresses"] as const),
      ...(["signals", "signalEvents", "recaps", "reports"] as const),
    ];
    for (const table of forGood) expect([table, typeof records[table].keep]).toEqual([table, "string"]);
  });
});

describe("housekeeping", () => {
  test("leaves what is young, and what is not to go however old it is", async ({ app }) => {
    await liveADay(app, "alice");
    const young = await counts(app);
    expect(young).toMatchObject({ shifts: 1, reports: 1, observations: expect.any(Number) });
    await keepHouse(app);
    const { cronRuns: _runs, ...after } = await counts(app);
    expect({ ...after, cronRuns: young.cronRuns }).toEqual(young);

    later(400);
    await keepHouse(app);
    const old = await counts(app);
    const gone = Object.keys(young).filter((table) => old[table] === undefined);
    expect(gone.toSorted()).toEqual([
      "answers",
      "facts",
      "messages",
      "observations",
      "priceSamples",
      "spending",
    ]);
    for (const [table, count] of Object.entries(old)) {
      if (table !== "cronRuns" && table !== "providerStates")
        expect([table, count]).toEqual([table, young[table]]);
    }
    await keepHouse(app);
    expect(await counts(app)).toEqual(old);
    expect((await app.get("/mcp/research/report?token=BTC")).status).toBe(200);
  });

  test("takes a stranger's shifts with their reports after half a year, unless they have come in or paid since", async ({
    app,
  }) => {
    const stranger = { userId: "a-stranger-who-leaves", token: "BTC" };
    const shift = { ...stranger, userId: "a-stranger-who-pays-later" };
    await app.post("/mcp/wallet/create", { userId: stranger.userId });
    for (const order of [stranger, shift]) await app.post("/mcp/research/start", order);
    await app.pass(FIRST_REPORT_MS);
    for (const { userId } of [stranger, shift]) await app.post("/mcp/research/stop", { userId });
    await app.t.run((ctx) =>
      creditDeposit(ctx, { userId: shift.userId, amount: 5, key: "later", source: "usdc" }),
    );
    later(179);
    await keepHouse(app);
    expect(await counts(app)).toMatchObject({ shifts: 2, reports: 2, agentRuns: 2 });
    later(2);
    await keepHouse(app);
    expect(await counts(app)).toMatchObject({ shifts: 1, reports: 1, agentRuns: 1, wallets: 1 });
    expect(new Set((await app.rows("reports")).map(({ userId }) => userId))).toEqual(new Set([shift.userId]));
  });

  test("keeps a running shift, however old it is", async ({ app }) => {
    await app.post("/mcp/research/start", { userId: "a-user-with-a-shift" });
    await app.settle();
    later(60);
    await keepHouse(app);
    expect(await counts(app)).toMatchObject({ shifts: 1 });
  });

  test("keeps a card that is still to be sent", async ({ app }) => {
    app.standins.fail("messenger", { mode: "status", status: 500 });
    await app.post("/mcp/research/start", { userId: "a-user-with-a-card", messengerChatId: "42" });
    await app.settle();
    vi.setSystemTime(Date.now() + 60 * DAY);
    const unsent = (await app.rows("messages")).map(({ state }) => state);
    await keepHouse(app);
    expect(unsent).toHaveLength(1);
    expect((await app.rows("messages")).length).toBe(1);
  });

  test("takes 5,000 rows in bounded batches, and only the old ones", async ({ app }) => {
    const now = Date.now();
    const answer = (index: number, beganAt: number) => ({
      ...{ key: `token:${index}`, beganAt, doneAt: beganAt, body: "{}" },
    });
    for (let batch = 0; batch < 5; batch++) {
      await app.t.run(async (ctx) => {
        for (let row = 0; row < 1_000; row++) {
          await ctx.db.insert("answers", answer(batch * 1_000 + row, now - 8 * DAY - row));
        }
      });
    }
    await app.t.run((ctx) => ctx.db.insert("answers", answer(-1, now)));
    await keepHouse(app);
    expect((await app.rows("answers")).map(({ key }) => key)).toEqual(["token:-1"]);
    const jobs = await app.t.run((ctx) => ctx.db.system.query("_scheduled_functions").collect());
    const steps = jobs.filter(({ name }) => name.startsWith("ops/housekeeping"));
    expect(
      steps.filter(({ args }) => JSON.stringify(args).includes("answers")).length,
    ).toBeGreaterThanOrEqual(25);
    expect(steps.every(({ state }) => state.kind === "success")).toBe(true);
  });

  test("two runs at once end like one", async ({ app }) => {
    await app.get("/mcp/market");
    await app.settle();
    later(40);
    await Promise.all([keepHouse(app), keepHouse(app)]);
    expect(await counts(app)).toEqual({ cronRuns: 1, providerStates: 3 });
  });
});
