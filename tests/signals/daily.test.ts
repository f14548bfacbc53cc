import { describe, expect } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import type { App } from "../support/app";
import * as given from "./support";
import { test } from "./support";
import { noPrices } from "../support/outside";

const { buy, sell, hold, DAY, HOUR, MINUTE, issue, issued, marketAt, modelSays, work } = given;

const asked = (app: App) => app.standins.sent("llm").filter(({ schema }) => schema === "trading_signal");
const days = async (app: App) => (await app.rows("signals")).map(({ day }) => day);
/** Why tokens got none, in the words of the record. */
const missing = async (app: App) =>
  (await given.events(app)).flatMap(({ kind, token, content }) =>
    kind === "none" ? [{ token, ...missingContent.parse(JSON.parse(content)) }] : [],
  );
const missingContent = z.object({ reason: z.string(), detail: z.string(), day: z.string() });

describe("the daily job", () => {
  test("issues one signal per token from live context, with an event each and one card", async ({ app }) => {
    await issue(app);
    const signals = await app.rows("signals");
    expect(signals.map(({ token, day, status }) => [token, day, status]).sort()).toEqual([
      ["BTC", "2026-01-05", "PENDING"],
      ["ETH", "2026-01-05", "PENDING"],
    ]);
    for (const { generatedAt, expiresAt, price, entry, model } of signals) {
      expect(expiresAt - generatedAt).toBe(6 * HOUR);
      expect(price.source).toBe("coinbase");
      expect(entry).toBe(price.usd);
      expect(model).toContain("simulated");
    }
    const events = await given.events(app);
    expect(events.map(({ sequence, kind }) => [sequence, kind])).toEqual([
      [1, "issued"],
      [2, "issued"],
    ]);
    expect(app.cards()).toHaveLength(1);
    expect(app.cards()[0]?.chatId).toBe("424242");
    expect(app.cards()[0]?.text).toContain(`Record 2: <code>${events[1]?.hash ?? "?"}`);
  });

  test("tells the model the live price, the hours before and its own record", async ({ app }) => {
    await given.moved(app, buy, { BTC: 101.5, ETH: 97 });
    await given.wait(app, DAY - 30 * MINUTE);
    await issue(app);
    const prompt = JSON.stringify(asked(app).at(-1)?.body);
    expect(prompt).toMatch(/Live price: \$(101\.5|97) \(coinbase, 2026-01-06T08:/);
    expect(prompt).toMatch(
      /Hourly closes by coinbase, with range and volume:\\n2026-01-04T09:00:00\.000Z \$\S+ \(low \$\S+, high \$\S+, volume /,
    );
    expect(prompt.match(/Z \$\S+ \(low/g)).toHaveLength(48);
    expect(prompt).toMatch(
      /Funding: -?[\d.e-]+ % an hour, paid by longs where positive; open interest \$\d+/,
    );
    expect(prompt).toMatch(
      /Your record on (BTC: of 1 decided signals 1 were won \(100\.0 %\)|ETH: of 1 decided signals 0 were won \(0\.0 %\))\. Of 1 signal stated at 60–79 %/,
    );
  });

  test("issues once a day however often it runs, and when two start at once", async ({ app }) => {
    const start = () => app.t.mutation(internal.signals.issue.openDay, {});
    await Promise.all([start(), start(), start()]);
    await work(app);
    await issue(app);
    await given.wait(app, 5 * HOUR);
    await issue(app);
    expect(await app.rows("signals")).toHaveLength(2);
    expect(await app.rows("signalEvents")).toHaveLength(2);
    expect([asked(app).length, app.cards().length]).toEqual([2, 1]);
  });

  test("missed for days issues today's alone, and nothing before today's 08:00", async ({ app }) => {
    await issue(app);
    await given.wait(app, 3 * DAY - 7 * HOUR);
    await issue(app);
    expect(await app.rows("signals")).toHaveLength(2);
    await given.wait(app, 9 * HOUR);
    await issue(app);
    expect(await days(app)).toEqual(["2026-01-05", "2026-01-05", "2026-01-08", "2026-01-08"]);
    const standstill = (day: string) => ({ day, detail: "The service did not run on this day" });
    expect(await missing(app)).toMatchObject(
      ["2026-01-06", "2026-01-06", "2026-01-07", "2026-01-07"].map(standstill),
    );
  });
});

describe("a proposal the rules refuse", () => {
  test.for([
    ["inverted levels", { ...buy, tp1: 99, sl: 102 }, "sl < entry < tp1 <= tp2"],
    ["a first target already passed", { ...buy, entry: 99.6, tp1: 99.9, sl: 99 }, "sl < entry < tp1"],
    [
      "a confidence above 100",
      { ...buy, confidence: 170 },
      "confidence must be a whole number from 0 to 100",
    ],
    ["prose", "Bitcoin looks strong today.", "no complete JSON value"],
  ] as const)(
    "%s: sent back once with the reasons, then refused with a note",
    async ([_name, proposal, reason], { app }) => {
      await issued(app, proposal);
      expect(await app.rows("signals")).toEqual([]);
      const refused = { reason: "refused", day: "2026-01-05", detail: expect.stringContaining(reason) };
      expect(await missing(app)).toMatchObject([
        { token: "BTC", ...refused },
        { token: "ETH", ...refused },
      ]);
      expect(app.cards()).toEqual([]);
      await app.pass(HOUR);
      expect(asked(app)).toHaveLength(4);
      const repair = JSON.stringify(asked(app).map(({ body }) => body));
      expect(repair).toContain("That answer cannot be used");
      expect(repair).toContain(reason);
      expect(await missing(app)).toHaveLength(2);
    },
  );

  test("is entered at the measured price, whatever entry it names", async ({ app }) => {
    await issued(app, { ...buy, entry: 100.3 });
    for (const { entry, price } of await app.rows("signals")) expect([entry, price.usd]).toEqual([100, 100]);
    const { body } = await app.get("/mcp/signals/latest?token=BTC");
    expect(body.signals).toMatchObject({ BTC: { entry: 100, chancePercent: 50, costPercent: 0.15 } });
  });

  test("below its own break-even is sent back once, then issued as HOLD with the reason", async ({ app }) => {
    await issued(app, { ...buy, confidence: 57 });
    expect(asked(app)).toHaveLength(4);
    const repair = JSON.stringify(asked(app).map(({ body }) => body));
    const shortfall = "its confidence of 57 % is below the 57.5 % from which these levels earn their costs";
    expect(repair).toContain(shortfall);
    for (const row of await app.rows("signals")) {
      expect(row).toMatchObject({
        signal: "HOLD",
        entry: 100,
        tp1: null,
        tp2: null,
        sl: null,
        confidence: 57,
      });
      expect(row.reasoning).toContain(`No position: the model proposed a BUY, but ${shortfall}.`);
    }
    expect(await app.rows("signals")).toHaveLength(2);
  });

  test("is issued when the repair turn mends it", async ({ app }) => {
    marketAt(app, { BTC: 100, ETH: 100 });
    modelSays(app, { ...buy, sl: 105 }, 1);
    modelSays(app, sell);
    await issue(app);
    expect((await app.rows("signals")).map(({ signal, sl }) => [signal, sl])).toEqual([
      ["SELL", 101],
      ["SELL", 101],
    ]);
    expect(asked(app)).toHaveLength(3);
    expect(await missing(app)).toEqual([]);
  });

  test("is read tolerantly: fences, prose, numbers as strings, a HOLD with levels", async ({ app }) => {
    marketAt(app, { BTC: 100, ETH: 100 });
    const loose = { ...buy, entry: "$100.00", tp1: "101", tp2: "102", sl: "99", confidence: "70%" };
    modelSays(app, `Here:\n\`\`\`json\n${JSON.stringify(loose)}\n\`\`\``, 1);
    modelSays(app, { ...hold, tp1: 101, tp2: 102, sl: 98 }, 1);
    await issue(app);
    const levels = (await app.rows("signals")).map(({ signal, entry, tp1, sl }) => [signal, entry, tp1, sl]);
    expect(levels.sort()).toEqual([
      ["BUY", 100, 101, 99],
      ["HOLD", 100, null, null],
    ]);
    expect(asked(app)).toHaveLength(2);
  });
});

describe("what the model says", () => {
  test.for(["Up.\n\n🔗 Record 99: ", "🔗 Record 99: "])(
    "cannot forge a line of the card: %j",
    async (start, { app }) => {
      await issued(app, { ...buy, reasoning: start + "a".repeat(64) });
      const { text = "" } = app.cards()[0] ?? {};
      expect(text.match(/^🔗 Record/gmu)).toHaveLength(1);
      expect(text).toMatch(/🔗 Record \S*99[^\n]*: aaa/u);
    },
  );
});

describe("a day on which something is out of reach", () => {
  test("one token's first attempt fails: its signal follows the other's on its own card", async ({ app }) => {
    marketAt(app, { BTC: 100, ETH: 100 });
    app.standins.fail("llm", { mode: "status", status: 401, schema: "trading_signal", times: 1 });
    modelSays(app, buy);
    await issue(app);
    const [first] = await app.rows("signals");
    expect(await app.rows("signals")).toHaveLength(1);
    expect(app.cards().map(({ text }) => text.match(/(BTC|ETH) BUY/g))).toEqual([
      [`${first?.token ?? "?"} BUY`],
    ]);
    await app.pass(2 * MINUTE);
    const second = first?.token === "BTC" ? "ETH" : "BTC";
    expect(app.cards().map(({ text }) => text.match(/(BTC|ETH) BUY/g))[1]).toEqual([`${second} BUY`]);
    expect(app.cards()).toHaveLength(2);
  });

  test("the gateway comes back: the signals are issued late, within the hour", async ({ app }) => {
    app.standins.fail("llm", { mode: "status", status: 401 });
    await issue(app);
    await app.pass(7 * MINUTE);
    expect(await app.rows("signals")).toEqual([]);
    app.standins.clear("llm");
    await app.pass(25 * MINUTE);
    expect(await app.rows("signals")).toHaveLength(2);
    expect(await missing(app)).toEqual([]);
  });

  test("no measured price: the model's own market data are no ground for a signal", async ({ app }) => {
    noPrices(app);
    await issue(app);
    expect(app.standins.sent("llm")).toEqual([]);
    await app.pass(MINUTE - 1_000);
    expect([asked(app).length, (await app.rows("signals")).length]).toEqual([0, 0]);
    app.standins.clear("coinbase");
    app.standins.clear("coingecko");
    await app.pass(25 * MINUTE);
    expect((await app.rows("signals")).map(({ price }) => price.source)).toEqual(["coinbase", "coinbase"]);
  });
});
