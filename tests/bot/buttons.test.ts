import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import type { App } from "../support/app";
import { keepHouse } from "../support/rows/housekeeping";
import { buy, EIGHT, issued } from "../signals/support";
import { ALICE, BOT_NAME, createBotApp, deliver, GROUP, linkedUser, say, tap, test } from "./support";

/** What is tapped rather than typed, and what a chat sees while the bot works. */

const buttonsOf = (app: App) =>
  app
    .cards()
    .at(-1)
    ?.keyboard?.map((row) => row.map(({ text }) => text)) ?? [];

describe("a tapped button", () => {
  test("of /signals shows one token or the record in the place of the message", async () => {
    const app = createBotApp({ now: EIGHT });
    await issued(app, buy);
    await say(app, "/signals");
    const first = app.cards().at(-1)?.messageId;
    expect(buttonsOf(app)).toEqual([["BTC", "ETH", "Record"]]);
    expect(await tap(app, "ETH")).toMatchObject([
      { method: "editMessageText", messageId: first, text: expect.stringContaining("🟢 ETH BUY") },
    ]);
    expect(await tap(app, "Record")).toMatchObject([
      {
        method: "editMessageText",
        messageId: first,
        text: expect.stringMatching(/Record 2: <code>[0-9a-f]{64}/),
      },
    ]);
    // The same once more changes nothing, and is sent to nobody a second time.
    expect(await tap(app, "BTC")).toHaveLength(1);
    expect(await tap(app, "BTC")).toEqual([]);
    expect((await app.rows("messages")).map(({ state }) => state).filter((one) => one !== "sent")).toEqual(
      [],
    );
  });

  test("of a result brings its text with its sources, and for a linked user a shift", async ({ app }) => {
    await say(app, "/research SOL");
    const [row] = buttonsOf(app);
    expect(row).toEqual(["Full text", "Follow for 8 h"]);
    // Longer than a message may be, it comes in several.
    const text = (await tap(app, "Full text")).map((one) => one.text).join("\n");
    expect(text).toMatch(/<b>📄 SOL<\/b>[^]*<b>Full analysis<\/b>[^]*<b>Sources<\/b>/);
    expect((await tap(app, "Follow for 8 h"))[0]?.text).toContain("ownerUrl");
    expect(await app.rows("shifts")).toEqual([]);
    const { userId } = await linkedUser(app, "alice");
    const begun = await tap(app, "Follow for 8 h");
    expect(await app.rows("shifts")).toMatchObject([{ userId, token: "SOL", status: "active" }]);
    // The contract's card of a shift that has begun is the answer: it is not told twice.
    expect(begun.map(({ text }) => text)).toEqual([expect.stringContaining("Research shift started")]);
  });

  test("stops its own shift in one tap, and a tap follows it again", async ({ app }) => {
    await linkedUser(app, "alice");
    await say(app, "/follow SOL");
    // Another shift goes on: the button is its own shift's.
    await say(app, "/follow BTC");
    const states = async () => (await app.rows("shifts")).map(({ token, status }) => [token, status]);
    expect((await tap(app, "Stop SOL"))[0]).toMatchObject({
      method: "editMessageText",
      text: "I no longer follow SOL.",
    });
    const stopped = [
      ["SOL", "stopped"],
      ["BTC", "active"],
    ];
    expect(await states()).toEqual(stopped);
    await tap(app, "Follow SOL again");
    expect(await states()).toEqual([...stopped, ["SOL", "active"]]);
  });

  test("that begins a shift says so here as well where the shift's cards go elsewhere", async ({ app }) => {
    const { userId } = await linkedUser(app, "alice");
    await app.t.run(({ db }) => db.insert("messengerConfigs", { userId, chatId: "4242", updatedAt: 0 }));
    const told = await say(app, "/follow BTC");
    expect(told.filter((text) => text.includes("Research shift started"))).toHaveLength(1);
    expect(told.filter((text) => text.includes("I am following BTC"))).toHaveLength(1);
    expect(
      app
        .cards()
        .map(({ chatId, keyboard }) => [chatId, keyboard?.length ?? 0])
        .toSorted(),
    ).toEqual([
      ["42", 1],
      ["4242", 0],
    ]);
  });

  test("does what its chat may do, whoever made up its data, and takes an update once", async ({ app }) => {
    await linkedUser(app, "alice");
    await linkedUser(app, "mallory", 66);
    const sample = {
      token: "BTC" as const,
      priceUsd: 100_000,
      source: "coinbase" as const,
      observedAt: Date.now(),
    };
    await app.t.mutation(internal.market.samples.store, sample);
    await say(app, "/alert BTC above 110000");
    await tap(app, "Set");
    await say(app, "/alerts");
    expect(buttonsOf(app)).toEqual([["Off: BTC at $110,000 or above"]]);
    // Another account's tap on what it should never have seen, in its own chat.
    await say(app, "/help", { from: 66 });
    const forged = {
      update_id: 950_000,
      callback_query: {
        id: "forged",
        from: { id: 66, is_bot: false },
        message: { message_id: 1, chat: { id: 66, type: "private" }, text: "x" },
        data: "alerts off 1",
      },
    };
    await deliver(app, forged);
    await deliver(app, forged);
    await app.settle();
    expect(await app.rows("alerts")).toMatchObject([{ state: "active" }]);
    expect(
      app.cards().filter(({ chatId, text }) => chatId === "66" && text.includes("no active")),
    ).toHaveLength(1);
    const [off] = await tap(app, "Off: BTC at $110,000 or above");
    expect(off).toMatchObject({ method: "editMessageText", text: "Off: BTC at $110,000 or above." });
    expect(await app.rows("alerts")).toMatchObject([{ state: "off" }]);
  });

  test("sets an alert that has ended again", async ({ app }) => {
    await linkedUser(app, "alice");
    await say(app, "/alert BTC above 110000");
    await tap(app, "Set");
    vi.setSystemTime(Date.now() + 91 * 86_400_000);
    await app.t.mutation(internal.alerts.watch.tick, {});
    await app.settle();
    expect(buttonsOf(app)).toEqual([["Set again"]]);
    await tap(app, "Set again");
    await tap(app, "Set");
    expect((await app.rows("alerts")).map(({ state }) => state)).toEqual(["off", "active"]);
  });

  test("says yes to the alert above it, and to no later one", async ({ app }) => {
    await linkedUser(app, "alice");
    await say(app, "/alert BTC above 110000");
    const [first] = app.cards().flatMap(({ keyboard }) => keyboard?.flat() ?? []);
    const data = first?.callback_data ?? "";
    expect(data.length).toBeLessThanOrEqual(64);
    vi.setSystemTime(Date.now() + 2 * 86_400_000);
    await keepHouse(app);
    await say(app, "/alert ETH below 900");
    expect(await app.rows("alerts")).toMatchObject([{ subject: "price:ETH" }]);
    const [gone] = await tap(app, "Set", { data });
    expect(gone?.text).toContain("There is no such alert: a proposal is forgotten after a day");
    await say(app, "/alert ETH below 900");
    expect(await app.rows("alerts")).toMatchObject([{ state: "proposed" }]);
    await tap(app, "Set");
    expect(await app.rows("alerts")).toMatchObject([{ state: "active" }]);
  });
});

describe("work that takes a while", () => {
  test("shows the bot typing, where it is asked", async ({ app }) => {
    const told = await say(app, "How is Ethereum doing?");
    expect(told).toEqual([expect.stringContaining("How is Ethereum doing?")]);
    const typing = app.standins.sent("messenger").filter(({ method }) => method === "sendChatAction");
    // Every four seconds, for a messenger shows it for five.
    expect(typing.length).toBeGreaterThanOrEqual(1);
    for (const shown of typing) expect(shown).toMatchObject({ text: "typing", chatId: String(ALICE) });
  });

  test("is a question in a group where the words begin with the bot's name", async ({ app }) => {
    const [answer] = await say(app, `@${BOT_NAME} how is ETH?`, { chat: GROUP });
    expect(answer).toContain("how is ETH?");
    expect(await say(app, "@another_bot how is ETH?", { chat: GROUP, answers: 0 })).toEqual([]);
  });
});
