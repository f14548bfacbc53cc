import { describe, expect, vi } from "vitest";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { buildReviewIndex, resolveReview } from "../../convex/signals/prompts";
import { computeTotals } from "../../convex/signals/record";
import type { App } from "../support/app";
import { buy, DAY, decided, EIGHT, HOUR, issued, MINUTE, test, track, wait } from "./support";

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

test("what is read of signals says so while there is none and no gateway's key, and is served once there is", async ({
  app,
}) => {
  const paths = [
    "/mcp/signals/latest",
    "/mcp/signals/latest?token=BTC&userId=alice",
    "/mcp/signals/history",
    "/mcp/signals/recap",
    "/signals/latest",
    "/signals/history",
  ];
  const key = process.env.LLM_GATEWAY_API_KEY;
  vi.stubEnv("LLM_GATEWAY_API_KEY", "");
  for (const path of paths) {
    const { status, body } = await app.get(path);
    expect([path, status, body]).toEqual([path, 500, { error: "LLM_GATEWAY_API_KEY is not configured" }]);
  }
  vi.stubEnv("LLM_GATEWAY_API_KEY", key);
  await issued(app, buy);
  vi.stubEnv("LLM_GATEWAY_API_KEY", "");
  for (const path of paths) expect([path, (await app.get(path)).status]).toEqual([path, 200]);
});

test("a signal shows from its issue to its outcome, in the day's recap and in the history", async ({
  app,
}) => {
  const latest = async (query = "") => (await app.get(`/mcp/signals/latest${query}`)).body;
  expect(await latest()).toEqual({
    notice:
      "No BTC signal has been issued yet. No ETH signal has been issued yet. The next is due at 2026-01-06 08:00 UTC.",
    signals: { BTC: null, ETH: null },
  });
  await issued(app, buy);
  const both = { signals: { BTC: SIGNAL, ETH: { ...SIGNAL, token: "ETH" } } };
  expect(await latest()).toEqual(both);
  expect((await app.post("/mcp/signals/latest", { token: "" })).body).toEqual(both);
  expect((await app.get("/mcp/signals/latest?token=BTC,ETH")).body).toEqual({
    error: "token must be BTC or ETH; leave it out for both",
  });

  await decided(app);
  expect((await latest("?token=BTC")).notice).toBe(
    "The BTC signal of 2026-01-05 08:00 UTC has ended (WIN): it is no advice for now. The next is due at 2026-01-06 08:00 UTC.",
  );
  const won = { status: "WIN", closedAt: expect.any(String), exitPrice: 101, pnlPercent: 1 };
  const worth = { afterCostsPercent: 0.85, excessPoints: 50, gapMinutes: 0 };
  expect((await latest("?token=BTC")).signals).toEqual({ BTC: { ...SIGNAL, ...won, ...worth } });
  expect((await app.get("/signals/export.json")).body).toMatchObject({
    count: 2,
    signals: [
      { id: "BTC-2026-01-05", status: "WIN" },
      { id: "ETH-2026-01-05", status: "LOSS" },
    ],
  });
  const sheet = await app.t.fetch("/signals/export.csv");
  expect(sheet.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  const [names, ...lines] = (await sheet.text())
    .trimEnd()
    .split("\r\n")
    .map((line) => line.split(","));
  const told = lines.map((line) => [line.length, line[names?.indexOf("exitPrice") ?? -1]]);
  expect(told).toEqual(["101", "99"].map((price) => [names?.length, price]));

  const { body } = await app.get("/mcp/signals/recap");
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
    byToken: {
      BTC: expect.objectContaining({ wins: 1, winrate: 100, totalPnlPercent: 1 }),
      ETH: expect.objectContaining({ losses: 1, winrate: 0, totalPnlPercent: -1 }),
    },
    notice: null,
    yesterday: expect.objectContaining({ date: "2026-01-04", wins: 0, trades: 0 }),
    review: expect.stringMatching(/won 1, .*lost 1, .*expired 0/),
    generatedAt: expect.any(String),
  });
  expect((await app.post("/mcp/signals/recap")).body.review).toBe(body.review);
  // It is of today: what has not been issued yet is said, and yesterday's is called so.
  const nothing = { date: "2026-01-06", wins: 0, losses: 0, pending: 0, review: null };
  const yesterday = { date: "2026-01-05", wins: 1, losses: 1 };
  for (const [hour, notice] of [
    [3, "Today's signals are issued at 08:00 UTC."],
    [8.5, "Today BTC and ETH have got no signal."],
  ] as const) {
    await wait(app, EIGHT - 8 * HOUR + DAY + hour * HOUR - Date.now());
    expect((await app.get("/mcp/signals/recap")).body).toMatchObject({ ...nothing, notice, yesterday });
  }
  expect(reviews(app)).toHaveLength(1);

  await decided(app);
  expect((await app.get("/mcp/signals/history")).body).toMatchObject({
    count: 4,
    stats: { n: 4, wins: 2, losses: 2, winrate: 50, trades: 4, beforeCosts: { totalPnlPercent: 0 } },
  });
  expect((await app.post("/mcp/signals/history", { token: "BTC", limit: "1" })).body).toMatchObject({
    count: 1,
    stats: { wins: 2, losses: 0, afterCosts: { totalPnlPercent: 1.7 } },
    signals: [{ id: "BTC-2026-01-06" }],
  });
});

test("a card with userId goes to that user's messenger; the answer says whether it arrived", async ({
  app,
}) => {
  await app.post("/user/messenger", { userId: ALICE, messengerChatId: "11" });
  const ask = async () => (await app.post("/mcp/signals/latest", { userId: ALICE })).body.messengerSent;
  expect(await ask()).toBe(false);
  await issued(app, buy);
  const { body } = await app.get(`/mcp/signals/latest?userId=${ALICE}&token=ETH`);
  expect(body).toMatchObject({ signals: { ETH: { token: "ETH" } }, messengerSent: true });
  expect(app.cards().at(-1)).toMatchObject({ chatId: "11", text: expect.stringContaining("ETH BUY") });
  expect(app.cards().at(-1)?.text).not.toContain("BTC");
  app.standins.fail("messenger", { mode: "status", status: 403 });
  expect(await ask()).toBe(false);
});

describe("a day's review", () => {
  test("is not waited for long, and is written anew when an outcome changes, once for many callers", async ({
    app,
  }) => {
    await issued(app, buy);
    deadlines.caller = 100;
    app.standins.fail("llm", { mode: "slow", ms: 400 });
    expect((await app.get("/mcp/signals/recap")).body).toMatchObject({ pending: 2, review: null });
    app.standins.clear();
    deadlines.caller = 10_000;
    await wait(app, 7 * HOUR);
    await track(app);
    const answers = await Promise.all(Array.from({ length: 5 }, () => app.get("/mcp/signals/recap")));
    expect(new Set(answers.map(({ body }) => body.review)).size).toBe(1);
    expect(answers[0]?.body).toMatchObject({ expired: 2, pending: 0, winrate: null, totalPnlPercent: 0 });
    expect(reviews(app)).toHaveLength(2);
  });

  test("is null while the gateway is down or talks; then it goes back once for figures of its own", async ({
    app,
  }) => {
    await decided(app);
    for (const fault of [
      { mode: "status", status: 401 },
      { mode: "reply", content: "A fine day." },
    ] as const) {
      app.standins.fail("llm", fault);
      const { status, body } = await app.get("/mcp/signals/recap");
      expect([fault, status, body.wins, body.losses, body.review]).toEqual([fault, 200, 1, 1, null]);
      app.standins.clear();
      await wait(app, MINUTE);
    }
    app.standins.forget();
    const content = JSON.stringify({ review: "The desk won {f1}. Readers made $500,000." });
    app.standins.fail("llm", { mode: "reply", content, schema: "signal_review" });
    expect((await app.get("/mcp/signals/recap")).body.review).toBe("The desk won 1.");
    expect(reviews(app)).toHaveLength(2);
    expect(JSON.stringify(reviews(app)[1]?.body)).toContain("500,000");
  });

  const standing = { ...computeTotals([]), wins: 1, losses: 1, trades: 2, totalAfterCostsPercent: -0.3 };
  test.for([
    [
      "The desk won {f1} and lost {f2}, a result of {f7} after costs.",
      "The desk won 1 and lost 1, a result of −0.30 % after costs.",
    ],
    ["9 of 10 trades beat chance. The desk won {f1} and lost {f2}.", "The desk won 1 and lost 1."],
    ["Readers made $500,000.", "Wins 1, losses 1, expired 0."],
    ["The desk won {f1}. Profit is certain.", "The desk won 1."],
    ["The desk won {f1}. This method beats the market, and you cannot lose with it.", "The desk won 1."],
    ["The desk won {f1}. Nobody has ever lost money here. 稳赚不赔。 Buy now!", "The desk won 1."],
    ["The desk lost {f2}. The desk won {f1}, and profit is guaranteed.", "The desk lost 1."],
    ["The desk lost {f2}. With {f1} won, every trade of tomorrow will win.", "The desk lost 1."],
  ] as const)("has the record's results, and no figure or promise beside them: %s", ([words, left]) => {
    const shown = resolveReview(words, buildReviewIndex([], standing, EIGHT), standing);
    expect(shown.replace(/\s/g, " ")).toBe(left);
  });
});

test("a signal's reasoning has what was measured as measured, and the rest marked", async ({ app }) => {
  const reasoning =
    "The price of $100 holds. Liquidations of $340 million ended last night. It aims for $101.";
  await issued(app, { ...buy, reasoning });
  const text = JSON.stringify((await app.get("/mcp/signals/latest?token=BTC")).body);
  expect(text).toContain("$340 million [model]");
  expect(text).not.toMatch(/\$100[^"]{0,12} \[model\]/);
});

/** OWASP, "CSV Injection". */
test("a cell of the sheet that begins like a formula is text", async ({ app }) => {
  await issued(app, buy);
  const [row] = await app.rows("signals");
  if (row === undefined) throw new Error("There is no signal");
  for (const mark of ["=", "+", "-", "@"]) {
    await app.t.run((ctx) => ctx.db.patch("signals", row._id, { reasoning: `${mark}HYPERLINK(1)` }));
    const text = await (await app.t.fetch("/signals/export.csv")).text();
    expect(text).toContain(`,'${mark}HYPERLINK(1),`);
    expect(text).not.toContain(`,${mark}HYPERLINK(1)`);
  }
});
