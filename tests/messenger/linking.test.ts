import { describe, expect, vi } from "vitest";
import { api } from "../../convex/_generated/api";
import { derivePseudonym } from "../../convex/lib/crypto";
import { MINUTE } from "../../convex/lib/time";
import { arrived, linkedUser, userWithCode } from "../bot/support";
import { type App, test } from "../support/app";
import { browserOf } from "../support/browser";

const OWN_BOT = "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot";
const UNKNOWN =
  "This code is unknown: it was used, mistyped or replaced by a newer one. Create a new one in the web application's profile";
const NOT_LINKED = { linked: false, confirmed: false, walletAddress: null, userId: null };

async function connect(app: App, linkToken: unknown, messengerId = "42") {
  const { status, body } = await app.post("/messenger/connect", { linkToken, messengerId });
  return [status, body["error"]];
}
const walletOf = async (app: App, messengerId: string) =>
  (await app.get(`/messenger/wallet?messengerId=${messengerId}`)).body;
const nextCode = async (app: App, subject: string) =>
  (await browserOf(app, subject).mutation(api.messenger.linking.createCode, {})).code;

describe("a link code", () => {
  test("is 8 unambiguous characters, stored as a hash alone, and replaced by the next one", async ({
    app,
  }) => {
    const codes = new Set<string>();
    for (let i = 0; i < 20; i++) codes.add((await userWithCode(app, `user-${i % 10}`)).code);
    expect(codes.size).toBe(20);
    for (const code of codes) expect(code).toMatch(/^[2-9A-HJ-NP-Z]{8}$/);
    const stored = await app.rows("codes");
    expect(stored).toHaveLength(10);
    for (const code of codes) expect(JSON.stringify(stored)).not.toContain(code);
    const [older = ""] = codes;
    expect(await connect(app, older)).toEqual([404, UNKNOWN]);
    // As people type it.
    const code = await nextCode(app, "user-0");
    expect(await connect(app, ` ${code.slice(0, 4).toLowerCase()}-${code.slice(4)} `)).toEqual([
      200,
      undefined,
    ]);
  });

  test("is good for ten minutes, and not for a userId that was given up", async ({ app }) => {
    const { code } = await userWithCode(app, "alice");
    // Without letting time pass while it runs.
    const at = async (age: number, linkToken: string, messengerId: string) => {
      vi.setSystemTime(Date.now() + age);
      const body = JSON.stringify({ linkToken, messengerId });
      return (await app.t.fetch("/messenger/connect", { method: "POST", body })).status;
    };
    expect(await at(10 * MINUTE - 5, code, "42")).toBe(200);
    expect(await at(10 * MINUTE, (await userWithCode(app, "bob")).code, "43")).toBe(404);
    const carol = await userWithCode(app, "carol");
    await carol.browser.action(api.accounts.actions.claimUserId, { userId: "my-own-id" });
    expect(await connect(app, carol.code, "44")).toEqual([404, UNKNOWN]);
  });
});

describe("POST /messenger/connect", () => {
  const REFUSED: [object, string][] = [
    [{ linkToken: " ", messengerId: "42" }, "linkToken is required"],
    [{ linkToken: ["12"], messengerId: "42" }, "linkToken must be a string"],
    [{ linkToken: "ABCDEFGH" }, "messengerId is required"],
    [
      { linkToken: "ABCDEFGH", messengerId: "-100200" },
      "messengerId must be a messenger account's id: up to 64 letters, digits, _ and -, or a number",
    ],
    [
      { linkToken: "ABCDEFGH", messengerId: "1", messengerUsername: "x".repeat(65) },
      "messengerUsername must be at most 64 characters",
    ],
  ];
  test("refuses with 400 what is no code and no account", async ({ app }) => {
    for (const [body, error] of REFUSED)
      expect(await app.post("/messenger/connect", body)).toMatchObject({ status: 400, body: { error } });
  });

  test("links once: 409 for a linked account whatever the code, and for a user who has another; unlinking frees both", async ({
    app,
  }) => {
    const { userId, walletAddress, browser } = await linkedUser(app, "alice");
    const bob = await userWithCode(app, "bob");
    const own = await nextCode(app, "alice");
    for (const code of [bob.code, own, "ABCDEFGH"])
      expect(await connect(app, code)).toEqual([
        409,
        "This messenger account is already linked: unlink it first",
      ]);
    expect(await connect(app, own, "43")).toEqual([
      409,
      "The user of this code has already linked a messenger account: unlink that one first, in the web application's profile",
    ]);
    expect(await walletOf(app, "43")).toEqual(NOT_LINKED);
    // Whoever guesses the number of an account gets no id that could be used.
    const shown = { linked: true, confirmed: true, userId: derivePseudonym(userId), walletAddress };
    expect(await walletOf(app, "42")).toEqual(shown);
    expect(await browser.query(api.messenger.linking.status, {})).toEqual({
      link: { messengerId: "42", messengerUsername: "alice", linkedAt: expect.any(Number) },
    });
    await browser.mutation(api.messenger.linking.unlink, {});
    expect(await walletOf(app, "42")).toEqual(NOT_LINKED);
    // The open code is withdrawn.
    expect(await connect(app, own)).toEqual([404, UNKNOWN]);
    await expect(browser.mutation(api.messenger.linking.unlink, {})).rejects.toMatchObject({
      data: { code: "not_found" },
    });
    expect(await connect(app, await nextCode(app, "alice"), "43")).toEqual([200, undefined]);
    expect((await walletOf(app, "43")).walletAddress).toBe(walletAddress);
    expect(await connect(app, bob.code)).toEqual([200, undefined]);
  });

  test("replaces an unconfirmed link neither for its account nor for its user, who can end it", async ({
    app,
  }) => {
    const { browser } = await linkedUser(app, "alice", 42, { confirmed: false });
    const code = await nextCode(app, "alice");
    expect((await connect(app, code))[0]).toBe(409);
    expect((await connect(app, code, "43"))[0]).toBe(409);
    expect(await app.rows("messengerLinks")).toMatchObject([{ messengerId: "42" }]);
    await browser.mutation(api.messenger.linking.unlink, {});
    expect((await connect(app, await nextCode(app, "alice"), "43"))[0]).toBe(200);
  });

  test("gives an account that two codes race for one link", async ({ app }) => {
    const users = await Promise.all(["bob", "carol"].map((name) => userWithCode(app, name)));
    const both = await Promise.all(users.map((user) => connect(app, user.code, "99")));
    expect(both.map(([status]) => status).toSorted()).toEqual([200, 409]);
    expect(await app.rows("messengerLinks")).toHaveLength(1);
  });

  test("limits guesses per address, whatever account they name, and holds nobody else back", async ({
    app,
  }) => {
    const { code } = await userWithCode(app, "alice");
    const guess = (linkToken: string, ip: string) =>
      app.post("/messenger/connect", { linkToken, messengerId: "1" }, { ip });
    const statuses: number[] = [];
    for (let i = 1; i <= 25; i++) statuses.push((await guess(`GUESS${i}`, "192.0.2.7")).status);
    expect(statuses.filter((status) => status === 404).length).toBeLessThanOrEqual(22);
    const refused = await guess(code, "192.0.2.7");
    expect([statuses.at(-1), refused.status]).toEqual([429, 429]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    for (let i = 0; i < 60; i++) expect((await guess(`GUESS${i}`, `198.51.100.${i}`)).status).toBe(404);
    expect((await guess(code, "192.0.2.8")).status).toBe(200);
  });
});

test("cards go to the shift's chat, else the configured one, else the linked account's, else the service's", async ({
  app,
}) => {
  const { browser, userId } = await linkedUser(app, "alice");
  const as = { as: "alice" };
  const set = (fields: object) => app.post("/user/messenger", { userId, ...fields }, as);
  const started = async (extra: object = {}) => {
    const before = app.cards().length;
    await app.post("/mcp/research/start", { userId, ...extra }, as);
    await arrived(app, before + 1);
    const card = app.cards().findLast(({ text }) => text.includes("shift started"));
    return [card?.botToken === OWN_BOT, card?.chatId];
  };
  expect(await started()).toEqual([false, "42"]);
  await set({ messengerBotToken: OWN_BOT });
  expect(await started()).toEqual([true, "42"]);
  await set({ messengerChatId: "7" });
  expect(await started()).toEqual([true, "7"]);
  expect(await started({ messengerChatId: "8" })).toEqual([true, "8"]);
  await set({ messengerBotToken: "", messengerChatId: "" });
  await browser.mutation(api.messenger.linking.unlink, {});
  expect(await started()).toEqual([false, "424242"]);
  // An id that is no chat of the messenger's.
  expect(await connect(app, await nextCode(app, "alice"), "some_account-1")).toEqual([200, undefined]);
  expect(await started()).toEqual([false, "424242"]);
});
