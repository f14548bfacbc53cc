import { expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { useChain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import { identityOf } from "../support/world";
import { browserOf } from "../support/browser";
import { cards, claimsTakeEffect, newest, say, send, tap, test, twoHoursPass } from "../support/owners";

/** From nothing to an owner with a phone: no web application, and the tools know a userId alone. */

useChain();

const LONG = "kq3vX9tLw2bTz7RfYh5MnP-of-an-assistant";
const SHORT = "kq3vX9tLw2";
const order = send(LONG, { idempotencyKey: "k" });

/** Connects as a tool does. @returns What starts the bot. */
async function linkOf(app: WalletApp, userId: string): Promise<string> {
  const { body } = await app.get(`/mcp/defi/connect?userId=${encodeURIComponent(userId)}`);
  const url = new URL(String(body.ownerUrl));
  expect(url.href).toMatch(/^https:\/\/t\.me\/simulated_123456_bot\?start=own_[0-9a-f]{24}$/);
  return `/start ${url.searchParams.get("start")}`;
}

test("a person owns an assistant's new wallet by a tap, at once, and approves its first order", async ({
  app,
}) => {
  const address = await app.fundedWallet(LONG, { ETH: 10n ** 18n, USDC: 1_000_000_000n });
  const start = await linkOf(app, LONG);
  expect(await linkOf(app, LONG)).toBe(start);
  await say(app, start);
  const offer = await newest(app);
  for (const part of [address, "usr_"]) expect(offer).toContain(part);
  expect(offer).not.toMatch(new RegExp(`48 hours|${LONG}`));
  await tap(app, "🔐 Own");
  expect(await newest(app)).toContain("It is yours.");
  const found = await app.get("/messenger/wallet?messengerId=42");
  expect(found.body).toMatchObject({ linked: true, confirmed: true, walletAddress: address });
  expect(found.text).not.toContain(LONG);
  // The id alone reads on, and moves nothing any more without the tap.
  const balance = await app.get(`/mcp/wallet/balance?userId=${LONG}`);
  expect(balance.body).toMatchObject({ owned: true, ownedNote: expect.stringContaining("only its owner") });
  expect((await app.post("/mcp/defi/send", order)).status).toBe(202);
  await tap(app, "✅ Approve");
  expect((await app.post("/mcp/defi/send", order)).body.status).toBe("confirmed");
  // Nobody else owns it by a login.
  const claim = browserOf(app, "mallory").action(api.accounts.actions.claimUserId, { userId: LONG });
  await expect(claim).rejects.toMatchObject({ data: { code: "conflict" } });
});

test("a wallet whose id others may guess is the person's 48 hours after the tap, and they are told then", async ({
  app,
}) => {
  const address = await app.fundedWallet(SHORT, { ETH: 10n ** 18n, USDC: 1_000_000_000n });
  const start = await linkOf(app, SHORT);
  await say(app, start);
  const offer = await newest(app);
  for (const part of [address, "short enough for others to guess", "48 hours after your tap"])
    expect(offer).toContain(part);
  await tap(app, "🔐 Own");
  expect(await newest(app)).toContain("yours from");
  for (const command of ["/portfolio", "/connect", "/freeze"]) {
    await say(app, command);
    expect([command, await newest(app)]).toEqual([
      command,
      expect.stringMatching(/is yours from \d+ \w+ \d+/),
    ]);
  }
  // Until then the contract's clients go on, and nobody else is offered it.
  expect((await app.post("/mcp/defi/send", send(SHORT))).status).toBe(200);
  const waiting = await app.get(`/mcp/defi/connect?userId=${SHORT}`);
  expect(waiting.body).toMatchObject({ claimPending: expect.any(String), existing: true });
  expect(waiting.body).not.toHaveProperty("ownerUrl");
  await say(app, start, 666);
  expect(await newest(app, 666)).toContain("no longer valid");
  await claimsTakeEffect(app);
  expect(await newest(app)).toContain("that you have claimed is yours now");
  expect((await app.post("/mcp/defi/send", send(SHORT))).status).toBe(202);
});

test("a link for an owner is nobody's in another's hands by guessing, and for one account each", async ({
  app,
}) => {
  const link = await linkOf(app, LONG);
  for (const made of [`/start own_${"ab".repeat(12)}`, `/own ${"ab".repeat(12)}`]) {
    await say(app, made);
    expect(await newest(app)).toContain("no longer valid");
  }
  expect((await app.rows("accounts")).map(({ claim, login }) => claim ?? login)).toEqual([undefined]);
  await say(app, link);
  await tap(app, "🔐 Own");
  const second = await linkOf(app, `${LONG}-two`);
  await say(app, second.replace("/start own_", "/own "));
  expect(await newest(app)).toContain("You own another account id already");
});

test("an owner by phone alone keeps it linked, ends a freeze two hours later, and loses it to the login that an operator gives the account", async ({
  app,
}) => {
  await app.fundedWallet(LONG, { ETH: 10n ** 18n, USDC: 1_000_000_000n });
  await say(app, await linkOf(app, LONG));
  await tap(app, "🔐 Own");
  await say(app, "/unlink");
  expect(await newest(app)).toMatch(/do not unlink.*\/freeze.*\/newid.*make another login: \/login/s);

  await say(app, "/freeze");
  expect(await newest(app)).toContain("/unfreeze in your chat with the bot ends it");
  const status = async () => (await app.post("/mcp/defi/send", order)).status;
  await say(app, "/unfreeze");
  const told = (await cards(app)).find(({ text }) => text.includes("will not be frozen any more"));
  expect(told?.keyboard?.flat().map(({ text }) => text)).toEqual(["🧊 Freeze"]);
  expect(await status()).toBe(503);
  // Another freeze stands.
  await say(app, "/freeze");
  await twoHoursPass(app);
  expect(await status()).toBe(503);
  await say(app, "/unfreeze");
  await twoHoursPass(app);
  expect(await status()).toBe(202);

  const change = { userId: LONG, login: identityOf("alice").tokenIdentifier, reason: "ticket 7" };
  await app.t.mutation(internal.accounts.claims.changeLogin, change);
  await claimsTakeEffect(app);
  await tap(app, "✅ Approve");
  await say(app, "/freeze");
  expect((await app.post("/mcp/defi/send", send(LONG))).status).toBe(403);
  expect((await app.post("/mcp/defi/send", send(LONG), { as: "alice" })).status).toBe(200);
  expect((await app.rows("orders")).filter(({ tries }) => tries.length > 0)).toHaveLength(1);
});
