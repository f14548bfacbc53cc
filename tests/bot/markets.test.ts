import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { chatUser } from "../../convex/messenger/model";
import type { App } from "../support/app";
import { buy, EIGHT, issued } from "../signals/support";
import { agentSays, alert, watchNow } from "../whales/support";
import {
  ALICE,
  arrived,
  createBotApp,
  GROUP,
  linkedUser,
  say,
  tap,
  test,
  userWithCode,
  underWay,
} from "./support";

/** What the bot tells of signals, whales and prices. */

const MINUTE = 60_000;
/** BTC at this price, as a source tells it now. */
async function priced(app: App, priceUsd: number): Promise<void> {
  const sample = { token: "BTC" as const, priceUsd, source: "coinbase" as const, observedAt: Date.now() };
  await app.t.mutation(internal.market.samples.store, sample);
}

describe("/signals", () => {
  test("shows the latest of both tokens or of one, to anybody, in groups too", async () => {
    const app = createBotApp({ now: EIGHT });
    expect(await say(app, "/signals")).toEqual([expect.stringContaining("No signal has been issued yet")]);
    await issued(app, buy);
    const [both = ""] = await say(app, "/signals");
    expect(both).toContain("<b>🟢 BTC BUY</b> · confidence 70 %");
    expect(both).toContain("ETH BUY");
    expect((await say(app, "/record"))[0]).toMatch(/Record 2: <code>[0-9a-f]{64}/);
    const [one = ""] = await say(app, "/signals $eth", { from: 43 });
    expect([one.includes("ETH BUY"), one.includes("BTC BUY")]).toEqual([true, false]);
    const inGroup = await say(app, "/signals@simulated_123456_bot BTC", { chat: GROUP });
    expect(inGroup).toEqual([expect.stringContaining("BTC BUY")]);
  });

  test.for(["DOGE", "BTC ETH", "<b>"])(
    "names the tokens it has when asked for %s",
    async (token, { app }) => {
      expect(await say(app, `/signals ${token}`)).toEqual([
        "There are signals for BTC and ETH only, such as /signals BTC.",
      ]);
    },
  );
});

describe("/whales", () => {
  test("shows the alerts of the last six hours, or of as many as it is asked for", async ({ app }) => {
    agentSays(app, [alert({ description: "A large <deposit>." })]);
    await watchNow(app);
    const [card = ""] = await say(app, "/whales", { from: 43 });
    expect(card).toContain("Last 6 hours");
    expect(card).toContain("<b>ETH: $4.20M went to exchanges</b> · A large &lt;deposit&gt;.");
    await app.pass(120 * MINUTE, { cronsRun: false });
    expect((await say(app, "/whales 1"))[0]).toMatch(/Last hour[^]*No large movement was seen/);
    expect((await say(app, "/whales 3"))[0]).toContain("ETH: $4.20M");
  });

  test("shows the ten largest, and the page with all", async ({ app }) => {
    agentSays(
      app,
      Array.from({ length: 19 }, (_, i) =>
        alert({ amount: 1_000_000 * (40 - i), description: `Move N${i}.` }),
      ),
    );
    await watchNow(app);
    const [card = ""] = await say(app, "/whales");
    expect([card.includes("Move N9."), card.includes("Move N10.")]).toEqual([true, false]);
    expect(card).toMatch(/… and 9 more[^]*<a href="[^"]+\/whales">/);
  });

  test("says that it has not looked yet, before the first look", async ({ app }) => {
    expect(await say(app, "/whales")).toEqual([
      "I have not looked for whales yet: I read Base every five minutes and ask an agent every hour.",
    ]);
    agentSays(app, []);
    await watchNow(app);
    expect((await say(app, "/whales", { from: 43 }))[0]).toContain("No large movement was seen");
  });

  test.for(["0", "169", "many", "-3"])("says how to ask when asked for %s hours", async (hours, { app }) => {
    expect(await say(app, `/whales ${hours}`)).toEqual([
      "Say how many hours to look back, at most 168: /whales 24",
    ]);
  });
});

describe("alerts", () => {
  test("are read, confirmed, listed, switched off, and reach the linked chat", async ({ app }) => {
    await linkedUser(app, "alice");
    await linkedUser(app, "bob", 43);
    await priced(app, 100_000);
    expect(await say(app, "/alerts")).toEqual([expect.stringContaining("You have no active alert")]);
    const [read] = await say(app, "/alert btc above $101,000.50");
    expect(read).toMatch(
      /❔ BTC at \$101,000\.50 or above<\/b>\nNow: BTC is at \$100,000, [^]*until you tap Set/,
    );
    const [already] = await say(app, "/alert BTC above 90000");
    expect(already).toContain("Already true now; I'll tell you the next time.");
    expect((await say(app, "/alerts"))[0]).toMatch(/no active alert[^]*Not set: tap to set<\/b>\n• BTC at/);
    const [mine] = await app.rows("alerts");
    const set = { data: `alert set ${mine?._id ?? ""}` };
    // Another account that made up the button's words, and words that were typed.
    expect((await tap(app, "Set: BTC at $101,000.50 or above", { ...set, from: 43 }))[0]?.text).toContain(
      "private chat only",
    );
    expect((await say(app, `/${set.data}`))[0]).toContain("You have no active alert");
    expect((await app.rows("alerts")).map(({ state }) => state)).toEqual(["proposed", "proposed"]);
    const [on] = await tap(app, "Set: BTC at $101,000.50 or above");
    expect(on).toMatchObject({
      method: "editMessageText",
      text: expect.stringContaining("Alert set</b>\nBTC at $101,000.50 or above"),
    });
    await say(app, "/alerts");
    await tap(app, "Set: BTC at $90,000 or above");

    const before = app.cards().length;
    vi.setSystemTime(Date.now() + 5 * MINUTE);
    await priced(app, 101_500);
    await app.t.mutation(internal.alerts.watch.tick, {});
    await arrived(app, before + 1);
    expect(app.cards().slice(before)).toMatchObject([
      { chatId: String(ALICE), text: expect.stringContaining("$101,500") },
    ]);
    const fired = app.cards().at(-1);
    expect(fired?.text).toMatch(
      /^<b>[🟢🔴] BTC [+−][\d.]+\s% in (?:\d+ min|an hour): \$101,500 \(was \$[\d,.]+\)<\/b>\n\nYour alert: BTC at/u,
    );
    expect(fired?.keyboard?.flat()).toMatchObject([
      { text: "Off" },
      { text: "Why", callback_data: "ask Why has BTC moved today?" },
    ]);
    const [why] = await tap(app, "Why");
    expect(why).toMatchObject({
      method: "sendMessage",
      text: expect.stringContaining("simulated assistant"),
    });
    expect((await say(app, "/alerts"))[0]).toMatch(
      /• BTC at [^\n]*, fired once\n• BTC at \$90,000 or above$/,
    );
    expect((await tap(app, "Off: BTC at $90,000 or above"))[0]?.text).toBe("Off: BTC at $90,000 or above.");
    expect((await say(app, "/alerts", { from: 43 }))[0]).toContain("You have no active alert");
    await tap(app, "My alerts");
    await tap(app, "Off: BTC at $101,000.50 or above");
    expect((await tap(app, "Off: BTC at $101,000.50 or above", set))[0]?.text).toContain("was switched off");
    expect((await app.rows("alerts")).map(({ state }) => state)).toEqual(["off", "off"]);
  });

  test("are set in two taps from a price, without an account, and off in one tap from a firing", async ({
    app,
  }) => {
    await priced(app, 100_000);
    expect((await say(app, "btc"))[0]).toMatch(/^<b>BTC \$100,000/);
    await tap(app, "Alert at +5\u202F%");
    await tap(app, "Set");
    expect(await app.rows("alerts")).toMatchObject([{ state: "active", userId: chatUser(String(ALICE)) }]);
    const before = app.cards().length;
    vi.setSystemTime(Date.now() + 5 * MINUTE);
    await priced(app, 105_500);
    await app.t.mutation(internal.alerts.watch.tick, {});
    await arrived(app, before + 1);
    const [off] = await tap(app, "Off");
    expect(off?.text).toBe("Off: BTC at $105,000 or above.");
    expect(await app.rows("alerts")).toMatchObject([{ state: "off" }]);
  });

  test("are read from any words, and refused; nothing is armed by a word", async ({ app }) => {
    await linkedUser(app, "alice");
    await priced(app, 100_000);
    const states = async () => (await app.rows("alerts")).map(({ state }) => state);
    const [read] = await say(app, "tell me when bitcoin rises over 120k, please");
    expect(read).toContain("❔ BTC at $120,000 or above");
    for (const word of ["yes", "ok", "no"])
      expect((await say(app, word))[0]).toContain("simulated assistant");
    expect(await states()).toEqual(["proposed"]);
    const [refused] = await tap(app, "No");
    expect(refused).toMatchObject({ method: "editMessageText", text: "Not set: BTC at $120,000 or above." });
    expect(await states()).toEqual(["off"]);
    // What is open is asked, each meaning a button.
    const [open] = await say(app, "please tell me when bitcoin drops below 110k");
    expect(open).toContain("BTC is at $100,000, so that is true already. Above or below?");
    const [above] = await tap(app, "BTC above 110,000");
    expect(above?.text).toContain("❔ BTC at $110,000 or above");
    const [set] = await tap(app, "Set");
    expect(set?.text).toContain("set</b>\nBTC at $110,000 or above");
    // Without the model the lines of the grammar still work, and the bot says so.
    app.standins.fail("llm", { mode: "status", status: 503 });
    expect((await say(app, "Sag mir, wenn BTC unter 80000 fällt"))[0]).toContain(
      "No language model answers just now, so I can read alerts only in these words: BTC above 100,000",
    );
    expect((await say(app, "BTC below 80,000"))[0]).toContain("❔ BTC at $80,000 or below");
  });

  test("need no account: the chat has five, which go over to its user's once it is linked", async ({
    app,
  }) => {
    await priced(app, 100_000);
    const [read] = await say(app, "ping me when btc rises above 110k");
    expect(read).toContain("❔ BTC at $110,000 or above");
    expect((await tap(app, "Set"))[0]?.text).toContain("Alert set");
    const [row] = await app.rows("alerts");
    expect(row?.expiresAt).toBeGreaterThan(Date.now() + 89 * 24 * 60 * MINUTE);
    // Nothing over HTTP can name the chat's own user.
    const { status } = await app.get(`/alerts?userId=${encodeURIComponent(row?.userId ?? "")}`);
    expect(status).toBe(400);
    for (const level of [111, 112, 113, 114]) {
      await say(app, `/alert BTC above ${level}000`);
      await tap(app, "Set");
    }
    await say(app, "/alert BTC above 115000");
    expect((await tap(app, "Set"))[0]?.text).toContain("At most 5 alerts can be active");
    vi.setSystemTime(Date.now() + 5 * MINUTE);
    await priced(app, 110_500);
    const before = app.cards().length;
    await app.t.mutation(internal.alerts.watch.tick, {});
    await arrived(app, before + 1);
    expect(app.cards().slice(before)).toMatchObject([
      { chatId: String(ALICE), text: expect.stringContaining("$110,500") },
    ]);
    const { userId, code } = await userWithCode(app, "alice");
    await say(app, `/connect ${code}`);
    const owners = (await app.rows("alerts"))
      .filter(({ state }) => state === "active")
      .map((one) => one.userId);
    expect([owners.length, new Set(owners)]).toEqual([5, new Set([userId])]);
  });

  test("in words that could mean several things say what to say instead", async ({ app }) => {
    await linkedUser(app, "alice");
    expect(await say(app, "/alert")).toEqual([expect.stringContaining("BTC above 100,000")]);
    const answers = await say(app, "/alert BTC at 100000");
    expect(answers[0]).toContain("Say it like one of these: BTC above 100,000");
    for (const text of ["/alerts off", "/alerts off 9", "/alerts off first"])
      expect([text, (await say(app, text))[0]]).toEqual([
        text,
        expect.stringContaining("You have no active alert"),
      ]);
    expect([await app.rows("alerts"), await underWay(app)]).toEqual([[], []]);
  });
});

describe("prices", () => {
  test("come from what is stored, without a model: by the command, by a coin's name alone, and on the way in", async ({
    app,
  }) => {
    vi.stubEnv("LLM_GATEWAY_API_KEY", "");
    await priced(app, 104_000);
    // Nobody has collected the list of coins before: whoever asks first has that done.
    expect((await say(app, "/price sol"))[0]).toMatch(
      /^<b>SOL \$1\d\d\.\d\d [▲▼] [+−]\d\.\d\d\u202F% in 24 h<\/b>\n5 Jan 2026/,
    );
    for (const words of ["btc", "Bitcoin?", "$ETH", "shiba inu"])
      expect((await say(app, words))[0]).toMatch(/^<b>(?:BTC|ETH|SHIB) \$/);
    expect((await say(app, "/price nocoin"))[0]).toContain("I have no price for that");
    const [welcome] = await say(app, "/start");
    expect(welcome).toMatch(/^<b>Welcome!<\/b>\nBTC \$[^]*\nETH \$[^]*\nSOL \$/);
    const buttons = app.cards().at(-1)?.keyboard?.flat() ?? [];
    expect(buttons.map(({ text }) => text)).toEqual(["Set an alert", "Signals", "Portfolio"]);
    expect(app.standins.sent("llm")).toEqual([]);
    // Two taps to the first alert.
    expect((await tap(app, "Set an alert"))[0]?.text).toMatch(/^<b>❔ BTC at \$1\d\d,000 or above/);
    expect((await tap(app, "Set"))[0]?.text).toContain("Alert set");
  });
});

describe("on a fresh deployment", () => {
  test("/start says what can be done where nobody tells a price", async ({ app }) => {
    for (const name of ["coingecko", "coinbase"] as const)
      app.standins.fail(name, { mode: "status", status: 500 });
    const [welcome] = await say(app, "/start");
    expect(welcome).toMatch(/^<b>Welcome!<\/b>\n\nTell me in your own words/);
    expect(app.cards()).toHaveLength(1);
  });
});
