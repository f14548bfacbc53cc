import { afterEach, describe, expect, test, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { parseAlert } from "../../convex/bot/parsing";
import { closeApp, type App } from "../support/app";
import { buy, EIGHT, issued } from "../signals/support";
import { agentSays, alert, watchNow } from "../whales/support";
import { ALICE, arrived, createBotApp, GROUP, linkedUser, say } from "./support";

/** What the bot tells of signals, whales and prices. */

afterEach(closeApp);

const MINUTE = 60_000;
/** A notice, and the answer behind it. */
const LONG = { answers: 2 };

describe("/signals", () => {
  test("shows the latest of both tokens or of one, to anybody, in groups too", async () => {
    const app = createBotApp({ now: EIGHT });
    expect(await say(app, "/signals")).toEqual([expect.stringContaining("No signal has been issued yet")]);
    await issued(app, buy);
    const [both = ""] = await say(app, "/signals");
    expect(both).toContain("<b>🟢 BTC BUY</b> · confidence 70%");
    expect(both).toContain("ETH BUY");
    expect(both).toContain('“Up.” <a href="https://some.convex.site/signals/ETH-2026-01-05">Chart</a>');
    expect((await say(app, "/record"))[0]).toMatch(/Record 2: [0-9a-f]{64}/);
    const [one = ""] = await say(app, "/signals $eth", { from: 43 });
    expect([one.includes("ETH BUY"), one.includes("BTC BUY")]).toEqual([true, false]);
    const inGroup = await say(app, "/signals@simulated_123456_bot BTC", { chat: GROUP });
    expect(inGroup).toEqual([expect.stringContaining("BTC BUY")]);
  });

  test.each(["DOGE", "BTC ETH", "<b>"])("names the tokens it has when asked for %s", async (token) => {
    const app = createBotApp();
    expect(await say(app, `/signals ${token}`)).toEqual([
      "There are signals of BTC and ETH, such as /signals BTC.",
    ]);
  });
});

describe("/whales", () => {
  test("shows the alerts of the last six hours, or of as many as it is asked for", async () => {
    const app = createBotApp();
    agentSays(app, [alert({ description: "A large <deposit>." })]);
    await watchNow(app);
    const [card = ""] = await say(app, "/whales", { from: 43 });
    expect(card).toContain("Last 6 hours");
    expect(card).toContain("<b>ETH $4.2M</b> · A large &lt;deposit&gt;.");
    await app.pass(120 * MINUTE, { cronsRun: false });
    expect((await say(app, "/whales 1"))[0]).toMatch(/Last hour[^]*Exchange inflow<\/b>\nNone seen/);
    expect((await say(app, "/whales 3"))[0]).toContain("ETH $4.2M");
  });

  test("says that it has not looked yet, before the first look", async () => {
    const app = createBotApp();
    expect(await say(app, "/whales")).toEqual([
      "I have not looked for whales yet: I do so every hour, on the hour.",
    ]);
    agentSays(app, []);
    await watchNow(app);
    expect((await say(app, "/whales", { from: 43 }))[0]).toContain("None seen");
  });

  test.each(["0", "169", "many", "-3", "1.5"])("says how to ask when asked for %s hours", async (hours) => {
    const app = createBotApp();
    expect(await say(app, `/whales ${hours}`)).toEqual([
      "Say how many hours to look back, 1 to 168: /whales 24",
    ]);
  });
});

describe("price alerts", () => {
  /** BTC at this price, as a source tells it now. */
  async function priced(app: App, priceUsd: number): Promise<void> {
    const sample = { token: "BTC" as const, priceUsd, source: "coinbase" as const, observedAt: Date.now() };
    await app.t.mutation(internal.prices.samples.store, sample);
  }

  test("are set, listed by number, cancelled by number, and reach the linked chat once", async () => {
    const app = createBotApp();
    const { userId } = await linkedUser(app, "alice");
    await priced(app, 100_000);
    expect(await say(app, "/alerts")).toEqual([expect.stringContaining("You have no active price alert")]);
    const [first, set] = await say(app, "/alert btc above $101,000.50", LONG);
    expect(first).toBe("Looking at the live price…");
    expect(set).toContain("<b>🔔 Alert set</b>\nBTC above $101,000.5");
    await say(app, "/alert BTC below 90000", LONG);
    await say(app, "/alert BTC above 120000", LONG);
    // Once more is the same alert.
    await say(app, "/alert BTC above 120000", LONG);
    expect((await say(app, "/alerts"))[0]).toContain(
      "\n1. BTC above $101,000.5\n2. BTC below $90,000\n3. BTC above $120,000\n",
    );
    expect(await say(app, "/alert_off 2")).toEqual(["Cancelled: BTC below $90,000."]);
    expect((await say(app, "/alerts"))[0]).toMatch(
      /2\. BTC above \$120,000\n[^]*Ended<\/b>\nBTC below \$90,000, cancelled/,
    );

    const before = app.cards().length;
    vi.setSystemTime(Date.now() + 5 * MINUTE);
    await priced(app, 101_500);
    await arrived(app, before + 1);
    const fired = app.cards().slice(before);
    expect(fired).toMatchObject([
      { chatId: String(ALICE), text: expect.stringContaining("BTC is above $101,000.5") },
    ]);
    expect((await say(app, "/alerts"))[0]).toMatch(
      /1\. BTC above \$120,000[^]*BTC above \$101,000\.5, fired at \$101,500/,
    );
    const rows = await app.rows("priceAlerts");
    expect(rows.map((row) => [row.userId === userId, row.state])).toEqual([
      [true, "fired"],
      [true, "cancelled"],
      [true, "active"],
    ]);
  });

  test("are one's own: another user sees and cancels none of them", async () => {
    const app = createBotApp();
    await linkedUser(app, "alice");
    await linkedUser(app, "bob", 43);
    await priced(app, 100_000);
    await say(app, "/alert BTC above 110000", LONG);
    expect((await say(app, "/alerts", { from: 43 }))[0]).toContain("You have no active price alert");
    expect((await say(app, "/alert_off 1", { from: 43 }))[0]).toContain("You have no active price alert");
    expect(await app.rows("priceAlerts")).toMatchObject([{ state: "active" }]);
  });

  test("that are crossed already, or one too many, are refused with the reason", async () => {
    const app = createBotApp();
    await linkedUser(app, "alice");
    await priced(app, 100_000);
    expect((await say(app, "/alert BTC above 99000", LONG))[1]).toBe(
      "The level is reached already: BTC is at $100,000.",
    );
    for (let i = 0; i < 10; i++) {
      const wish = { token: "BTC" as const, direction: "above" as const, levelUsd: 110_000 + i };
      const { userId } = (await app.rows("messengerLinks"))[0] ?? { userId: "" };
      await app.during(app.t.action(internal.prices.alerts.create, { userId, ...wish }));
    }
    expect((await say(app, "/alert BTC above 150000", LONG))[1]).toBe(
      "At most 10 price alerts can be active: cancel one first.",
    );
  });

  test.each(["", "BTC", "BTC above", "BTC above cheap", "DOGE above 1", "BTC at 100000", "BTC above -5"])(
    "are not set by /alert %s, which says how to say it",
    async (argument) => {
      const app = createBotApp();
      await linkedUser(app, "alice");
      expect(await say(app, `/alert ${argument}`)).toEqual([
        expect.stringContaining("/alert BTC above 100000"),
      ]);
      expect([await app.rows("priceAlerts"), await app.rows("botJobs")]).toEqual([[], []]);
    },
  );

  test.each(["", "0", "2", "1.5", "first", "-1"])("are not cancelled by /alert_off %s", async (argument) => {
    const app = createBotApp();
    await linkedUser(app, "alice");
    await priced(app, 100_000);
    await say(app, "/alert BTC above 110000", LONG);
    expect(await say(app, `/alert_off ${argument}`)).toEqual([
      expect.stringContaining("1. BTC above $110,000"),
    ]);
    expect(await app.rows("priceAlerts")).toMatchObject([{ state: "active" }]);
  });

  test.each([
    ["BTC above 100000", { token: "BTC", direction: "above", levelUsd: 100_000 }],
    ["$eth  BELOW\n$2,500.50", { token: "ETH", direction: "below", levelUsd: 2_500.5 }],
    ["btc above 1,000,000", { token: "BTC", direction: "above", levelUsd: 1_000_000 }],
    ["BTC above 1,00", null],
    ["BTC above 1e5", null],
    ["BTC above 100k", null],
    ["BTC above 100000 please", null],
    ["SOL above 100", null],
  ])("are read from %j", (argument, wish) => expect(parseAlert(argument)).toEqual(wish));
});
