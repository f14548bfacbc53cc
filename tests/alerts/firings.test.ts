import fc from "fast-check";
import { describe, expect, vi } from "vitest";
import { toCollectionKey, toHalfHour, encodeFacts } from "../../convex/market/facts";
import { closeApp, START, type App, test, createApp } from "../support/app";
import { ask, HOUR, MINUTE, priced, proposed, setAlert, tick } from "./support";
import { buy, EIGHT, issued } from "../signals/support";
import { insertAlerts } from "../support/rows/signalRows";

const firedAt = async (app: App, alertId: string): Promise<number[]> =>
  (await app.rows("alertFirings"))
    .filter((one) => one.alertId === alertId)
    .map(({ observation }) => observation.observedAt);

describe("an alert", () => {
  test("waits for its user's yes; then each crossing is one card to the user's own chat, at most one an hour", async ({
    app,
  }) => {
    await app.post("/user/messenger", { userId: "alice", messengerChatId: "777" });
    await priced(app, START, 100_000);
    const { alert } = proposed.parse((await ask(app, "BTC above 101k")).body);
    expect(alert).toMatchObject({ state: "proposed", words: "BTC above $101,000" });
    await priced(app, START + 5 * MINUTE, 102_000);
    await tick(app);
    await priced(app, START + 10 * MINUTE, 100_000);
    await tick(app);
    expect(await app.rows("alertFirings")).toEqual([]);
    await app.post("/alerts/confirm", { userId: "alice", alertId: alert.alertId });
    // Who has no chat is told in no other one.
    const silent = await setAlert(app, "BTC above 101,500", "bob");
    const prices = [100_999, 101_000, 99_000, 103_000, 99_000, 102_000, 101_500, 99_000];
    for (const [i, usd] of prices.entries()) {
      await priced(app, START + (15 + i * 20) * MINUTE, usd);
      await tick(app);
      await tick(app);
    }
    // 103,000 comes within the hour; 101,500 was above before.
    expect(await firedAt(app, alert.alertId)).toEqual([START + 35 * MINUTE, START + 115 * MINUTE]);
    expect(await firedAt(app, silent)).toEqual([START + 75 * MINUTE]);
    await app.settle();
    expect(app.cards().map(({ chatId, text }) => [chatId, /\$\d+,\d+/.exec(text)?.[0]])).toEqual([
      ["777", "$101,000"],
      ["777", "$102,000"],
    ]);
    const off = await app.post("/alerts/off", { userId: "alice", alertId: alert.alertId });
    expect(off.body).toMatchObject({ alert: { state: "off", fired: 2 } });
    await priced(app, START + 6 * HOUR, 110_000);
    await tick(app);
    expect(await firedAt(app, alert.alertId)).toHaveLength(2);
  });

  test("fires at the crossings, once each: for any prices, however often the tick runs", async () => {
    const STEP = 20 * MINUTE;
    const source = fc.constantFrom("coinbase", "chainlink", "coingecko");
    const sample = fc.tuple(fc.integer({ min: 90, max: 110 }), source, fc.nat(2));
    const path = fc.array(sample, { minLength: 14, maxLength: 18 });
    const level = fc.tuple(fc.constantFrom("above", "below"), fc.integer({ min: 92, max: 108 }));
    const way = fc.constantFrom("up", "down");
    const move = fc.tuple(way, fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 3 }));
    const phrases = fc.uniqueArray(
      fc.oneof(
        level.map(([side, usd]) => `BTC ${side} ${usd}`),
        move.map(([way, percent, hours]) => `BTC ${way} ${percent}% in ${hours}h`),
      ),
      { minLength: 6, maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(path, phrases, async (samples, wishes) => {
        const app = createApp();
        // No exchange tells the days before: they would be another market's.
        app.standins.fail("coinbase", { mode: "status", status: 503 });
        const ids = [];
        for (const [i, wish] of wishes.entries()) ids.push(await setAlert(app, wish, `user-${i}`));
        for (const [i, [usd, source, ticks]] of samples.entries()) {
          await priced(app, START + (i + 1) * STEP, usd, { source });
          for (let n = 0; n < ticks; n++) await tick(app);
        }
        await tick(app);
        for (const [i, wish] of wishes.entries()) {
          const wanted = crossings(
            wish,
            samples.map(([usd], n) => [n * STEP, usd]),
          );
          const fired = await firedAt(app, ids[i] ?? "");
          expect([wish, fired]).toEqual([wish, wanted.map((at) => START + STEP + at)]);
        }
        closeApp();
      }),
      { numRuns: 3 },
    );
  });

  test("fires for everybody once, also where a price crosses very many levels", async ({ app }) => {
    await priced(app, START, 100);
    await setAlert(app, "BTC above 110");
    await app.t.run(async ({ db }) => {
      const row = await db.query("alerts").first();
      if (row === null) throw new Error("An alert was set");
      const { _id, _creationTime, ...alert } = row;
      for (let i = 1; i < 61; i++)
        await db.insert("alerts", { ...alert, userId: `user-${i}`, level: i === 60 ? 200 : 110 + i / 100 });
    });
    await priced(app, START + 5 * MINUTE, 99);
    await priced(app, START + 10 * MINUTE, 120);
    await tick(app);
    await app.settle();
    const fired = (await app.rows("alerts")).map((row) => row.fired);
    expect(fired).toEqual([...Array.from({ length: 60 }, () => 1), 0]);
    expect(await app.rows("alertFirings")).toHaveLength(60);
  });

  test("on movements fires by measured ones of its coin and way alone, one an hour", async ({ app }) => {
    const alertId = await setAlert(app, "whale inflow of USDC over 10M");
    let block = 0;
    const moved = async (at: number, amount: number, fields: object = {}) => {
      vi.setSystemTime(at);
      const end = { address: `0x${"1".repeat(40)}` };
      const price = { usd: 1, source: "chainlink", observedAt: at };
      const known = { from: end, to: end, quantity: "1", position: 0, blockHash: "0x01", price };
      const movement = { ...known, blockNumber: ++block };
      const found = { token: "USDC", alertType: "cex_inflow" as const, amount, movement, verified: true };
      await insertAlerts(app, [{ ...found, txHash: `0x${block}`, occurredAt: at - 5, ...fields }]);
      await tick(app);
    };
    const at = (minutes: number) => START + minutes * MINUTE;
    await moved(at(1), 9_999_999);
    await moved(at(2), 20_000_000, { alertType: "cex_outflow" });
    await moved(at(3), 20_000_000, { token: "USDT" });
    await moved(at(4), 20_000_000, { movement: undefined });
    expect(await firedAt(app, alertId)).toEqual([]);
    await moved(at(5), 10_000_000);
    await moved(at(30), 30_000_000);
    await moved(at(70), 11_000_000);
    expect(await firedAt(app, alertId)).toEqual([at(5) - 5, at(70) - 5]);
  });

  test("on funding fires by all rates, collected every ten minutes by one request", async ({ app }) => {
    await setAlert(app, "BTC above 1000");
    await tick(app);
    expect(app.standins.sent("hyperliquid")).toEqual([]);
    const alertId = await setAlert(app, "ETH funding above 3%");
    await setAlert(app, "BTC funding below -3%");
    for (const asked of [0, 1]) {
      await app.advance(5 * MINUTE);
      await tick(app);
      await app.settle();
      expect(app.standins.sent("hyperliquid")).toHaveLength(asked);
    }
    expect(await firedAt(app, alertId)).toEqual([]);
    // A collection of somebody else's, an hour later, is young enough.
    const at = Date.now() + HOUR;
    vi.setSystemTime(at);
    const key = toCollectionKey({ collector: "perpetuals", subject: "" });
    const by = { observedAt: at, source: "Hyperliquid", url: "https://app.hyperliquid.xyz/trade/ETH" };
    const facts = encodeFacts([{ ...by, subject: "ETH", kind: "funding", value: 3.5 }]);
    await app.t.run(async ({ db }) => {
      await db.insert("facts", { key, slot: toHalfHour(at), collectedAt: at, facts });
      for (const one of await db.query("answers").collect())
        if (one.key === `facts:${key}`) await db.patch("answers", one._id, { doneAt: at });
    });
    await tick(app);
    await app.settle();
    expect(await firedAt(app, alertId)).toEqual([at]);
    expect(app.standins.sent("hyperliquid")).toHaveLength(1);
  });

  test("for a digest comes once a day at its time, whatever the clocks do", async () => {
    // Berlin's clocks go forward on the second day.
    const at = (day: number, hour: number, minute: number) => Date.UTC(2026, 2, day, hour, minute);
    const app = createApp({ now: at(28, 5, 0) });
    await app.post("/user/messenger", { userId: "alice", messengerChatId: "777" });
    const alertId = await setAlert(app, "digest at 07:30 Europe/Berlin");
    const days = [at(28, 6, 30), at(29, 5, 30)];
    for (const due of days)
      for (const when of [due - MINUTE, due, due + MINUTE, due + HOUR, due + 12 * HOUR]) {
        await priced(app, when, 97_250);
        await tick(app);
      }
    expect(await firedAt(app, alertId)).toEqual(days);
    await app.settle();
    expect(app.cards()).toHaveLength(2);
    expect(app.cards()[0]?.text).toMatch(
      /Digest, 07:30 Europe\/Berlin[^]*BTC \$97,250[^]*None yet: they come at 08:00/,
    );
  });

  test("for a digest waits for the signals that are due with it, and tells the latest with their age", async () => {
    const app = createApp({ now: EIGHT - 10 * MINUTE });
    await app.post("/user/messenger", { userId: "alice", messengerChatId: "777" });
    const alertId = await setAlert(app, "digest at 09:00 Europe/Berlin");
    const tickAt = async (at: number) => {
      await app.advance(at - Date.now());
      await tick(app);
      await app.settle(1);
      return (await firedAt(app, alertId)).length;
    };
    expect(await tickAt(EIGHT)).toBe(0);
    await issued(app, buy);
    expect(await tickAt(EIGHT + 2 * MINUTE)).toBe(1);
    // A day without signals.
    expect(await tickAt(EIGHT + 24 * HOUR + MINUTE)).toBe(1);
    expect(await tickAt(EIGHT + 24 * HOUR + 10 * MINUTE)).toBe(2);
    const digests = app.cards().filter(({ text }) => text.includes("Digest"));
    expect(digests.map(({ text }) => /BTC BUY<\/b> at \$100 · ⏳ open · (.*)/.exec(text)?.[1])).toEqual([
      "120 seconds ago",
      "25 hours ago",
    ]);
  });
});

/** When a wish's condition begins to hold, but for the hour behind the last time; a plain reading. */
function crossings(wish: string, path: readonly (readonly [number, number])[]): number[] {
  const [, direction = "", figure = "", , window] = /^BTC (\w+) (\d+)(% in (\d)h)?$/.exec(wish) ?? [];
  const known = path.flatMap(([at, usd]) => {
    if (window === undefined) return [[at, usd] as const];
    const from = at - Number(window) * HOUR;
    const before = path.findLast(([then]) => then <= from && then >= from - HOUR / 2)?.[1];
    return before === undefined ? [] : [[at, (usd / before - 1) * 100] as const];
  });
  const holds = (value: number) => {
    if (direction === "above" || direction === "up") return value >= Number(figure);
    return value <= (direction === "below" ? Number(figure) : -Number(figure));
  };
  return known.reduce<number[]>((fired, [at, value], i) => {
    const before = known[i - 1];
    const crosses = before !== undefined && !holds(before[1]) && holds(value);
    return crosses && at >= (fired.at(-1) ?? -Infinity) + HOUR ? [...fired, at] : fired;
  }, []);
}
