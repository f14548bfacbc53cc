import { describe, expect, vi } from "vitest";
import { api } from "../../convex/_generated/api";
import { arrived, confirm, linkedUser, userWithCode } from "../bot/support";
import { createApp, type App, test } from "../support/app";
import { browserOf } from "../support/browser";

const MINUTE = 60_000;
const OWN_BOT = "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot";
const UNKNOWN = {
  error:
    "This code is unknown: it was used, mistyped or replaced by a newer one. Create a new one in the web application's profile",
};

const connect = (app: App, linkToken: unknown, messengerId: unknown = "42", extra: object = {}) =>
  app.post("/messenger/connect", { linkToken, messengerId, messengerUsername: "@alice", ...extra });
const walletOf = async (app: App, messengerId: string) =>
  (await app.get(`/messenger/wallet?messengerId=${messengerId}`)).body;

const NOT_LINKED = { linked: false, confirmed: false, walletAddress: null, userId: null };

describe("a link code", () => {
  test("is 8 unambiguous characters, and stored as a hash alone", async ({ app }) => {
    const codes = new Set<string>();
    for (let i = 0; i < 40; i++) {
      const { code, expiresAt } = await userWithCode(app, `user-${i}`);
      expect(code).toMatch(/^[2-9A-HJ-NP-Z]{8}$/);
      // A transaction's time may be a millisecond ahead of the clock that stands still.
      expect(Math.abs(expiresAt - Date.now() - 10 * MINUTE)).toBeLessThan(5);
      codes.add(code);
    }
    expect(codes.size).toBe(40);
    const stored = JSON.stringify(await app.rows("codes"));
    for (const code of codes) expect(stored).not.toContain(code);
  });

  test("is replaced by the next one, and the older is worth nothing", async ({ app }) => {
    const { browser, code: older } = await userWithCode(app, "alice");
    const { code } = await browser.mutation(api.messenger.linking.createCode, {});
    expect(await app.rows("codes")).toHaveLength(1);
    expect(await connect(app, older)).toMatchObject({ status: 404, body: UNKNOWN });
    expect((await connect(app, code)).status).toBe(200);
  });

  test("of the user of an unconfirmed link replaces nothing over HTTP; the user can end it", async ({
    app,
  }) => {
    const { browser, code: older } = await userWithCode(app, "alice");
    expect((await connect(app, older)).status).toBe(200);
    const { code } = await browser.mutation(api.messenger.linking.createCode, {});
    expect((await connect(app, code)).status).toBe(409);
    expect((await connect(app, code, "43")).status).toBe(409);
    expect(await app.rows("messengerLinks")).toMatchObject([{ messengerId: "42" }]);
    await browser.mutation(api.messenger.linking.unlink, {});
    const next = await browser.mutation(api.messenger.linking.createCode, {});
    expect((await connect(app, next.code, "43")).status).toBe(200);
  });

  test.for([
    ["is good for a moment less than 10 minutes", 10 * MINUTE - 5, 200],
    ["has expired after exactly 10 minutes", 10 * MINUTE, 404],
  ] as const)("%s", async ([_name, age, status], { app }) => {
    const { code } = await userWithCode(app, "alice");
    vi.setSystemTime(Date.now() + age);
    const body = JSON.stringify({ linkToken: code, messengerId: "42" });
    // Without letting time pass while it runs.
    expect((await app.t.fetch("/messenger/connect", { method: "POST", body })).status).toBe(status);
  });

  test("is taken as people type it", async ({ app }) => {
    const { code } = await userWithCode(app, "alice");
    const typed = ` ${code.slice(0, 4).toLowerCase()}-${code.slice(4)} `;
    expect((await connect(app, typed)).status).toBe(200);
  });

  test("of a userId that was given up for another is worth nothing", async ({ app }) => {
    const { browser, code } = await userWithCode(app, "alice");
    await browser.action(api.accounts.actions.claimUserId, { userId: "my-own-id" });
    expect(await connect(app, code)).toMatchObject({ status: 404, body: UNKNOWN });
    expect(await app.rows("messengerLinks")).toEqual([]);
  });
});

describe("POST /messenger/connect", () => {
  test("links the account to the user's custody wallet, made when there is none", async ({ app }) => {
    const { browser, userId, code } = await userWithCode(app, "alice");
    const { status, body } = await connect(app, code);
    expect(status).toBe(200);
    expect(body).toEqual({ success: true, walletAddress: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/) });
    // Anybody may have said so: notices and trades wait until the account confirms it.
    const linked = { linked: true, walletAddress: body.walletAddress, userId };
    expect(await walletOf(app, "42")).toEqual({ ...linked, confirmed: false });
    await confirm(app, "42");
    expect(await walletOf(app, "42")).toEqual({ ...linked, confirmed: true });
    expect(await browser.query(api.messenger.linking.status, {})).toEqual({
      link: { messengerId: "42", messengerUsername: "@alice", linkedAt: expect.any(Number) },
    });
    expect((await app.post("/mcp/defi/connect", { userId })).body).toMatchObject({
      address: body.walletAddress,
      existing: true,
    });
  });

  test.for([
    [{ messengerId: "42" }, "linkToken is required"],
    [{ linkToken: " ", messengerId: "42" }, "linkToken is required"],
    [{ linkToken: 12, messengerId: "42" }, "linkToken must be a string"],
    [{ linkToken: "ABCDEFGH" }, "messengerId is required"],
    [{ linkToken: "ABCDEFGH", messengerId: "-100200" }, "messengerId must be a messenger account's id"],
    [{ linkToken: "ABCDEFGH", messengerId: {} }, "messengerId must be a messenger account's id"],
    [
      { linkToken: "ABCDEFGH", messengerId: "1", messengerUsername: "x".repeat(65) },
      "messengerUsername must be at most 64 characters",
    ],
  ])("refuses %j with 400", async ([body, error], { app }) => {
    expect(await app.post("/messenger/connect", body)).toMatchObject({ status: 400, body: { error } });
  });

  test.for([[true], [false]])(
    "is 409 for an account that has a link (confirmed: %s), whoever's the code, and whether or not it is one",
    async ([confirmed], { app }) => {
      const { userId } = await linkedUser(app, "alice", 42, { confirmed });
      const again = { status: 409, body: { error: "This messenger account is already linked" } };
      const bob = await userWithCode(app, "bob");
      const { code } = await browserOf(app, "alice").mutation(api.messenger.linking.createCode, {});
      for (const one of [bob.code, code, "ABCDEFGH"]) expect(await connect(app, one)).toMatchObject(again);
      expect(await app.rows("messengerLinks")).toMatchObject([{ userId, messengerId: "42" }]);
      expect(await walletOf(app, "42")).toMatchObject({ linked: true, userId });
      expect(await app.rows("codes")).toHaveLength(2);
    },
  );

  test("is 409 for a user who has linked another account, and the code stays good", async ({ app }) => {
    const { browser } = await linkedUser(app, "alice");
    const { code } = await browser.mutation(api.messenger.linking.createCode, {});
    expect(await connect(app, code, "43")).toMatchObject({
      status: 409,
      body: { error: "The user of this code has already linked a messenger account" },
    });
    expect(await walletOf(app, "43")).toEqual(NOT_LINKED);
    expect(await app.rows("codes")).toHaveLength(1);
  });

  test("gives a code to one of two racing accounts, and an account one link", async ({ app }) => {
    const { userId, code } = await userWithCode(app, "alice");
    const racers = Array.from({ length: 6 }, (_, i) => String(50 + i));
    const answers = await Promise.all(racers.map((id) => connect(app, code, id)));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 404, 404, 404, 404, 404]);
    const [link, ...others] = await app.rows("messengerLinks");
    expect(others).toEqual([]);
    expect(link?.messengerId).toBe(racers[answers.findIndex(({ status }) => status === 200)]);
    expect(link?.userId).toBe(userId);
    expect(await app.rows("wallets")).toHaveLength(1);

    const users = await Promise.all(["bob", "carol"].map((name) => userWithCode(app, name)));
    const both = await Promise.all(users.map((user) => connect(app, user.code, "99")));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await app.rows("messengerLinks")).filter(({ messengerId }) => messengerId === "99")).toHaveLength(
      1,
    );
  });
});

describe("guessing codes", () => {
  test("is limited per address, whatever account it names, with the time to come back", async ({ app }) => {
    const { code } = await userWithCode(app, "alice");
    const guess = (i: number, ip: string, token = `GUESS${i}`) =>
      app.post("/messenger/connect", { linkToken: token, messengerId: String(i) }, { ip });
    const statuses: number[] = [];
    for (let i = 1; i <= 25; i++) statuses.push((await guess(i, "192.0.2.7")).status);
    expect(statuses.filter((status) => status === 404).length).toBeLessThanOrEqual(22);
    expect(statuses.at(-1)).toBe(429);
    const refused = await guess(99, "192.0.2.7", code);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    // Somebody elsewhere is not held back by it.
    expect((await guess(99, "192.0.2.8", code)).status).toBe(200);
  });

  test("holds nobody else back, however many addresses guess", async ({ app }) => {
    const guesses = Array.from({ length: 420 }, (_, i) =>
      app.post(
        "/messenger/connect",
        { linkToken: `GUESS${i}`, messengerId: "1" },
        { ip: `198.51.${Math.floor(i / 200)}.${i % 200}` },
      ),
    );
    expect(new Set((await Promise.all(guesses)).map(({ status }) => status))).toEqual(new Set([404]));
    const { code } = await userWithCode(app, "alice");
    expect((await app.post("/messenger/connect", { linkToken: code, messengerId: "1" })).status).toBe(200);
  });
});

describe("with the operator's secret for bots", () => {
  const secret = "a-secret-for-the-bots-that-link";
  const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });

  test("every connect and look-up sends it, and what it links is confirmed", async () => {
    const app = createApp({ env: { MESSENGER_CONNECT_SECRET: secret } });
    const { userId, code } = await userWithCode(app, "alice");
    const body = { linkToken: code, messengerId: "42" };
    const lookUp = "/messenger/wallet?messengerId=42";
    for (const init of [{}, bearer("another-secret-for-the-bots-that")]) {
      expect((await app.post("/messenger/connect", body, init)).status).toBe(401);
      expect((await app.get(lookUp, init)).status).toBe(401);
    }
    expect((await app.post("/messenger/connect", body, bearer(secret))).status).toBe(200);
    expect((await app.get(lookUp, bearer(secret))).body).toMatchObject({
      ...{ linked: true, confirmed: true, userId },
    });
    expect(await app.rows("messengerLinks")).toMatchObject([{ confirmedAt: expect.any(Number) }]);
  });
});

describe("GET /messenger/wallet", () => {
  test("says that an account is not linked with nulls, and needs an id", async ({ app }) => {
    expect(await walletOf(app, "42")).toEqual(NOT_LINKED);
    expect(await app.get("/messenger/wallet")).toMatchObject({
      status: 400,
      body: { error: "messengerId is required" },
    });
  });
});

describe("unlinking", () => {
  test("frees account and user, withdraws the open code, and is 404 without a link", async ({ app }) => {
    const { browser, walletAddress } = await linkedUser(app, "alice");
    const { code } = await browser.mutation(api.messenger.linking.createCode, {});
    await browser.mutation(api.messenger.linking.unlink, {});
    expect(await walletOf(app, "42")).toEqual(NOT_LINKED);
    expect((await connect(app, code)).status).toBe(404);
    await expect(browser.mutation(api.messenger.linking.unlink, {})).rejects.toMatchObject({
      data: { code: "not_found" },
    });
    const next = await browser.mutation(api.messenger.linking.createCode, {});
    expect((await connect(app, next.code, "43")).body).toEqual({ success: true, walletAddress });
    const bob = await userWithCode(app, "bob");
    expect((await connect(app, bob.code, "42")).status).toBe(200);
  });
});

/** What is told of shifts, without what is told of links and settings. */
const shiftCards = (app: App) => app.cards().filter(({ text }) => !/unlinked|go elsewhere/.test(text));

describe("cards of a linked user", () => {
  const start = (app: App, userId: string, extra: object = {}) =>
    app.post("/mcp/research/start", { userId, ...extra }, { as: "alice" });

  test("go to the linked account's chat, until it is unlinked", async ({ app }) => {
    const { browser, userId } = await linkedUser(app, "alice");
    await start(app, userId);
    await arrived(app, 1);
    await browser.mutation(api.messenger.linking.unlink, {});
    await start(app, userId);
    await arrived(app, 2);
    expect(shiftCards(app).map(({ chatId }) => chatId)).toEqual(["42", "424242"]);
  });

  test("go to the shift's or the configured chat before that, by the user's own bot", async ({ app }) => {
    const { userId } = await linkedUser(app, "alice");
    await app.post("/user/messenger", { userId, messengerBotToken: OWN_BOT }, { as: "alice" });
    await start(app, userId);
    await arrived(app, 1);
    await app.post("/user/messenger", { userId, messengerChatId: "7" }, { as: "alice" });
    await start(app, userId);
    await arrived(app, 2);
    await start(app, userId, { messengerChatId: "8" });
    await arrived(app, 3);
    expect(shiftCards(app).map(({ botToken, chatId }) => [botToken, chatId])).toEqual([
      [OWN_BOT, "42"],
      [OWN_BOT, "7"],
      [OWN_BOT, "8"],
    ]);
  });

  test("do not go to an id that is no chat of the messenger's", async ({ app }) => {
    const { userId, code } = await userWithCode(app, "alice");
    expect((await connect(app, code, "some_account-1")).status).toBe(200);
    await start(app, userId);
    await arrived(app, 1);
    expect(app.cards().map(({ chatId }) => chatId)).toEqual(["424242"]);
  });
});
