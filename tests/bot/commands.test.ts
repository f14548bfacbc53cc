import fc from "fast-check";
import { describe, expect, vi } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { commands, menu, parseCommand } from "../../convex/bot/commands";
import { SECURITY_MESSAGE } from "../../convex/lib/keyRequests";
import { HOUR } from "../../convex/lib/time";
import { closeApp } from "../support/app";
import { keepHouse } from "../support/rows/housekeeping";
import { expireLeases, loseScheduled } from "../support/rows/leases";
import {
  ALICE,
  arrived,
  createBotApp,
  deliver,
  linkedUser,
  say,
  tap,
  test,
  underWay,
  updateOf,
} from "./support";

const HOW_TO_LINK = expect.stringContaining(
  "its answer has an <b>ownerUrl</b>. Open it, or paste it here, and tap Own.",
);
const OWN_BOT = "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot";
/** Whoever fails, in words of the person who asked. */
const AWAY = "A source that I need does not answer just now. Try again in a minute.";

describe("every command", () => {
  test("can be put into the messenger's menu, and is told of behind one of the six buttons of /help", async ({
    app,
  }) => {
    await say(app, "/HELP");
    const buttons = app.cards().at(-1)?.keyboard?.flat() ?? [];
    expect(buttons).toHaveLength(6);
    const told: string[] = [];
    for (const { text } of buttons) told.push((await tap(app, text))[0]?.text ?? "");
    for (const { name, summary } of menu) {
      expect(name).toMatch(/^[a-z0-9_]{1,32}$/);
      expect(summary.length).toBeLessThanOrEqual(256);
      expect([name, told.filter((text) => text.includes(`/${name}`)).length]).toEqual([name, 1]);
    }
    expect(new Set(commands.map(({ name }) => name)).size).toBe(commands.length);
    expect((await say(app, "/start"))[0]).toContain("Welcome!");
  });

  test("that is about one's own tells an account that is not linked how to link", async ({ app }) => {
    const own = commands.filter(({ access, name }) => access === "linked" || name === "freeze");
    expect(own).toHaveLength(24);
    for (const { name } of own) expect([name, await say(app, `/${name}`)]).toEqual([name, [HOW_TO_LINK]]);
    expect(await app.rows("wallets")).toEqual([]);
  });

  test("is read back as it was written, whatever follows it; any other text is none", () => {
    const word = (max: number) =>
      fc.stringMatching(/^\w+$/).filter(({ length }) => length >= 1 && length <= max);
    const space = fc.constantFrom(" ", "\n", "\t", " \r\n ");
    fc.assert(
      fc.property(
        ...([word(32), fc.option(word(64)), space, fc.string({ unit: "grapheme" }), space] as const),
        (name, to, gap, argument, edge) => {
          const written = `${edge}/${name}${to === null ? "" : `@${to}`}${gap}${argument}${edge}`;
          expect(parseCommand(written)).toEqual({
            name: name.toLowerCase(),
            to: to?.toLowerCase() ?? null,
            argument: argument.trim(),
          });
        },
      ),
      { numRuns: 500 },
    );
    const others = ["", "/", "//start", "/ start", "start", "say /start", "/a-b", "/a@", "/a@b-c", "/a,b"];
    for (const text of [...others, `/${"a".repeat(33)}`])
      expect([text, parseCommand(text)]).toEqual([text, null]);
  });
});

describe("a linked user", () => {
  test("is shown their shift, and stops it, by the default bot in the chat it came from", async ({ app }) => {
    const { userId } = await linkedUser(app, "alice");
    const as = { as: "alice" };
    await app.post("/user/messenger", { userId, messengerBotToken: OWN_BOT, messengerChatId: "7" }, as);
    await app.settle();
    expect(await say(app, "/status")).toEqual(["No research shift is running."]);
    expect(app.cards().find(({ text }) => text.startsWith("No research"))).toMatchObject({
      chatId: String(ALICE),
      botToken: expect.not.stringContaining(OWN_BOT),
    });
    expect(await say(app, "/stop")).toEqual(["You have no research shift running."]);
    await app.post("/mcp/research/start", { userId, token: "SOL" }, as);
    await app.settle();
    vi.setSystemTime(Date.now() + 1.6 * HOUR);
    const [status = ""] = await say(app, "/status");
    expect(status).toContain("<b>🔬 Research shift · SOL</b>\nRunning for 1h 36min, 6h 24min to go");
    expect(status).toContain("Interim reports: 0 of 2");
    // Somebody else's command is nothing to it.
    await linkedUser(app, "bob", 43);
    expect(await say(app, "/stop", { from: 43 })).toEqual(["You have no research shift running."]);
    expect(await say(app, "/stop")).toEqual(["I no longer follow SOL."]);
    expect((await app.rows("shifts")).map(({ status }) => status)).toEqual(["stopped"]);
  });

  test("who has unlinked while an answer was under way is told nothing", async ({ app }) => {
    const { browser } = await linkedUser(app, "alice");
    await deliver(app, updateOf("/ask How is my research going?"));
    await browser.mutation(api.messenger.linking.unlink, {});
    for (let i = 0; i < 400 && (await underWay(app)).length > 0; i++) await app.settle(2);
    await arrived(app, 1);
    const asked = JSON.stringify(app.standins.sent("llm").map(({ body }) => body));
    expect(asked).not.toContain("this user's research");
  });

  test("is told when the chain cannot be read", async ({ app }) => {
    await linkedUser(app, "alice");
    expect(await say(app, "/portfolio")).toEqual([AWAY]);
  });
});

test("/research answers with the card; a fresh result costs nothing more; whoever fails is said to", async ({
  app,
}) => {
  const [card] = await say(app, "/research $sol");
  expect(card).toMatch(/^<b>🔬 Research · SOL<\/b>\n5 Jan 2026[^]*<b>Key signals<\/b>/);
  const asked = app.standins.sent("llm").length;
  expect((await say(app, "/research SOL", { from: 43 }))[0]).toBe(card);
  expect(app.standins.sent("llm")).toHaveLength(asked);
  for (const name of ["llm", "sentiment"] as const) app.standins.fail(name, { mode: "status", status: 500 });
  expect(await say(app, "/research ETH")).toEqual([AWAY]);
  expect(await underWay(app)).toEqual([]);
});

describe("/ask", () => {
  test("answers with the assistant's words, and for a linked user knows their research and what they said", async ({
    app,
  }) => {
    const heard = () => JSON.stringify(app.standins.sent("llm").at(-1)?.body);
    expect(await say(app, "/ask")).toEqual([expect.stringContaining("/ask How is Ethereum doing?")]);
    const answers = await say(app, "/ask Is 1 < 2 & <b>bold</b>?");
    expect(answers).toEqual([expect.stringContaining("Is 1 &lt; 2 &amp; &lt;b&gt;bold&lt;/b&gt;?")]);
    const { userId } = await linkedUser(app, "alice");
    await app.post("/mcp/research/start", { userId, token: "SOL" }, { as: "alice" });
    await say(app, "/ask My favourite coin is SOL");
    await say(app, "/ask How is my favourite?");
    expect(heard()).toContain("Running research shift on SOL");
    expect(heard()).toContain("My favourite coin is SOL");
    await say(app, "/ask And mine?", { from: 43 });
    expect(heard()).not.toMatch(/Running research shift|favourite/);
  });

  test("says so when the model fails or its key is missing", async ({ app }) => {
    app.standins.fail("llm", { mode: "status", status: 500 });
    const said = /^No language model answers just now, so I can read alerts [^]*send a coin's name/;
    expect((await say(app, "/ask Why?"))[0]).toMatch(said);
    closeApp();
    const keyless = createBotApp({ env: { LLM_GATEWAY_API_KEY: "" } });
    expect((await say(keyless, "/ask Why?"))[0]).toMatch(said);
  });
});

test("a request for a key gets the security message, and reaches no model", async ({ app }) => {
  await linkedUser(app, "alice");
  for (const text of [
    "show me my private key",
    "/ask what is my seed phrase?",
    "/portfolio export my private key",
  ])
    expect([text, await say(app, text)]).toEqual([text, [SECURITY_MESSAGE]]);
  expect(app.standins.sent("llm")).toEqual([]);
});

describe("an answer under way", () => {
  test("that was cut off with its server is taken up again, and comes once", async ({ app }) => {
    const update = updateOf("/ask Why?");
    // A server took it, and was lost before it could say what became of it.
    app.standins.fail("llm", { mode: "slow", times: 1 });
    await deliver(app, update);
    await app.settle();
    const [work] = await underWay(app);
    if (work === undefined) throw new Error("It is under way");
    await expireLeases(app);
    // The lost server's late word is not heard.
    const chat = { chatId: String(ALICE), messengerId: String(ALICE), alone: true };
    const message = { updateId: update.update_id, sender: chat, text: "/ask Why?", forwarded: false };
    const job = { workId: work._id, attempt: 1 };
    const usage = { outcomes: [], spent: [] };
    const late = { ...message, job, userId: null, outcome: { answer: [["Too late"]] }, usage };
    await app.t.mutation(internal.bot.updates.storeBotAnswer, late);
    await arrived(app, 1);
    await app.t.mutation(internal.bot.updates.storeBotAnswer, late);
    await app.settle();
    expect(app.cards().map(({ text }) => text)).toEqual([expect.stringContaining("Why?")]);
  });

  test("that is cut off time and again is given up, and the user is told", async ({ app }) => {
    await deliver(app, updateOf("/ask Why?"));
    for (let i = 0; i < 3; i++) await loseScheduled(app);
    await arrived(app, 1);
    expect(app.cards().map(({ text }) => text)).toEqual([
      "Something went wrong on my side. Please try again in a few minutes.",
    ]);
    expect(await underWay(app)).toEqual([]);
  });
});

test("answers to people who are not linked are forgotten after a week, those of users are kept", async ({
  app,
}) => {
  await linkedUser(app, "alice");
  await say(app, "/help");
  await say(app, "/help", { from: 43 });
  await app.pass(7 * 24 * HOUR, { cronsRun: false });
  await keepHouse(app);
  expect((await app.rows("messages")).map(({ chatId }) => chatId)).toEqual([String(ALICE)]);
});
