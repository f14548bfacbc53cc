import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { OPERATOR } from "../../convex/lib/records/audit";
import { linkedUser } from "../bot/support";
import { createApp, type App, test } from "../support/app";
import { identityOf } from "../support/world";
import { browserOf } from "./support";

/** A lost login does not lock an account for ever, and nobody gets one quietly. */

const HOUR = 3_600_000;
const OWN_BOT = "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot";

/** Alice has a wallet, a bot of her own, and a linked account; her login is lost. */
async function lost() {
  const app = createApp();
  const { userId, walletAddress } = await linkedUser(app, "alice", 42);
  const settings = { userId, messengerBotToken: OWN_BOT, messengerChatId: "7" };
  expect((await app.post("/user/messenger", settings, { as: "alice" })).status).toBe(200);
  const open = (changes: object = {}) =>
    app.t.mutation(internal.account.recovery.open, {
      address: walletAddress.toLowerCase(),
      tokenIdentifier: tokenOf("alice-anew"),
      reason: "ticket 7: identity shown by video",
      ...changes,
    });
  return { app, userId, walletAddress, open };
}

function tokenOf(subject: string): string {
  const { issuer, subject: id } = identityOf(subject);
  return `${issuer}|${id}`;
}

/** Whether a login may change what is the user's. */
const moves = async (app: App, as: string, userId: string) =>
  (await app.post("/mcp/research/stop", { userId }, { as })).status === 200;
const rebinds = async (app: App) =>
  (await app.rows("auditEvents")).filter((one) => /rebind/.test(one.action));

describe("an operator's change of a lost login", () => {
  test("takes effect after 48 hours, is told on every channel before and behind, and written down", async () => {
    const { app, userId, walletAddress, open } = await lost();
    // The new login has looked around already.
    await browserOf(app, "alice-anew").mutation(api.users.profile.signIn, {});
    const { dueAt } = await open();
    expect(dueAt).toBeCloseTo(Date.now() + 48 * HOUR, -1);
    await app.settle();
    const told = app.cards().slice(-2);
    expect(told.map(({ botToken, chatId }) => [botToken === OWN_BOT, chatId])).toEqual(
      expect.arrayContaining([
        [true, "7"],
        [false, "42"],
      ]),
    );
    for (const { text } of told) expect(text).toContain("bound to another one");

    await app.advance(dueAt - Date.now() - 1_000);
    expect([await moves(app, "alice", userId), await moves(app, "alice-anew", userId)]).toEqual([
      true,
      false,
    ]);
    await app.advance(2_000);
    expect([await moves(app, "alice", userId), await moves(app, "alice-anew", userId)]).toEqual([
      false,
      true,
    ]);
    expect(await browserOf(app, "alice-anew").query(api.users.profile.me, {})).toMatchObject({ userId });
    const { body } = await app.post("/mcp/defi/connect", { userId });
    expect(body.address).toBe(walletAddress);
    await app.settle();
    expect(
      app
        .cards()
        .slice(-2)
        .map(({ text }) => text),
    ).toEqual([expect.stringContaining("has another login"), expect.stringContaining("has another login")]);
    expect(await rebinds(app)).toMatchObject([
      { actor: OPERATOR, action: "rebind opened", detail: expect.stringContaining("ticket 7") },
      { actor: OPERATOR, action: "rebind done" },
    ]);
  });

  test("does not happen where the user still has the login and says no, or the operator takes it back", async () => {
    const { app, userId, open } = await lost();
    const { dueAt } = await open();
    const alice = browserOf(app, "alice");
    expect(await alice.query(api.account.recovery.pending, {})).toBe(dueAt);
    await alice.mutation(api.account.recovery.refuse, {});
    expect(await alice.query(api.account.recovery.pending, {})).toBeNull();
    await expect(alice.mutation(api.account.recovery.refuse, {})).rejects.toMatchObject({
      data: { code: "not_found" },
    });
    const { rebindId } = await open();
    await app.t.mutation(internal.account.recovery.withdraw, { rebindId });
    await app.advance(49 * HOUR);
    expect([await moves(app, "alice", userId), await moves(app, "alice-anew", userId)]).toEqual([
      true,
      false,
    ]);
    expect((await rebinds(app)).map(({ actor, action }) => [actor, action])).toEqual([
      [OPERATOR, "rebind opened"],
      [userId, "rebind refused"],
      [OPERATOR, "rebind opened"],
      [OPERATOR, "rebind withdrawn"],
    ]);
  });

  test("is refused for an address of nobody's, for the same login, twice at a time, and for a login in use", async () => {
    const { app, userId, open } = await lost();
    await expect(open({ address: `0x${"12".repeat(20)}` })).rejects.toMatchObject({
      data: { code: "not_found" },
    });
    await expect(open({ tokenIdentifier: tokenOf("alice") })).rejects.toMatchObject({
      data: { code: "invalid_request" },
    });
    await linkedUser(app, "bob", 43);
    await expect(open({ tokenIdentifier: tokenOf("bob") })).rejects.toMatchObject({
      data: { code: "conflict" },
    });
    const { dueAt } = await open();
    await expect(open()).rejects.toMatchObject({ data: { code: "conflict" } });
    // The new login comes into use meanwhile: nothing of its own is lost.
    const { userId: own } = await linkedUser(app, "alice-anew", 44);
    await app.advance(dueAt - Date.now() + 1_000);
    expect([await moves(app, "alice", userId), await moves(app, "alice-anew", own)]).toEqual([true, true]);
    expect((await rebinds(app)).at(-1)).toMatchObject({ action: "rebind refused" });
  });
});
