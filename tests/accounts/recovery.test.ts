import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { linkedUser } from "../bot/support";
import { type App, test } from "../support/app";
import { identityOf } from "../support/world";
import { browserOf } from "../support/browser";

/** A lost login does not lock an account for ever, and nobody gets one quietly. */

const HOUR = 3_600_000;
const loginOf = (subject: string) => identityOf(subject).tokenIdentifier;

/** Alice has a wallet, and a linked account; her login is lost. */
async function lost(app: App) {
  const { userId } = await linkedUser(app, "alice", 42);
  const change = (subject: string) =>
    app.t.mutation(internal.accounts.claims.changeLogin, {
      userId,
      login: loginOf(subject),
      reason: "ticket 7: identity shown by video",
    });
  return { userId, change };
}

/** Who may act for the user. */
const owners = async (app: App, userId: string) => {
  const may = async (as: string) => (await app.post("/mcp/research/stop", { userId }, { as })).status === 200;
  return [await may("alice"), await may("alice-anew")];
};

describe("an operator's change of a lost login", () => {
  test("takes effect after two hours, is told before and behind, and ends the old one's keys", async ({
    app,
  }) => {
    const { userId, change } = await lost(app);
    // The new login has looked around already.
    await browserOf(app, "alice-anew").mutation(api.accounts.profile.signIn, {});
    const { key } = await browserOf(app, "alice").mutation(api.accounts.keys.create, {
      name: "old",
      scopes: ["read"],
    });
    const byKey = { headers: { Authorization: `Bearer ${key}` } };
    const balance = async () => (await app.get(`/mcp/wallet/balance?userId=${userId}`, byKey)).status;
    const from = await change("alice-anew");
    expect(from).toBeGreaterThanOrEqual(Date.now() + 2 * HOUR - 1);
    await app.settle();
    expect(app.cards().at(-1)).toMatchObject({
      chatId: "42",
      text: expect.stringContaining("another login"),
    });
    await app.advance(2 * HOUR - 60_000);
    expect([await owners(app, userId), await balance()]).toEqual([[true, false], 502]);
    await app.advance(120_000);
    expect([await owners(app, userId), await balance()]).toEqual([[false, true], 401]);
    expect(await browserOf(app, "alice-anew").query(api.accounts.profile.me, {})).toMatchObject({ userId });
    await app.settle();
    expect(app.cards().at(-1)?.text).toContain("has another login");
  });

  test("does not happen where the account is frozen", async ({ app }) => {
    const { userId, change } = await lost(app);
    await change("alice-anew");
    await browserOf(app, "alice").mutation(api.accounts.profile.freeze, {});
    await app.advance(3 * HOUR);
    expect(await owners(app, userId)).toEqual([true, false]);
  });

  test("is refused for an id of nobody's, and for a login that is in use, also by then", async ({ app }) => {
    const { userId, change } = await lost(app);
    const nobodys = { userId: "nobody", login: loginOf("alice"), reason: "" };
    await expect(app.t.mutation(internal.accounts.claims.changeLogin, nobodys)).rejects.toMatchObject({
      data: { code: "not_found" },
    });
    await linkedUser(app, "bob", 43);
    await expect(change("bob")).rejects.toMatchObject({ data: { code: "conflict" } });
    await change("alice-anew");
    const { userId: own } = await linkedUser(app, "alice-anew", 44);
    await app.advance(3 * HOUR);
    expect((await owners(app, userId))[0]).toBe(true);
    expect((await owners(app, own))[1]).toBe(true);
  });
});
