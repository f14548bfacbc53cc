import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { closeApp, createApp, START, type App } from "../support/app";
import { browserOf } from "../web/support";

let running: App | undefined;

/** Cards still on their way at a test's end would arrive in the next one. */
async function end(): Promise<void> {
  await running?.settle();
  running = undefined;
  closeApp();
}

afterEach(end);

function start(): App {
  running = createApp();
  return running;
}

const MINUTE = 60_000;

type Token = "BTC" | "ETH";
type Direction = "above" | "below";
type Source = "chainlink" | "coinbase" | "llm";

/** A price as a source tells it, at a time of its own. */
const priced = (
  app: App,
  at: number,
  priceUsd: number,
  source: Source = "coinbase",
  token: Token = "BTC",
  observedAt = at,
) => {
  vi.setSystemTime(at);
  return app.t.mutation(internal.prices.samples.store, { token, priceUsd, source, observedAt });
};

const create = (app: App, userId: string, direction: Direction, levelUsd: number, token: Token = "BTC") =>
  app.during(app.t.action(internal.prices.alerts.create, { userId, token, direction, levelUsd }));

const states = async (app: App) =>
  (await app.rows("priceAlerts")).map(({ levelUsd, state }) => [levelUsd, state]);

describe("a price alert", () => {
  test("fires once, at the level or beyond it, with one card to its user's own chat", async () => {
    const app = start();
    await app.post("/user/messenger", { userId: "alice", messengerChatId: "777" });
    await priced(app, START, 100_000);
    const alert = await create(app, "alice", "above", 101_000.5);
    expect(alert).toMatchObject({ token: "BTC", direction: "above", levelUsd: 101_000.5, state: "active" });
    await priced(app, START + 2 * MINUTE, 101_000.49);
    await app.settle();
    expect(app.cards()).toEqual([]);
    await priced(app, START + 4 * MINUTE, 101_000.5);
    await priced(app, START + 6 * MINUTE, 102_000);
    await priced(app, START + 8 * MINUTE, 90_000);
    await priced(app, START + 10 * MINUTE, 103_000);
    await app.settle();
    expect(app.cards()).toMatchObject([
      {
        chatId: "777",
        text: expect.stringMatching(/BTC is above \$101,000\.5.*\$101,000\.5 at 09:04 UTC \(coinbase\)/s),
      },
    ]);
    expect(await app.t.query(internal.prices.alerts.list, { userId: "alice" })).toEqual([
      { ...alert, state: "fired", endedAt: START + 4 * MINUTE, firedAtUsd: 101_000.5 },
    ]);
  });

  test("below a level fires on the way down; of another token, not at all", async () => {
    const app = start();
    await priced(app, START, 100);
    await priced(app, START, 100, "chainlink", "ETH");
    await create(app, "alice", "below", 90);
    await create(app, "alice", "below", 80);
    await create(app, "alice", "below", 95, "ETH");
    await priced(app, START + 2 * MINUTE, 85);
    expect(await states(app)).toEqual([
      [90, "fired"],
      [80, "active"],
      [95, "active"],
    ]);
  });

  test("fires once when samples race", async () => {
    const app = start();
    await priced(app, START, 100);
    await create(app, "alice", "above", 110);
    vi.setSystemTime(START + 2 * MINUTE);
    const sample = { token: "BTC" as const, source: "coinbase" as const, observedAt: START };
    await Promise.all(
      [120, 121, 122, 123].map((priceUsd) =>
        app.t.mutation(internal.prices.samples.store, { ...sample, priceUsd }),
      ),
    );
    await app.settle();
    expect(await states(app)).toEqual([[110, "fired"]]);
    expect(app.cards()).toHaveLength(1);
  });

  test("does not fire on the model's word, but on the next better source's", async () => {
    const app = start();
    await priced(app, START, 100);
    await create(app, "alice", "above", 110);
    await priced(app, START + 2 * MINUTE, 150, "llm");
    expect(await states(app)).toEqual([[110, "active"]]);
    await priced(app, START + 2 * MINUTE + 1, 112, "chainlink");
    expect(await states(app)).toEqual([[110, "fired"]]);
  });

  test("does not fire on a price that was seen before it was set", async () => {
    const app = start();
    await priced(app, START, 100);
    await create(app, "alice", "above", 110);
    await priced(app, START + 5 * MINUTE, 120, "chainlink", "BTC", START - 10 * MINUTE);
    expect(await states(app)).toEqual([[110, "active"]]);
    await priced(app, START + 10 * MINUTE, 120, "chainlink", "BTC", START + 6 * MINUTE);
    expect(await states(app)).toEqual([[110, "fired"]]);
  });

  test("fires behind any number of alerts that were set after the price", async () => {
    const app = start();
    await priced(app, START, 100);
    for (let i = 0; i < 30; i++) await create(app, `later-${i}`, "above", 110 + i / 100);
    await create(app, "first", "above", 115);
    const rows = await app.rows("priceAlerts");
    const createdAt = START + 3 * MINUTE;
    await app.t.run(async (ctx) => {
      for (const { _id, levelUsd } of rows)
        if (levelUsd < 115) await ctx.db.patch("priceAlerts", _id, { createdAt });
    });
    await priced(app, START + 2 * MINUTE, 120);
    await app.pass(10_000, { cronsRun: false });
    const fired = (await app.rows("priceAlerts")).filter(({ state }) => state === "fired");
    expect(fired.map(({ userId }) => userId)).toEqual(["first"]);
  });

  test("fires from the samples the service takes anyway", async () => {
    const app = start();
    const { priceUsd } = await app.during(app.t.action(internal.prices.live.current, { token: "BTC" }));
    await create(app, "alice", "above", priceUsd * 1.0005);
    await create(app, "alice", "below", priceUsd * 0.9995);
    await app.pass(60 * MINUTE);
    const rows = await app.rows("priceAlerts");
    const samples = (await app.rows("priceSamples")).filter(({ token }) => token === "BTC");
    const [high, low] = [Math.max, Math.min].map((most) => most(...samples.map((one) => one.priceUsd)));
    expect(rows.map(({ state }) => state)).toEqual([
      (high ?? 0) >= priceUsd * 1.0005 ? "fired" : "active",
      (low ?? 0) <= priceUsd * 0.9995 ? "fired" : "active",
    ]);
    expect(rows.some(({ state }) => state === "fired")).toBe(true);
    const cards = app.cards().filter(({ text }) => /BTC is (?:above|below)/.test(text));
    expect(cards).toHaveLength(rows.filter(({ state }) => state === "fired").length);
  });

  test("fires for everybody where a price crosses more levels than one transaction takes", async () => {
    const app = start();
    await priced(app, START, 100);
    for (let i = 0; i < 60; i++) await create(app, `user-${i}`, "above", 110 + i / 100);
    await create(app, "patient", "above", 200);
    await priced(app, START + 2 * MINUTE, 120);
    await app.pass(2 * MINUTE, { cronsRun: false });
    const fired = (await states(app)).filter(([, state]) => state === "fired");
    expect(fired).toHaveLength(60);
    expect(await app.rows("messages")).toHaveLength(60);
  });

  test("agrees with a plain reading of the prices, for any prices and levels", async () => {
    const price = fc.integer({ min: 80, max: 120 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom<Direction>("above", "below"), price), {
          minLength: 1,
          maxLength: 8,
        }),
        fc.array(fc.tuple(price, fc.constantFrom<Source>("coinbase", "llm")), { minLength: 1, maxLength: 8 }),
        async (wishes, prices) => {
          const app = start();
          await priced(app, START, 100);
          for (const [direction, level] of wishes) {
            await create(app, "alice", direction, level).catch(() => undefined);
          }
          for (const [i, [priceUsd, source]] of prices.entries()) {
            await priced(app, START + (i + 1) * 2 * MINUTE, priceUsd, source);
          }
          const told = prices.filter(([, source]) => source !== "llm").map(([priceUsd]) => priceUsd);
          for (const { direction, levelUsd, state } of await app.rows("priceAlerts")) {
            const crossed = told.some((one) => (direction === "above" ? one >= levelUsd : one <= levelUsd));
            expect(state).toBe(crossed ? "fired" : "active");
          }
          await end();
        },
      ),
      { numRuns: 12 },
    );
  });
});

describe("setting an alert", () => {
  test.each([
    ["above", 100, "reached already: BTC is at $100"],
    ["above", 99.5, "reached already: BTC is at $100"],
    ["below", 100, "undercut already: BTC is at $100"],
    ["below", 0, "levelUsd must be a price in USD above 0"],
    ["above", -1, "levelUsd must be a price in USD above 0"],
    ["above", Infinity, "levelUsd must be a price in USD above 0"],
    ["above", NaN, "levelUsd must be a price in USD above 0"],
  ] as const)("%s %d is refused, and nothing is kept", async (direction, level, error) => {
    const app = start();
    await priced(app, START, 100);
    const failure: unknown = await create(app, "alice", direction, level).catch((cause: unknown) => cause);
    expect(failure).toMatchObject({
      data: { code: "invalid_request", message: expect.stringContaining(error) },
    });
    expect(await app.rows("priceAlerts")).toEqual([]);
  });

  test("that a newer sample has reached meanwhile is refused with that price", async () => {
    const app = start();
    await priced(app, START, 120);
    const wish = { userId: "alice", token: "BTC" as const, direction: "above" as const, levelUsd: 110 };
    const late = app.t.mutation(internal.prices.alerts.open, { ...wish, priceUsd: 100 });
    await expect(late).rejects.toThrow("BTC is at $120");
  });

  test("goes up to ten active ones; the same again is the same; a cancelled one makes room", async () => {
    const app = start();
    await priced(app, START, 100);
    const alerts = [];
    for (let i = 0; i < 10; i++) alerts.push(await create(app, "alice", "above", 200 + i));
    expect(await create(app, "alice", "above", 200)).toEqual(alerts[0]);
    await expect(create(app, "alice", "above", 300)).rejects.toThrow("At most 10 price alerts");
    await create(app, "bob", "above", 300);
    const [first] = alerts;
    if (first === undefined) throw new Error("There are alerts");
    const cancel = (userId: string, alertId: string) =>
      app.t.mutation(internal.prices.alerts.cancel, { userId, alertId });
    await expect(cancel("bob", first.alertId)).rejects.toThrow("no such price alert");
    await expect(cancel("alice", "nonsense")).rejects.toThrow("no such price alert");
    expect(await cancel("alice", first.alertId)).toMatchObject({ state: "cancelled" });
    expect(await cancel("alice", first.alertId)).toMatchObject({ state: "cancelled" });
    await create(app, "alice", "above", 300);
    await priced(app, START + 2 * MINUTE, 250);
    expect((await states(app)).filter(([, state]) => state === "fired")).toHaveLength(9);
    const fired = alerts[1]?.alertId ?? "";
    await expect(cancel("alice", fired)).rejects.toThrow("has fired already");
    expect((await states(app))[0]).toEqual([200, "cancelled"]);
  });

  test("takes a price feed or ticker: with the model's word alone it is refused", async () => {
    const app = start();
    app.standins.fail("tickers", { mode: "status", status: 503 });
    await expect(create(app, "alice", "above", 1e6)).rejects.toThrow("No price feed or ticker");
    expect(await app.rows("priceAlerts")).toEqual([]);
  });
});

describe("the web application", () => {
  test("sets, lists and cancels the alerts of its user alone, and their data go with the account", async () => {
    const app = start();
    const [alice, bob] = ["alice", "bob"].map((name) => browserOf(app, name));
    if (alice === undefined || bob === undefined) throw new Error("There are two");
    for (const one of [alice, bob]) await one.mutation(api.users.profile.signIn, {});
    await priced(app, START, 100);
    const wish = { token: "BTC" as const, direction: "below" as const, levelUsd: 50 };
    const { alertId } = await app.during(alice.action(api.prices.app.createAlert, wish));
    expect(await alice.query(api.prices.app.alerts, {})).toMatchObject([{ alertId, ...wish }]);
    expect(await bob.query(api.prices.app.alerts, {})).toEqual([]);
    await expect(bob.mutation(api.prices.app.cancelAlert, { alertId })).rejects.toThrow(
      "no such price alert",
    );
    const paginationOpts = { numItems: 10, cursor: null };
    const exported = await alice.query(api.account.export.page, { section: "alerts", paginationOpts });
    expect(exported.page.map((line): unknown => JSON.parse(line))).toMatchObject([{ _id: alertId, ...wish }]);
    await expect(alice.action(api.account.claims.claimUserId, { userId: "older-id" })).rejects.toThrow(
      "price alerts",
    );
    await app.during(bob.action(api.prices.app.createAlert, wish));
    await alice.mutation(api.account.deletion.request, {});
    await app.pass(MINUTE, { cronsRun: false });
    expect(await app.rows("priceAlerts")).toHaveLength(1);
    expect(await alice.query(api.prices.app.alerts, {})).toEqual([]);
    const [left] = await bob.query(api.prices.app.alerts, {});
    expect(await bob.mutation(api.prices.app.cancelAlert, { alertId: left?.alertId ?? "" })).toMatchObject({
      state: "cancelled",
    });
  });
});
