import { describe, expect, vi } from "vitest";
import { creditDeposit } from "../../convex/credits/model";
import type { TableNames } from "../../convex/_generated/dataModel";
import { listKeys } from "../../convex/lib/objects";
import { DAY, HOUR } from "../../convex/lib/time";
import schema, { records } from "../../convex/schema";
import { type App, test } from "../support/app";
import { keepHouse } from "../support/rows/housekeeping";

/** So many days later, behind the nightly run. */
async function night(app: App, days = 0): Promise<void> {
  vi.setSystemTime(Date.now() + days * DAY);
  await keepHouse(app);
}

async function counts(app: App): Promise<Partial<Record<string, number>>> {
  const all = await Promise.all(
    listKeys(records).map(async (table) => [table, (await app.rows(table)).length] as const),
  );
  return Object.fromEntries(all.filter(([, count]) => count > 0));
}

describe("the tables' records", () => {
  test("name every table of the schema, with a reason for how long its rows live, and whose they are", () => {
    expect(listKeys(records).toSorted()).toEqual(Object.keys(schema.tables).toSorted());
    for (const { keep } of Object.values(records)) {
      const reasons = typeof keep === "string" ? [keep] : [keep].flat().map(({ why }) => why);
      expect(reasons.length).toBeGreaterThan(0);
      for (const reason of reasons) expect(reason.length).toBeGreaterThan(5);
    }
    const named = listKeys(records).filter((table) => {
      const { validator } = schema.tables[table];
      const shapes = validator.kind === "union" ? validator.members : [validator];
      return shapes.some(({ fields }) => "userId" in fields);
    });
    expect(named.filter((table) => records[table].ownedBy === undefined)).toEqual(["walletKeys"]);
    const sections = listKeys(records).flatMap((table) => records[table].ownedBy?.section ?? []);
    expect(sections.length).toBeGreaterThan(20);
    expect(new Set(sections).size).toBe(sections.length);
  });

  test("never let money, keys or proofs go", () => {
    const forGood: TableNames[] = [
      ...(["creditTransactions", "gameSessions"] as const),
      ...(["transfers", "paymentClaims", "orders"] as const),
      ...(["wallets", "walletKeys", "accounts", "addresses"] as const),
      ...(["signals", "signalEvents", "signalSummaries", "reports"] as const),
    ];
    for (const table of forGood) expect([table, typeof records[table].keep]).toEqual([table, "string"]);
  });
});

describe("housekeeping", () => {
  test("leaves what is young, what is not to go however old it is, and a stranger's shifts for half a year", async ({
    app,
  }) => {
    const [alice, stranger, payer, running] = [
      "a-user-who-lives-a-day",
      "a-stranger-who-leaves",
      "a-stranger-who-pays-later",
      "a-user-with-a-shift",
    ] as const;
    await app.get("/mcp/market");
    await app.post("/mcp/token", { question: "SOL" });
    await app.post("/mcp/research", { token: "ETH" });
    for (const userId of [alice, stranger]) await app.post("/mcp/wallet/create", { userId });
    for (const [userId, init] of [
      [alice, { as: "alice" }],
      [stranger, {}],
      [payer, {}],
    ] as const)
      await app.post("/mcp/research/start", { userId, token: "BTC", messengerChatId: "42" }, init);
    // The first report is written from one collection.
    await app.pass(2.4 * HOUR, { cronsRun: false });
    await app.pass(0.2 * HOUR);
    await app.post("/mcp/research/stop", { userId: alice }, { as: "alice" });
    for (const userId of [stranger, payer]) await app.post("/mcp/research/stop", { userId });
    await app.post("/mcp/research/start", { userId: running });
    await app.settle(40);
    await app.t.run((ctx) => creditDeposit(ctx, { userId: payer, amount: 5, key: "later", source: "usdc" }));
    const young = await counts(app);
    expect(young).toMatchObject({ shifts: 4, reports: 3, agentRuns: 3, observations: expect.any(Number) });
    await night(app);
    const { cronRuns: _runs, ...after } = await counts(app);
    expect({ ...after, cronRuns: young.cronRuns }).toEqual(young);
    await night(app, 179);
    expect(await counts(app)).toMatchObject({ shifts: 4, reports: 3, agentRuns: 3 });
    await night(app, 2);
    expect(await counts(app)).toMatchObject({ shifts: 3, reports: 2, agentRuns: 2, wallets: 2 });
    expect((await app.rows("reports")).map(({ userId }) => userId)).not.toContain(stranger);
    await night(app, 400);
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
      const less = ["shifts", "reports", "agentRuns"].includes(table) ? 1 : 0;
      if (table !== "cronRuns" && table !== "providerStates")
        expect([table, (count ?? 0) + less]).toEqual([table, young[table]]);
    }
    expect((await app.get("/mcp/research/report?token=BTC")).status).toBe(200);
  });

  test("keeps a card that is still to be sent", async ({ app }) => {
    app.standins.fail("messenger", { mode: "status", status: 500 });
    await app.post("/mcp/research/start", { userId: "a-user-with-a-card", messengerChatId: "42" });
    await app.settle();
    await night(app, 60);
    expect(await app.rows("messages")).toHaveLength(1);
  });

  test("takes many rows in bounded batches, only the old ones, and two runs at once end like one", async ({
    app,
  }) => {
    const now = Date.now();
    const answer = (index: number, beganAt: number) => ({
      ...{ key: `token:${index}`, beganAt, doneAt: beganAt, body: "{}" },
    });
    await app.t.run(async ({ db }) => {
      for (let row = 0; row < 1_000; row++) await db.insert("answers", answer(row, now - 8 * DAY - row));
      await db.insert("answers", answer(-1, now));
    });
    await Promise.all([keepHouse(app), keepHouse(app)]);
    expect((await app.rows("answers")).map(({ key }) => key)).toEqual(["token:-1"]);
    const jobs = await app.t.run((ctx) => ctx.db.system.query("_scheduled_functions").collect());
    const steps = jobs.filter(({ name }) => name.startsWith("ops/housekeeping"));
    expect(
      steps.filter(({ args }) => JSON.stringify(args).includes("answers")).length,
    ).toBeGreaterThanOrEqual(5);
    expect(steps.every(({ state }) => state.kind === "success")).toBe(true);
  });
});
