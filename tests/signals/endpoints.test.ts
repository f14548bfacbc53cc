import { describe, expect, vi } from "vitest";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { closeApp, createApp, type App } from "../support/app";
import * as given from "./support";
import { test } from "./support";

const { buy, decided, DAY, EIGHT, HOUR, MINUTE, issued, track, wait } = given;
const ALICE = "alice-6f1c0a9e2b";

const reviews = (app: App) => app.standins.sent("llm").filter(({ schema }) => schema === "signal_review");

const SIGNAL = {
  id: expect.stringMatching(/^(?:BTC|ETH)-2026-01-05$/),
  token: "BTC",
  timeframe: "1h",
  ...buy,
  chancePercent: 50,
  costPercent: 0.15,
  breakEvenPercent: 57.5,
  model: expect.stringContaining("simulated"),
  promptVersion: "signal-5",
  status: "PENDING",
  generatedAt: expect.stringMatching(/^2026-01-05T08:00:/),
  expiresAt: expect.stringMatching(/^2026-01-05T14:00:/),
};

describe("without the gateway's key", () => {
  const paths = [
    "/mcp/signals/latest",
    "/mcp/signals/latest?token=BTC&userId=alice",
    "/mcp/signals/history",
    "/mcp/signals/recap",
    "/signals/latest",
    "/signals/history",
  ];

  test("what is read of signals says so while there is none, and is served once there is", async ({
    app,
  }) => {
    const key = process.env.LLM_GATEWAY_API_KEY;
    vi.stubEnv("LLM_GATEWAY_API_KEY", "");
    for (const path of paths) {
      const { status, body } = await app.get(path);
      expect([path, status, body]).toEqual([path, 500, { error: "LLM_GATEWAY_API_KEY is not configured" }]);
    }
    expect((await app.post("/mcp/signals/recap", { userId: ALICE })).status).toBe(500);
    expect(app.cards()).toEqual([]);

    vi.stubEnv("LLM_GATEWAY_API_KEY", key);
    await issued(app, buy);
    vi.stubEnv("LLM_GATEWAY_API_KEY", "");
    for (const path of paths) expect([path, (await app.get(path)).status]).toEqual([path, 200]);
    await wait(app, 2 * DAY);
    expect((await app.get("/mcp/signals/recap")).body).toMatchObject({ wins: 0, pending: 0, review: null });
  });
});

describe("/mcp/signals/latest", () => {
  test("answers GET and POST alike: both tokens, or the one asked for", async ({ app }) => {
    expect((await app.get("/mcp/signals/latest")).body).toEqual({ signals: { BTC: null, ETH: null } });
    await issued(app, buy);
    const both = { signals: { BTC: SIGNAL, ETH: { ...SIGNAL, token: "ETH" } } };
    expect((await app.get("/mcp/signals/latest")).body).toEqual(both);
    expect((await app.post("/mcp/signals/latest", { token: "" })).body).toEqual(both);
    expect((await app.post("/mcp/signals/latest", { token: "btc" })).body).toEqual({
      signals: { BTC: SIGNAL },
    });
    for (const token of ["SOL", "BTCX", "BTC,ETH"]) {
      const { status, body } = await app.get(`/mcp/signals/latest?token=${token}`);
      expect([status, body]).toEqual([400, { error: "token must be BTC or ETH" }]);
    }
  });

  test("keeps an outcome on the signal", async ({ app }) => {
    await decided(app);
    const { body } = await app.get("/mcp/signals/latest?token=BTC");
    expect(body.signals).toEqual({
      BTC: {
        ...{ ...SIGNAL, status: "WIN", closedAt: expect.any(String), exitPrice: 101 },
        ...{ pnlPercent: 1, afterCostsPercent: 0.85, excessPoints: 50, gapMinutes: 0 },
      },
    });
  });

  test("with userId sends the card to that user's messenger and says that it arrived", async ({ app }) => {
    await issued(app, buy);
    await app.post("/user/messenger", { userId: ALICE, messengerChatId: "11" });
    const { body } = await app.get(`/mcp/signals/latest?userId=${ALICE}&token=ETH`);
    expect(body).toMatchObject({ signals: { ETH: { token: "ETH" } }, messengerSent: true });
    expect(app.cards().at(-1)).toMatchObject({ chatId: "11", text: expect.stringContaining("ETH BUY") });
    expect(app.cards().at(-1)?.text).not.toContain("BTC");
  });

  test("says that nothing was sent: no signal yet, no bot, a messenger that refuses", async ({ app }) => {
    await app.post("/user/messenger", { userId: ALICE, messengerChatId: "11" });
    const ask = async () => (await app.post("/mcp/signals/latest", { userId: ALICE })).body.messengerSent;
    expect(await ask()).toBe(false);
    await issued(app, buy);
    app.standins.fail("messenger", { mode: "status", status: 403 });
    expect(await ask()).toBe(false);
    closeApp();
    const silent = createApp({ now: EIGHT, env: { MESSENGER_BOT_TOKEN: "" } });
    await silent.post("/user/messenger", { userId: ALICE, messengerChatId: "11" });
    await issued(silent, buy);
    expect(await silent.rows("signals")).toHaveLength(2);
    const { status, body } = await silent.post("/mcp/signals/latest", { userId: ALICE });
    expect([status, body.messengerSent]).toEqual([200, false]);
  });
});

describe("a card for a caller without a chat of their own", () => {
  test("is not sent, and said not to be; the service's own chat is not for it", async ({ app }) => {
    await issued(app, buy);
    const before = app.cards().length;
    await app.post("/user/messenger", {
      userId: "own-bot-alone-1",
      messengerBotToken: `77:${"a".repeat(33)}`,
    });
    for (const userId of ["stranger-000-1", "own-bot-alone-1"]) {
      for (const path of ["signals/latest", "whale-alerts"]) {
        const { status, body } = await app.get(`/mcp/${path}?userId=${userId}`);
        expect([path, status, body.messengerSent]).toEqual([path, 200, false]);
      }
    }
    expect(app.cards()).toHaveLength(before);
    expect((await app.rows("messages")).filter(({ userId }) => userId !== "")).toEqual([]);
  });
});

describe("/mcp/signals/history", () => {
  test("answers newest first, by token and page, with the whole record's statistics", async ({ app }) => {
    for (let day = 0; day < 3; day++) {
      await decided(app);
      await wait(app, DAY - 30 * MINUTE);
    }
    const { body } = await app.get("/mcp/signals/history");
    expect(body).toMatchObject({
      count: 6,
      stats: { n: 6, wins: 3, losses: 3, winrate: 50, trades: 6, beforeCosts: { totalPnlPercent: 0 } },
    });
    const btc = (await app.post("/mcp/signals/history", { token: "BTC", limit: "2" })).body;
    expect(btc).toMatchObject({
      count: 2,
      stats: { wins: 3, losses: 0, afterCosts: { totalPnlPercent: 2.55 } },
    });
    expect(btc.signals).toMatchObject([{ id: "BTC-2026-01-07" }, { id: "BTC-2026-01-06" }]);
  });
});

describe("every signal", () => {
  test("is exported with its levels, times and outcome, as JSON and as a table", async ({ app }) => {
    await decided(app);
    const { body } = await app.get("/signals/export.json");
    expect(body).toMatchObject({
      count: 2,
      signals: [
        { id: "BTC-2026-01-05", status: "WIN" },
        { id: "ETH-2026-01-05", status: "LOSS" },
      ],
    });
    const sheet = await app.t.fetch("/signals/export.csv");
    expect(sheet.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    const [names, ...lines] = (await sheet.text()).trimEnd().split("\r\n");
    const columns = names?.split(",") ?? [];
    const of = (line: string) =>
      ["id", "tp1", "status", "exitPrice"].map((name) => line.split(",")[columns.indexOf(name)]);
    expect(lines.map(of)).toEqual([
      ["BTC-2026-01-05", "101", "WIN", "101"],
      ["ETH-2026-01-05", "101", "LOSS", "99"],
    ]);
    expect(lines.every((line) => line.split(",").length === names?.split(",").length)).toBe(true);
  });
});

describe("/mcp/signals/recap", () => {
  test("tells the UTC day, with a review written once per set of outcomes", async ({ app }) => {
    await decided(app);
    const { status, body } = await app.get("/mcp/signals/recap");
    expect(status).toBe(200);
    expect(body).toEqual({
      date: "2026-01-05",
      wins: 1,
      losses: 1,
      expired: 0,
      pending: 0,
      winrate: 50,
      trades: 2,
      totalPnlPercent: 0,
      totalAfterCostsPercent: -0.3,
      averagePnlPercent: 0,
      bestPnlPercent: 1,
      worstPnlPercent: -1,
      byToken: {
        BTC: expect.objectContaining({ wins: 1, winrate: 100, totalPnlPercent: 1 }),
        ETH: expect.objectContaining({ losses: 1, winrate: 0, totalPnlPercent: -1 }),
      },
      notice: null,
      yesterday: expect.objectContaining({ date: "2026-01-04", wins: 0, trades: 0 }),
      review: expect.stringContaining("1 won, 1 lost and 0 expired"),
      generatedAt: expect.any(String),
    });
    expect((await app.post("/mcp/signals/recap")).body.review).toBe(body.review);
    expect(reviews(app)).toHaveLength(1);
    await wait(app, DAY);
    expect((await app.get("/mcp/signals/recap")).body).toMatchObject({
      date: "2026-01-06",
      wins: 0,
      review: null,
    });
    expect(reviews(app)).toHaveLength(1);
  });

  test("is reviewed anew when an outcome changes, once for many callers", async ({ app }) => {
    await issued(app, buy);
    await app.get("/mcp/signals/recap");
    await wait(app, 7 * HOUR);
    await track(app);
    const answers = await Promise.all(Array.from({ length: 8 }, () => app.get("/mcp/signals/recap")));
    expect(new Set(answers.map(({ body }) => body.review)).size).toBe(1);
    expect(answers[0]?.body).toMatchObject({ expired: 2, pending: 0, winrate: null, totalPnlPercent: 0 });
    expect(reviews(app)).toHaveLength(2);
  });

  test.for([
    ["is down", { mode: "status", status: 401 }],
    ["answers prose", { mode: "reply", content: "A fine day." }],
    ["is slow", { mode: "slow", ms: 400 }],
  ] as const)("answers the figures when the gateway %s, review null", async ([_name, fault], { app }) => {
    await decided(app);
    deadlines.caller = 100;
    app.standins.fail("llm", fault);
    const { status, body } = await app.get("/mcp/signals/recap");
    expect([status, body.wins, body.losses, body.review]).toEqual([200, 1, 1, null]);
    app.standins.clear();
    deadlines.caller = 10_000;
    await wait(app, MINUTE);
    expect((await app.get("/mcp/signals/recap")).body.review).toEqual(expect.any(String));
  });

  test("is of today: what has not been issued yet is said, and yesterday's is called so", async ({ app }) => {
    await decided(app);
    vi.setSystemTime(Date.UTC(2026, 0, 6, 3, 0));
    const nothing = { date: "2026-01-06", wins: 0, losses: 0, pending: 0, review: null };
    const yesterday = { date: "2026-01-05", wins: 1, losses: 1 };
    expect((await app.get("/mcp/signals/recap")).body).toMatchObject({
      ...nothing,
      notice: "Today's signals are issued at 08:00 UTC.",
      yesterday,
    });
    vi.setSystemTime(Date.UTC(2026, 0, 6, 8, 30));
    expect((await app.get("/mcp/signals/recap")).body).toMatchObject({
      ...nothing,
      notice: "Today BTC and ETH have got no signal.",
      yesterday,
    });
  });
});
