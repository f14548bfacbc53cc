import { describe, expect, vi } from "vitest";
import { DAY } from "../../convex/lib/time";
import type { App } from "../support/app";
import { keepHouse } from "../support/rows/housekeeping";
import { ALICE, linkedUser, say, tap, test } from "./support";

/** What is tapped rather than typed, and what a chat sees while the bot works. */

const buttonsOf = (app: App) =>
  app
    .cards()
    .at(-1)
    ?.keyboard?.map((row) => row.map(({ text }) => text)) ?? [];
const states = async (app: App) => (await app.rows("alerts")).map(({ state }) => state);
const shifts = async (app: App) => (await app.rows("shifts")).map(({ token, status }) => [token, status]);

describe("a tapped button", () => {
  test("of a result brings its text with its sources, and for a linked user a shift, which a tap stops and follows again", async ({
    app,
  }) => {
    await say(app, "/research SOL");
    expect(buttonsOf(app)).toEqual([["Full text", "Follow for 8 h"]]);
    // Longer than a message may be, it comes in several.
    const text = (await tap(app, "Full text")).map((one) => one.text).join("\n");
    expect(text).toMatch(/<b>📄 SOL<\/b>[^]*<b>Full analysis<\/b>[^]*<b>Sources<\/b>/);
    expect((await tap(app, "Follow for 8 h"))[0]?.text).toContain("ownerUrl");
    expect(await shifts(app)).toEqual([]);
    await linkedUser(app, "alice");
    // The contract's card of a shift that has begun is the answer: it is not told twice.
    const begun = await tap(app, "Follow for 8 h");
    expect(begun.map(({ text }) => text)).toEqual([expect.stringContaining("Research shift started")]);
    // Another shift goes on: the button is its own shift's.
    await say(app, "/follow BTC");
    expect((await tap(app, "Stop SOL"))[0]).toMatchObject({
      method: "editMessageText",
      text: "I no longer follow SOL.",
    });
    const stopped = [
      ["SOL", "stopped"],
      ["BTC", "active"],
    ];
    expect(await shifts(app)).toEqual(stopped);
    await tap(app, "Follow SOL again");
    expect(await shifts(app)).toEqual([...stopped, ["SOL", "active"]]);
  });

  test("that begins a shift says so here as well where the shift's cards go elsewhere", async ({ app }) => {
    const { userId } = await linkedUser(app, "alice");
    await app.post("/user/messenger", { userId, messengerChatId: "4242" }, { as: "alice" });
    await app.settle();
    const told = await say(app, "/follow BTC");
    expect(told.filter((text) => text.includes("I am following BTC"))).toHaveLength(1);
    const started = app.cards().filter(({ text }) => text.includes("Research shift started"));
    expect(started.map(({ chatId, keyboard }) => [chatId, keyboard])).toEqual([["4242", undefined]]);
  });

  test("says yes to the alert above it, and to no later one; one that has ended is set again", async ({
    app,
  }) => {
    await linkedUser(app, "alice");
    await say(app, "/alert BTC above 110000");
    const [first] = app.cards().flatMap(({ keyboard }) => keyboard?.flat() ?? []);
    const data = first?.callback_data ?? "";
    expect(data.length).toBeLessThanOrEqual(64);
    vi.setSystemTime(Date.now() + 2 * DAY);
    await keepHouse(app);
    await say(app, "/alert ETH below 900");
    const [gone] = await tap(app, "Set", { data });
    expect(gone?.text).toContain(
      "There is no such alert: a proposal expires after a day, so ask for it again",
    );
    await tap(app, "Set");
    expect(await app.rows("alerts")).toMatchObject([{ subject: "price:ETH", state: "active" }]);
    vi.setSystemTime(Date.now() + 91 * DAY);
    await app.pass(60_000);
    expect(buttonsOf(app)).toEqual([["Set again"]]);
    await tap(app, "Set again");
    await tap(app, "Set");
    expect(await states(app)).toEqual(["off", "active"]);
  });
});

test("work that takes a while shows the bot typing, where it is asked", async ({ app }) => {
  const told = await say(app, "How is Ethereum doing?");
  expect(told).toEqual([expect.stringContaining("How is Ethereum doing?")]);
  const typing = app.standins.sent("messenger").filter(({ method }) => method === "sendChatAction");
  expect(typing).not.toEqual([]);
  for (const shown of typing) expect(shown).toMatchObject({ text: "typing", chatId: String(ALICE) });
});
