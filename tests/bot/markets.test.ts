import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { RESTATEMENT_SCHEMA_NAME } from "../../convex/alerts/restating";
import { MINUTE } from "../../convex/lib/time";
import { toChatUser } from "../../convex/messenger/model";
import { priced as pricedAt } from "../alerts/support";
import { buy, EIGHT, issued } from "../signals/support";
import { closeApp, type App } from "../support/app";
import { agentSays, alert, watchNow } from "../whales/support";
import { ALICE, arrived, createBotApp, GROUP, linkedUser, say, tap, test } from "./support";

/** What the bot tells of signals, whales and prices. */

/** BTC at this price, as a source tells it now. */
const priced = (app: App, priceUsd: number) => pricedAt(app, Date.now(), priceUsd);
const states = async (app: App) => (await app.rows("alerts")).map(({ state }) => state);

/** BTC at this price five minutes later, and the cards that follow from it. */
async function moved(app: App, priceUsd: number) {
  const before = app.cards().length;
  vi.setSystemTime(Date.now() + 5 * MINUTE);
  await priced(app, priceUsd);
  await app.t.mutation(internal.alerts.watch.checkAlerts, {});
  await arrived(app, before + 1);
  return app.cards().slice(before);
}

test("/signals shows the latest of both tokens or of one, to anybody, in groups too", async () => {
  const app = createBotApp({ now: EIGHT });
  expect(await say(app, "/signals")).toEqual([expect.stringContaining("No signal has been issued yet")]);
  await issued(app, buy);
  const [both = ""] = await say(app, "/signals");
  const buttons = app.cards().at(-1);
  expect(buttons?.keyboard?.flat().map(({ text }) => text)).toEqual([
    "BTC",
    "ETH",
    "Record",
    "🔔 Get them as they come",
  ]);
  // A button's answer stands in the message's place; the same once more is sent to nobody a second time.
  const inPlace = { method: "editMessageText", messageId: buttons?.messageId };
  expect(await tap(app, "ETH")).toMatchObject([{ ...inPlace, text: expect.stringContaining("🟢 ETH BUY") }]);
  expect(await tap(app, "ETH")).toEqual([]);
  expect(await tap(app, "Record")).toMatchObject([inPlace]);
  expect(new Set((await app.rows("messages")).map(({ state }) => state))).toEqual(new Set(["sent"]));
  expect(both).toMatch(/<b>🟢 BTC BUY<\/b> · confidence 70\s%[^]*ETH BUY/);
  expect((await say(app, "/record"))[0]).toMatch(/record\?head=2-[0-9a-f]{64}#verify">Record 2,/);
  const [one = ""] = await say(app, "/signals $eth", { from: 43 });
  expect([one.includes("ETH BUY"), one.includes("BTC BUY")]).toEqual([true, false]);
  const inGroup = await say(app, "/signals@simulated_123456_bot BTC", { chat: GROUP });
  expect(inGroup).toEqual([expect.stringContaining("BTC BUY")]);
  for (const token of ["DOGE", "BTC ETH", "<b>"])
    expect([token, await say(app, `/signals ${token}`)]).toEqual([
      token,
      ["There are signals for BTC and ETH only, such as /signals BTC."],
    ]);
});

test("/whales shows the ten largest of the last six hours, or of as many as it is asked for, and the page with all", async ({
  app,
}) => {
  expect(await say(app, "/whales")).toEqual([
    "I have not looked for whales yet: I read Base every five minutes and ask an agent every hour.",
  ]);
  for (const hours of ["0.5", "169", "many", "-3"])
    expect(await say(app, `/whales ${hours}`)).toEqual([
      "Say how many hours to look back, 1 to 168: /whales 24",
    ]);
  const many = Array.from({ length: 19 }, (_, i) =>
    alert({ amount: 1_000_000 * (40 - i), description: `Move <N${i}>.` }),
  );
  agentSays(app, many);
  await watchNow(app);
  const [card = ""] = await say(app, "/whales", { from: 43 });
  expect(card).toMatch(/Last 6 hours[^]*<b>ETH: \$40\.0M went to exchanges<\/b> · Move &lt;N0&gt;\./);
  expect([card.includes("N9&gt;."), card.includes("N10&gt;.")]).toEqual([true, false]);
  expect(card).toMatch(/… and 9 more[^]*<a href="[^"]+\/whales">/);
  await app.pass(120 * MINUTE, { cronsRun: false });
  expect((await say(app, "/whales 1"))[0]).toMatch(/Last hour[^]*No large movement was seen/);
  expect((await say(app, "/whales 3"))[0]).toContain("ETH: $40.0M");
});

describe("alerts", () => {
  test("are read, confirmed, listed, switched off, and reach the linked chat", async ({ app }) => {
    await linkedUser(app, "alice");
    await linkedUser(app, "bob", 43);
    await priced(app, 100_000);
    const [read] = await say(app, "/alert btc above $101,000.50");
    expect(read).toMatch(/❔ BTC above \$101,000\.50<\/b>\nNow: BTC is at \$100,000, [^]*until you tap Set/);
    const [already] = await say(app, "/alert BTC above 90000");
    expect(already).toContain("Already true now; I'll tell you the next time.");
    expect((await say(app, "/alerts"))[0]).toMatch(
      /no active alert[^]*Not set: tap to set<\/b>\n1\. BTC above/,
    );
    const [mine] = await app.rows("alerts");
    const set = { data: `alert set ${mine?._id ?? ""}` };
    // Another account that made up the button's words, and words that were typed.
    const first = "1 Set";
    expect(await tap(app, first, { ...set, from: 43 })).toEqual([]);
    await say(app, `/${set.data}`);
    expect(await states(app)).toEqual(["proposed", "proposed"]);
    const [on] = await tap(app, first);
    expect(on).toMatchObject({
      method: "editMessageText",
      text: expect.stringContaining("Alert set</b>\nBTC above $101,000.50"),
    });

    const [fired, ...others] = await moved(app, 101_500);
    expect([fired?.chatId, others]).toEqual([String(ALICE), []]);
    expect(fired?.text).toMatch(
      /^<b>[🟢🔴] BTC [+−][\d.]+\s% in (?:\d+ min|an hour): \$101,500 \(was \$[\d,.]+\)<\/b>\n\nYour alert: BTC above/u,
    );
    expect(fired?.keyboard?.flat()).toMatchObject([
      { text: "Off" },
      { text: "Mute 2 h" },
      { text: "Why", callback_data: "ask Why has BTC moved today?" },
    ]);
    const [why] = await tap(app, "Why");
    expect(why?.text).toContain("simulated assistant");
    expect((await say(app, "/alerts"))[0]).toMatch(
      /1\. BTC above [^\n]* · 0\.5\s% away, now \$101,500, fired once · quiet until [^\n]*\n/u,
    );
    expect((await say(app, "/alerts", { from: 43 }))[0]).toContain("You have no active alert");
    // The same in the other account's own chat.
    await say(app, "/alert BTC above 120000", { from: 43 });
    const forged = await tap(app, "Set", { from: 43, data: `alert off ${mine?._id ?? ""}` });
    expect(forged).toMatchObject([{ chatId: "43", text: expect.stringContaining("There is no such alert") }]);
    expect((await states(app))[0]).toBe("active");
    await say(app, "/alerts");
    await tap(app, "1 Off");
    expect((await tap(app, "1 Off", set))[0]?.text).toMatch(/was switched off[^]*<b>Off<\/b>\n2\. BTC above/);
    expect(await states(app)).toEqual(["off", "proposed", "proposed"]);
  });

  test("need no account: the chat has five, set in two taps from a price, and off in one from a firing", async ({
    app,
  }) => {
    await priced(app, 100_000);
    expect((await say(app, "btc"))[0]).toMatch(/^<b>BTC \$100,000/);
    // A coin's page opens the bot with it.
    expect((await say(app, "/start price_BTC"))[0]).toMatch(/^<b>BTC \$100,000/);
    await tap(app, "🔔 Above $105,000");
    await tap(app, "Set");
    const [row] = await app.rows("alerts");
    expect(row).toMatchObject({ state: "active", userId: toChatUser(String(ALICE)) });
    expect(row?.expiresAt).toBeGreaterThan(Date.now() + 89 * 24 * 60 * MINUTE);
    // Nothing over HTTP can name the chat's own user.
    const { status } = await app.get(`/alerts?userId=${encodeURIComponent(row?.userId ?? "")}`);
    expect(status).toBe(400);
    expect(await moved(app, 105_500)).toMatchObject([
      { chatId: String(ALICE), text: expect.stringContaining("$105,500") },
    ]);
    expect((await tap(app, "Off"))[0]?.text).toBe("Off: BTC above $105,000.");
    for (let level = 111; level <= 115; level++) {
      await say(app, `/alert BTC above ${level}000`);
      await tap(app, "Set");
    }
    await say(app, "/alert BTC above 116000");
    // The refusal of a sixth is the list, in which each has its buttons.
    const [full] = await tap(app, "Set");
    expect(full?.text).toMatch(
      /^At most 5 alerts can be active[^]*5\. BTC above \$115,000 · [\d.]+\s% away/u,
    );
    await tap(app, "5 Off");
    expect((await tap(app, "On"))[0]?.text).toContain("Alert set</b>\nBTC above $115,000");
    // One that was to be told once is so when it is on again.
    await tap(app, "Off");
    await say(app, "/alert BTC above 117000");
    await tap(app, "Only once");
    await tap(app, "Off");
    expect((await tap(app, "On"))[0]?.text).toMatch(/above \$117,000\n\nI'll tell you once\./);
  });

  test("are read from any words, and refused; nothing is armed by a word; what is open is asked", async ({
    app,
  }) => {
    await linkedUser(app, "alice");
    await priced(app, 100_000);
    const [read] = await say(app, "tell me when bitcoin rises over 120k, please");
    expect(read).toContain("❔ BTC above $120,000");
    for (const word of ["yes", "no"]) expect((await say(app, word))[0]).toContain("simulated assistant");
    expect(await states(app)).toEqual(["proposed"]);
    const [refused] = await tap(app, "No");
    expect(refused).toMatchObject({ method: "editMessageText", text: "Not set: BTC above $120,000." });
    // Each meaning is a button.
    const [open] = await say(app, "please tell me when bitcoin drops below 110k");
    expect(open).toContain("BTC is at $100,000, so that is true already. Above or below?");
    expect((await tap(app, "BTC above $110,000"))[0]?.text).toContain("❔ BTC above $110,000");
    expect((await tap(app, "Set"))[0]?.text).toContain("set</b>\nBTC above $110,000");
    expect((await say(app, "/alert"))[0]).toContain("BTC above 100,000");
    // Without the model the lines of the grammar still work, and the bot says so.
    app.standins.fail("llm", { mode: "status", status: 503 });
    expect((await say(app, "Sag mir, wenn BTC unter 80000 fällt"))[0]).toContain(
      "No language model answers just now, so I can read alerts only in these words: BTC above 100,000",
    );
    expect((await say(app, "BTC below 80,000"))[0]).toContain("❔ BTC below $80,000");
  });

  test("are set and changed by words and taps that code reads, without a model: a question has its answers as buttons, two at once are two", async ({
    app,
  }) => {
    vi.stubEnv("LLM_GATEWAY_API_KEY", "");
    await priced(app, 100_000);
    const buttons = () =>
      app
        .cards()
        .at(-1)
        ?.keyboard?.map((row) => row.map(({ text }) => text));
    expect((await say(app, "ping me when btc is down 5%"))[0]).toContain("Within how many hours");
    expect(buttons()).toEqual([1, 4, 24].map((hours) => [`BTC down 5\u202F% in ${hours} h`]));
    expect((await tap(app, "BTC down 5\u202F% in 24 h"))[0]?.text).toContain("❔ BTC down 5\u202F% in 24 h");
    await tap(app, "No");
    await say(app, "alert btc 110k, or below 90k");
    expect(buttons()).toEqual([["BTC above $110,000"], ["BTC below $90,000"]]);
    await tap(app, "BTC above $110,000");
    await tap(app, "Set");
    await say(app, "btc below 90k");
    await tap(app, "Set");
    expect((await say(app, "/alerts"))[0]).toMatch(
      /^<b>🔔 Your alerts<\/b>\n1\. BTC above \$110,000 · 10\.0\s% away, now \$100,000\n2\./u,
    );
    expect(buttons()?.slice(0, 2)).toEqual([
      ["1 Off", "1 Mute 2 h"],
      ["2 Off", "2 Mute 2 h"],
    ]);
    const quiet = /^Quiet until[^]*away, now \$100,000 · quiet until/;
    expect((await tap(app, "1 Mute 2 h"))[0]?.text).toMatch(quiet);
    // A muted crossing is not told.
    vi.setSystemTime(Date.now() + 5 * MINUTE);
    await priced(app, 111_000);
    await app.t.mutation(internal.alerts.watch.checkAlerts, {});
    await app.settle();
    expect(await app.rows("alertFirings")).toEqual([]);
    const table: Readonly<Record<string, RegExp>> = {
      "cancel my btc alert": /Your alerts/,
      "What alerts do I have?": /Your alerts/,
      "snooze 2 hours": /Your alerts/,
      "my limits": /needs? (?:an|your) account|account/i,
      deposit: /wallet/i,
    };
    for (const [words, card] of Object.entries(table))
      expect([words, (await say(app, words))[0]]).toEqual([words, expect.stringMatching(card)]);
  });

  test("that leave something open are asked back in the words of the model, with what to send; other words are a question", async ({
    app,
  }) => {
    const restated = (ask: string | null) => {
      const content = JSON.stringify({ line: null, ask });
      app.standins.clear("llm");
      app.standins.fail("llm", { mode: "reply", schema: RESTATEMENT_SCHEMA_NAME, content });
    };
    restated("Bei welchem Preis?");
    expect((await say(app, "sag mir wenn bitcoin fällt"))[0]).toMatch(
      /^Bei welchem Preis\? Say it like one of these: BTC above/,
    );
    expect(await states(app)).toEqual([]);
    restated(null);
    expect((await say(app, "why did bitcoin fall"))[0]).toContain("You asked");
  });
});

test("prices come from what is stored, without a model: by the command, by a coin's name alone, and on the way in", async ({
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
  expect(buttons.map(({ text }) => text)).toEqual(["Set an alert", "Signals", "Create my wallet"]);
  expect((await tap(app, "Set an alert"))[0]?.text).toMatch(/^<b>❔ BTC above \$1\d\d,000/);
  closeApp();
  const fresh = createBotApp();
  for (const name of ["coingecko", "coinbase"] as const)
    fresh.standins.fail(name, { mode: "status", status: 500 });
  expect((await say(fresh, "/start"))[0]).toMatch(/^<b>Welcome!<\/b>\n\nTell me in your own words/);
});
