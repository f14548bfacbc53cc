import { expireLeases, loseScheduled } from "../support/rows/leases";
import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { commands } from "../../convex/bot/commands";
import { SECURITY_MESSAGE } from "../../convex/lib/security/keyRequests";
import { closeApp } from "../support/app";
import { keepHouse } from "../support/rows/housekeeping";
import {
  ALICE,
  arrived,
  createBotApp,
  deliver,
  linkedUser,
  say,
  updateOf,
  userWithCode,
  test,
  underWay,
} from "./support";

const HOUR = 3_600_000;
const MINUTE = 60_000;
const HOW_TO_LINK = expect.stringContaining(
  "the answer has an <b>ownerUrl</b>. Open it, or paste it here, and tap Own.",
);
const OWN_BOT = "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot";
/** Whoever fails, in words of the person who asked. */
const AWAY = "A source that I need does not answer just now. Try again in a minute.";

describe("every command", () => {
  test("can be put into the messenger's menu, and is told of by /help", async ({ app }) => {
    const [help = ""] = await say(app, "/help");
    for (const { name, summary } of commands.filter(({ traits }) => !traits.includes("hidden"))) {
      expect(name).toMatch(/^[a-z0-9_]{1,32}$/);
      expect(summary.length).toBeLessThanOrEqual(256);
      expect(help).toContain(summary.replaceAll("&", "&amp;"));
    }
    expect(new Set(commands.map(({ name }) => name)).size).toBe(commands.length);
    expect((await say(app, "/start"))[0]).toContain("Welcome!");
    expect((await say(app, "/HELP"))[0]).toBe(help);
  });

  test("that is about one's own tells an account that is not linked how to link", async ({ app }) => {
    const own = commands.filter(({ access, name }) => access === "linked" || name === "freeze");
    expect(own.map(({ name }) => name)).toEqual([
      ...["follow", "stop", "status", "portfolio", "swap", "send", "recipients"],
      ...["freeze", "unfreeze", "newid", "approve", "refuse"],
    ]);
    for (const { name } of own) expect([name, await say(app, `/${name}`)]).toEqual([name, [HOW_TO_LINK]]);
    expect(await underWay(app)).toEqual([]);
    expect(await app.rows("wallets")).toEqual([]);
  });

  test("is answered by the default bot, in the chat it came from", async ({ app }) => {
    const { userId } = await linkedUser(app, "alice");
    await app.post(
      "/user/messenger",
      { userId, messengerBotToken: OWN_BOT, messengerChatId: "7" },
      { as: "alice" },
    );
    await say(app, "/status");
    const [card] = app.cards();
    expect([card?.chatId, card?.botToken === OWN_BOT]).toEqual([String(ALICE), false]);
  });
});

describe("/connect", () => {
  test.for(["/connect", "/start"])("%s links the account that sends it", async (command, { app }) => {
    const { browser, code } = await userWithCode(app, "alice");
    expect(await say(app, "/connect")).toEqual([expect.stringContaining("/connect CODE")]);
    const answers = await say(app, `${command} ${code}`);
    const [wallet] = await app.rows("wallets");
    expect(answers).toEqual([expect.stringContaining(wallet?.address ?? "none")]);
    const { link } = await browser.query(api.messenger.linking.status, {});
    expect(link).toMatchObject({ messengerId: String(ALICE), messengerUsername: `user_${ALICE}` });
    const again = await say(app, `${command} ${code}`);
    expect(again).toEqual(answers);
    expect(await say(app, "/connect ABCDEFGH")).toEqual([
      expect.stringContaining("This account is already linked."),
    ]);
    expect(await underWay(app)).toEqual([]);
  });

  test("says what is wrong with a code, and stops guessing; HTTP's guesses count apart", async ({ app }) => {
    const { code } = await userWithCode(app, "alice");
    const unknown =
      "This code is unknown: it was used, mistyped or replaced by a newer one. Create a new one in the web application's profile.";
    expect(await say(app, "/connect ABCDEFGH")).toEqual([unknown]);
    const guesses = Array.from({ length: 18 }, (_, i) => `/connect GUESS${i}`);
    for (let minute = 0; minute < 2; minute++) {
      await Promise.all(guesses.map((guess) => deliver(app, updateOf(guess))));
      await app.pass(MINUTE, { cronsRun: false });
    }
    expect(app.cards().map(({ text }) => text)).toContain(
      "Too many codes were tried. Wait a minute, then try again.",
    );
    expect(await app.rows("messengerLinks")).toEqual([]);
    await app.pass(2 * MINUTE, { cronsRun: false });
    for (let i = 0; i < 30; i++) {
      const guess = { linkToken: `GUESS${i}`, messengerId: String(ALICE) };
      await app.post("/messenger/connect", guess, { ip: `198.51.100.${i}` });
    }
    expect((await say(app, `/connect ${code}`))[0]).toContain("Linked");
  });
});

describe("a linked user", () => {
  test("is shown their shift, and stops it", async ({ app }) => {
    const { userId } = await linkedUser(app, "alice");
    expect(await say(app, "/status")).toEqual(["No research shift is running."]);
    expect(await say(app, "/stop")).toEqual(["You have no research shift running."]);
    await app.post("/mcp/research/start", { userId, token: "SOL" }, { as: "alice" });
    await app.pass(2.6 * HOUR);
    const [status = ""] = await say(app, "/status");
    expect(status).toContain("<b>🔬 Research shift · SOL</b>\nRunning for 2h 36min, 5h 24min to go");
    expect(status).toContain("Interim reports: 1 of 2");
    // Somebody else's command is nothing to it.
    await linkedUser(app, "bob", 43);
    expect(await say(app, "/stop", { from: 43 })).toEqual(["You have no research shift running."]);
    const before = app.cards().length;
    await app.post("/mcp/research/start", { userId }, { as: "alice" });
    await arrived(app, before + 1);
    expect(await say(app, "/stop")).toEqual([
      expect.stringMatching(/^I no longer follow (?:the whole market|BTC|SOL|ETH) and /),
    ]);
    expect((await app.rows("shifts")).map(({ status }) => status)).toEqual(["stopped", "stopped"]);
  });

  test("who has unlinked while an answer was under way is told nothing", async ({ app }) => {
    const { browser } = await linkedUser(app, "alice");
    await deliver(app, updateOf("/ask How is my research going?"));
    await browser.mutation(api.messenger.linking.unlink, {});
    for (let i = 0; i < 400 && (await underWay(app)).length > 0; i++) await app.settle(2);
    await arrived(app, 1);
    const asked = JSON.stringify(app.standins.sent("llm").map(({ body }) => body));
    expect(asked).not.toContain("this user's research");
    expect(await underWay(app)).toEqual([]);
  });

  test("is told when the chain cannot be read", async ({ app }) => {
    await linkedUser(app, "alice");
    expect(await say(app, "/portfolio")).toEqual([AWAY]);
  });
});

describe("/research", () => {
  test("answers with the card; a fresh result costs nothing more", async ({ app }) => {
    const [card] = await say(app, "/research $sol");
    expect(card).toMatch(/^<b>🔬 Research · SOL<\/b>\n5 Jan 2026/);
    expect(card).toContain("<b>Key signals</b>");
    const asked = app.standins.sent("llm").length;
    expect((await say(app, "/research SOL", { from: 43 }))[0]).toBe(card);
    expect(app.standins.sent("llm")).toHaveLength(asked);
    expect(await underWay(app)).toEqual([]);
  });

  test("/research says that somebody fails", async ({ app }) => {
    app.standins.fail("llm", { mode: "status", status: 500 });
    app.standins.fail("sentiment", { mode: "status", status: 500 });
    const answers = await say(app, "/research SOL");
    expect(answers).toEqual([AWAY]);
    expect(await underWay(app)).toEqual([]);
  });
});

describe("/ask", () => {
  test("answers with the assistant's words", async ({ app }) => {
    expect(await say(app, "/ask")).toEqual([expect.stringContaining("/ask How is Ethereum doing?")]);
    const answers = await say(app, "/ask Is 1 < 2 & <b>bold</b>?");
    expect(answers).toEqual([expect.stringContaining("Is 1 &lt; 2 &amp; &lt;b&gt;bold&lt;/b&gt;?")]);
  });

  test("knows a linked user's own research, and nobody else's", async ({ app }) => {
    const { userId } = await linkedUser(app, "alice");
    await app.post("/mcp/research/start", { userId, token: "SOL" }, { as: "alice" });
    await arrived(app, 1);
    for (const [from, known] of [
      [ALICE, true],
      [43, false],
    ] as const) {
      await say(app, "/ask What is running?", { from });
      const asked = JSON.stringify(app.standins.sent("llm").at(-1)?.body);
      expect(asked.includes("Running research shift on SOL")).toBe(known);
    }
  });

  test("remembers what a linked user said before in their own chat", async ({ app }) => {
    await linkedUser(app, "alice");
    await say(app, "/ask My favourite coin is SOL", { from: ALICE });
    await say(app, "/ask How is my favourite?", { from: ALICE });
    const heard = () => JSON.stringify(app.standins.sent("llm").at(-1)?.body);
    expect(heard()).toContain("My favourite coin is SOL");
    await say(app, "/ask And mine?", { from: 43 });
    expect(heard()).not.toContain("favourite");
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

describe("a request for a key", () => {
  test.for(["show me my private key", "/ask what is my seed phrase?", "/portfolio export my private key"])(
    "%s gets the security message, and reaches no model",
    async (text, { app }) => {
      await linkedUser(app, "alice");
      expect(await say(app, text)).toEqual([SECURITY_MESSAGE]);
      expect(app.standins.sent("llm")).toEqual([]);
    },
  );
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
    const late = { ...message, job, userId: null, outcome: { answer: [["Too late"]] } };
    await app.t.mutation(internal.bot.updates.settle, late);
    await arrived(app, 1);
    await app.t.mutation(internal.bot.updates.settle, late);
    await app.settle();
    expect(app.cards().map(({ text }) => text)).toEqual([expect.stringContaining("Why?")]);
  });

  test("that is cut off time and again is given up, and the user is told", async ({ app }) => {
    await deliver(app, updateOf("/ask Why?"));
    for (let i = 0; i < 3; i++) await loseScheduled(app);
    await arrived(app, 1);
    expect(app.cards().map(({ text }) => text)).toEqual([
      "Something went wrong on my side. Please try again later.",
    ]);
    expect(await underWay(app)).toEqual([]);
  });
});

describe("answers to people who are not linked", () => {
  test("are forgotten after a week, those of users are kept", async ({ app }) => {
    await linkedUser(app, "alice");
    await say(app, "/help");
    await say(app, "/help", { from: 43 });
    expect(await app.rows("messages")).toHaveLength(2);
    await app.pass(7 * 24 * HOUR, { cronsRun: false });
    await keepHouse(app);
    expect((await app.rows("messages")).map(({ chatId }) => chatId)).toEqual([String(ALICE)]);
  });
});
