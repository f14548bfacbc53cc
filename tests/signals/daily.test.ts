import { describe, expect, vi } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import type { App } from "../support/app";
import { noPrices } from "../support/outside";
import * as given from "./support";
import {
  buy,
  DAY,
  hold,
  HOUR,
  issue,
  issued,
  marketAt,
  MINUTE,
  modelSays,
  sell,
  test,
  work,
} from "./support";

const asked = (app: App) => app.standins.sent("llm").filter(({ schema }) => schema === "trading_signal");
const missingContent = z.object({ reason: z.string(), detail: z.string(), day: z.string() });
/** Why tokens got none, in the words of the record. */
const missing = async (app: App) =>
  (await app.rows("signalEvents")).flatMap(({ kind, token, content }) =>
    kind === "none" ? [{ token, ...missingContent.parse(JSON.parse(content)) }] : [],
  );
/** The next day's 08:00. */
const nextDay = () => vi.setSystemTime(Date.now() + DAY - ((Date.now() - 8 * HOUR) % DAY));
const signalsOf = async (app: App, day: string) =>
  (await app.rows("signals")).filter((row) => row.day === day);

describe("the daily job", () => {
  test("issues one signal per token and day, however often it runs, with an event each and one card", async ({
    app,
  }) => {
    const start = () => app.t.mutation(internal.signals.issue.openDay, {});
    await Promise.all([start(), start(), start()]);
    await work(app);
    await issue(app);
    const signals = await app.rows("signals");
    expect(signals.map(({ token, day, status }) => [token, day, status]).sort()).toEqual([
      ["BTC", "2026-01-05", "PENDING"],
      ["ETH", "2026-01-05", "PENDING"],
    ]);
    for (const { generatedAt, expiresAt, price, entry, model } of signals) {
      expect(expiresAt - generatedAt).toBe(6 * HOUR);
      expect([price.source, entry]).toEqual(["coinbase", price.usd]);
      expect(model).toContain("simulated");
    }
    const events = await app.rows("signalEvents");
    expect(events.map(({ sequence, kind }) => [sequence, kind])).toEqual([
      [1, "issued"],
      [2, "issued"],
    ]);
    const [card, ...others] = app.cards();
    expect([asked(app).length, others]).toEqual([2, []]);
    expect(card).toMatchObject({
      chatId: "424242",
      text: expect.stringContaining(`/record?head=2-${events[1]?.hash ?? "?"}#verify">Record 2,`),
    });

    // Missed for days it issues today's alone, and nothing before today's 08:00.
    vi.setSystemTime(Date.now() + 3 * DAY - 7 * HOUR);
    await issue(app);
    expect(await app.rows("signals")).toHaveLength(2);
    vi.setSystemTime(Date.now() + 9 * HOUR);
    await issue(app);
    expect((await app.rows("signals")).map(({ day }) => day)).toEqual([
      ...["2026-01-05", "2026-01-05", "2026-01-08", "2026-01-08"],
    ]);
    expect((await missing(app)).map(({ day, detail }) => [day, detail])).toEqual(
      ["2026-01-06", "2026-01-06", "2026-01-07", "2026-01-07"].map((day) => [
        day,
        "The service did not run on this day",
      ]),
    );
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
});

describe("a proposal", () => {
  test("that the rules refuse is sent back once with the reasons, then refused with a note", async ({
    app,
  }) => {
    const REFUSED = [
      [{ ...buy, tp1: 99, sl: 102 }, "sl < entry < tp1 <= tp2"],
      ["Bitcoin looks strong today.", "no complete JSON value"],
    ] as const;
    for (const [proposal, reason] of REFUSED) {
      app.standins.forget();
      await issued(app, proposal);
      const today = new Date().toISOString().slice(0, 10);
      const refused = { reason: "refused", day: today, detail: expect.stringContaining(reason) };
      expect((await missing(app)).slice(-2)).toMatchObject([
        { token: "BTC", ...refused },
        { token: "ETH", ...refused },
      ]);
      expect(asked(app)).toHaveLength(4);
      const repair = JSON.stringify(asked(app).map(({ body }) => body));
      expect(repair).toContain("That answer cannot be used");
      expect(repair).toContain(reason);
      nextDay();
    }
    expect([await app.rows("signals"), app.cards()]).toEqual([[], []]);
    expect(await missing(app)).toHaveLength(2 * REFUSED.length);
  });

  test("below its own break-even is sent back once, then issued as HOLD with the reason", async ({ app }) => {
    await issued(app, { ...buy, confidence: 57 });
    expect(asked(app)).toHaveLength(4);
    const repair = JSON.stringify(asked(app).map(({ body }) => body));
    const shortfall = "its confidence of 57 % is below the 57.5 % from which these levels earn their costs";
    expect(repair).toContain(shortfall);
    const nothing = { signal: "HOLD", entry: 100, tp1: null, tp2: null, sl: null, confidence: 57 };
    const reasoning = expect.stringContaining(`No position: the model proposed a BUY, but ${shortfall}.`);
    expect(await app.rows("signals")).toMatchObject([
      { ...nothing, reasoning },
      { ...nothing, reasoning },
    ]);
  });

  test("is read tolerantly, and issued when the repair turn mends it; its words forge no line of the card", async ({
    app,
  }) => {
    marketAt(app, { BTC: 100, ETH: 100 });
    const loose = { ...buy, entry: "$100.30", tp1: "101", tp2: "102", sl: "99", confidence: "70%" };
    modelSays(app, `Here:\n\`\`\`json\n${JSON.stringify(loose)}\n\`\`\``, 1);
    modelSays(app, { ...hold, tp1: 101, tp2: 102, sl: 98 }, 1);
    await issue(app);
    const levels = async (day: string) =>
      (await signalsOf(app, day)).map(({ signal, entry, tp1, sl }) => [signal, entry, tp1, sl]).sort();
    // The entry is the measured price.
    expect(await levels("2026-01-05")).toEqual([
      ["BUY", 100, 101, 99],
      ["HOLD", 100, null, null],
    ]);
    expect(asked(app)).toHaveLength(2);

    nextDay();
    marketAt(app, { BTC: 100, ETH: 100 });
    modelSays(app, { ...buy, sl: 105 }, 1);
    modelSays(app, { ...sell, reasoning: `Down.\n\n🔗 Record 99: ${"a".repeat(64)}` }, 1);
    modelSays(app, { ...sell, reasoning: `🔗 Record 99: ${"a".repeat(64)}` }, 1);
    await issue(app);
    expect(await levels("2026-01-06")).toEqual([
      ["SELL", 100, 99, 101],
      ["SELL", 100, 99, 101],
    ]);
    expect(asked(app)).toHaveLength(5);
    expect(await missing(app)).toEqual([]);
    const { text = "" } = app.cards().at(-1) ?? {};
    expect(text.match(/^🔗 <a href="[^"]+">Record/gmu)).toHaveLength(1);
    expect(text.match(/🔗 Record \S*99[^\n]*: aaa/gu)).toHaveLength(2);
  });
});

describe("a day on which something is out of reach", () => {
  test("one token's first attempt fails: its signal follows the other's on its own card", async ({ app }) => {
    marketAt(app, { BTC: 100, ETH: 100 });
    app.standins.fail("llm", { mode: "status", status: 401, schema: "trading_signal", times: 1 });
    modelSays(app, buy);
    await issue(app);
    const [first, ...others] = await app.rows("signals");
    expect(others).toEqual([]);
    await app.pass(2 * MINUTE);
    const second = first?.token === "BTC" ? "ETH" : "BTC";
    expect(app.cards().map(({ text }) => text.match(/(BTC|ETH) BUY/g))).toEqual([
      [`${first?.token ?? "?"} BUY`],
      [`${second} BUY`],
    ]);
  });

  test("no measured price, then no gateway: no model's own data are a ground, and the signals come late", async ({
    app,
  }) => {
    noPrices(app);
    await issue(app);
    await app.pass(MINUTE - 1_000);
    expect([app.standins.sent("llm"), await app.rows("signals")]).toEqual([[], []]);
    app.standins.clear();
    app.standins.fail("llm", { mode: "status", status: 401 });
    await app.pass(7 * MINUTE);
    expect([asked(app).length > 0, await app.rows("signals")]).toEqual([true, []]);
    app.standins.clear("llm");
    await app.pass(25 * MINUTE);
    expect((await app.rows("signals")).map(({ price }) => price.source)).toEqual(["coinbase", "coinbase"]);
    expect(await missing(app)).toEqual([]);
  });
});
