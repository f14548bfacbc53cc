import { describe, expect } from "vitest";
import * as z from "zod";
import { createApp } from "../support/app";
import { insertSignals } from "../support/rows/signalRows";
import {
  buy,
  DAY,
  decided,
  hold,
  issued,
  marketAt,
  MINUTE,
  sell,
  track,
  wait,
  test,
} from "../signals/support";
import { agentSays, alert, watchNow } from "../whales/support";

/** What earlier clients read: they take every number for one, and would break on `null`, text or nothing. */

const SIGNAL = {
  signalType: "BUY",
  entryPrice: 100,
  target1: 101,
  target2: 102,
  stopLoss: 99,
  confidence: 70,
  status: "PENDING",
  reasoning: "Up.",
};

test("GET /signals/latest is a bare map of both tokens, or of the one asked for; a HOLD's levels are its entry", async ({
  app,
}) => {
  expect((await app.get("/signals/latest")).body).toEqual({ BTC: null, ETH: null });
  expect((await app.get("/signals/latest?token=ETH")).body).toEqual({ ETH: null });
  await issued(app, buy);
  expect((await app.get("/signals/latest")).body).toEqual({ BTC: SIGNAL, ETH: SIGNAL });
  const { status, body } = await app.get("/signals/latest?token=DOGE");
  expect([status, body]).toEqual([400, { error: "token must be BTC or ETH; leave it out for both" }]);
  await wait(app, DAY);
  await issued(app, hold);
  const levels = { entryPrice: 100, target1: 100, target2: 100, stopLoss: 100 };
  const held = { ...SIGNAL, ...levels, signalType: "HOLD", confidence: 55, reasoning: "Flat." };
  expect((await app.get("/signals/latest?token=btc")).body).toEqual({ BTC: held });
});

describe("GET /signals/history and /signals/winrate", () => {
  const NOTHING = { total: 0, wins: 0, losses: 0, winrate: 0, avgPnl: 0, bestPnl: 0, worstPnl: 0 };

  test("tell nothing in numbers before there is anything", async ({ app }) => {
    expect((await app.get("/signals/history?token=BTC&days=7")).body).toEqual({ signals: [] });
    expect((await app.get("/signals/winrate?token=BTC&days=7")).body).toEqual(NOTHING);
    await issued(app, hold);
    // A HOLD is in the history, and is no trade.
    await wait(app, 7 * 60 * MINUTE);
    await track(app);
    const held = { token: "BTC", signalType: "HOLD", entryPrice: 100, isWin: null };
    expect((await app.get("/signals/history?token=BTC")).body).toEqual({
      signals: [{ ...held, status: "EXPIRED", pnlPercent: null }],
    });
    expect((await app.get("/signals/winrate")).body).toEqual(NOTHING);
  });

  test("tell wins, losses, what is open and what expired", async ({ app }) => {
    await decided(app);
    await wait(app, DAY - 30 * MINUTE);
    // Sold at 100, closed by age at 99.5: it expired with a gain, and is neither won nor lost.
    await issued(app, sell);
    await wait(app, 5 * 60 * MINUTE);
    marketAt(app, { BTC: 99.5, ETH: 99.5 });
    await wait(app, 60 * MINUTE + MINUTE);
    await track(app);
    await wait(app, DAY - 6 * 60 * MINUTE - MINUTE);
    await issued(app, buy);
    const past = (fields: object) => ({ token: "BTC", signalType: "BUY", entryPrice: 100, ...fields });
    expect((await app.get("/signals/history?token=BTC&days=7")).body.signals).toEqual([
      past({ isWin: null, status: "PENDING", pnlPercent: null }),
      past({ signalType: "SELL", isWin: null, status: "EXPIRED", pnlPercent: 0.5 }),
      past({ isWin: true, status: "WIN", pnlPercent: 1 }),
    ]);
    const btc = { total: 2, wins: 1, losses: 0, winrate: 100, avgPnl: 0.75, bestPnl: 1, worstPnl: 0.5 };
    expect((await app.get("/signals/winrate?token=BTC&days=7")).body).toEqual(btc);
    const both = { total: 4, wins: 1, losses: 1, winrate: 50, avgPnl: 0.25, bestPnl: 1, worstPnl: -1 };
    expect((await app.get("/signals/winrate?days=7")).body).toEqual(both);
    const ofToken = (body: Record<string, unknown>) =>
      z
        .array(z.object({ token: z.string() }))
        .parse(body.signals)
        .map(({ token }) => token);
    expect(ofToken((await app.get("/signals/history")).body)).toEqual(
      expect.arrayContaining(["BTC", "ETH", "BTC", "ETH", "BTC", "ETH"]),
    );
    // The window begins that long ago, to the minute: what is a minute older is out.
    await app.advance(60_000);
    expect(ofToken((await app.get("/signals/history?token=BTC&days=2")).body)).toHaveLength(2);
    expect((await app.get("/signals/winrate?token=BTC&days=2")).body).toMatchObject({ total: 1, wins: 0 });
  });

  test("refuse what is no number of days", async ({ app }) => {
    for (const days of ["0", "366", "-1", "1.5", "week"])
      for (const path of ["/signals/history", "/signals/winrate"]) {
        const { status, body } = await app.get(`${path}?days=${days}`);
        const error = "days must be a whole number from 1 to 365";
        expect([days, status, body]).toEqual([days, 400, { error }]);
      }
  });

  test("reads a year of both tokens at once, and no more", async ({ app }) => {
    await insertSignals(app, 800);
    await app.advance(60_000);
    const year = { total: 728, wins: 485, losses: 243 };
    expect((await app.get("/signals/winrate?days=365")).body).toMatchObject(year);
    expect((await app.get("/signals/winrate?days=365&token=ETH")).body).toMatchObject({ total: 364 });
  });
});

test("GET /whales/latest shows movements with what they may mean, the largest first and as highly significant", async () => {
  const app = createApp();
  expect((await app.get("/whales/latest?hours=24")).body).toEqual({ count: 0, alerts: [] });
  expect((await app.get("/whales/latest?hours=0")).status).toBe(400);
  const of = (description: string, amount: number, more = {}) => alert({ description, amount, ...more });
  const outflow = { token: "BTC", alertType: "cex_outflow", direction: "bullish" };
  agentSays(app, [of("Second.", 9_999_999), of("First.", 10_000_000, outflow), of("Fourth.", 3_000_000)]);
  await watchNow(app);
  await app.pass(60 * MINUTE, { cronsRun: false });
  // Clients show the first five alone, and a newer one may be smaller.
  agentSays(app, [of("Third.", 5_000_000)]);
  await watchNow(app);
  const shown = (token: string, direction: string, significance: string, words: string) => {
    const implication: unknown = expect.stringContaining(words);
    return (description: string) => ({ token, direction, significance, implication, description });
  };
  const inflow = shown("ETH", "bearish", "MEDIUM", "selling pressure");
  expect((await app.get("/whales/latest?hours=24")).body).toEqual({
    count: 4,
    alerts: [
      shown("BTC", "bullish", "HIGH", "less is for sale")("First."),
      ...["Second.", "Third.", "Fourth."].map(inflow),
    ],
  });
});

describe("GET /recap/today", () => {
  const zero = { Wins: 0, Losses: 0, Winrate: 0, BestPnl: 0, WorstPnl: 0 };
  const prefixed = (prefix: string, fields: object) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [prefix + name, value]));

  test("tells a day without signals in numbers", async ({ app }) => {
    expect((await app.get("/recap/today")).body).toEqual({
      date: "2026-01-05",
      ...prefixed("btc", zero),
      ...prefixed("eth", zero),
      totalWinrate: 0,
      avgPnl: 0,
      aiReview: "No signal was issued today yet.",
    });
  });

  // They put a plus before the best result, and a loss is none.
  test("tells the day's results per token and together, with the review; without it while the model is away", async ({
    app,
  }) => {
    await decided(app);
    app.standins.fail("llm", { mode: "status", status: 401 });
    const { status, body } = await app.get("/recap/today");
    expect([status, body.btcWins, body.aiReview]).toEqual([200, 1, "No review is available yet."]);
    app.standins.clear();
    await wait(app, MINUTE);
    expect((await app.get("/recap/today")).body).toEqual({
      date: "2026-01-05",
      ...prefixed("btc", { Wins: 1, Losses: 0, Winrate: 100, BestPnl: 1, WorstPnl: 1 }),
      ...prefixed("eth", { Wins: 0, Losses: 1, Winrate: 0, BestPnl: 0, WorstPnl: -1 }),
      totalWinrate: 50,
      avgPnl: 0,
      aiReview: expect.stringMatching(/1 won|won 1/),
    });
  });
});
