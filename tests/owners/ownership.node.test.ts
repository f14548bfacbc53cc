import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { hashed } from "../../convex/users/names";
import { useChain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import { browserOf } from "../web/support";
import { newest, say, send, tap, test } from "./support";

/** From nothing to an owner with a phone: no web application, and the tools know a userId alone. */

useChain();

const LONG = "kq3vX9tLw2bTz7RfYh5MnP-of-an-assistant";
const order = send(LONG, { idempotencyKey: "k" });

/** Connects as a tool does. @returns What starts the bot. */
async function linkOf(app: WalletApp, userId: string): Promise<string> {
  const { body } = await app.get(`/mcp/defi/connect?userId=${encodeURIComponent(userId)}`);
  const url = new URL(String(body.ownerUrl));
  expect(url.href).toMatch(/^https:\/\/t\.me\/simulated_123456_bot\?start=own_[2-9A-Z]{12}$/);
  return `/start ${url.searchParams.get("start") ?? ""}`;
}

/** A wallet with money, owned by nothing but a phone. */
async function ownByTap(app: WalletApp): Promise<void> {
  await app.fundedWallet(LONG, { ETH: 10n ** 18n, USDC: 1_000_000_000n });
  await say(app, await linkOf(app, LONG));
  await tap(app, "🔐 Own");
}

test("a person owns an assistant's wallet by a tap, and approves its first order", async ({ app }) => {
  const address = await app.fundedWallet(LONG, { ETH: 10n ** 18n, USDC: 1_000_000_000n });
  const start = await linkOf(app, LONG);
  expect(await linkOf(app, LONG)).toBe(start);
  await say(app, start);
  const offer = await newest(app);
  expect(offer).toContain(address);
  expect(offer).toContain("usr_");
  expect(offer).not.toContain(LONG);
  await tap(app, "🔐 Own");
  expect(await newest(app)).toContain("It is yours");
  expect(await app.rows("messengerLinks")).toMatchObject([
    { messengerId: "42", userId: hashed(LONG), confirmedAt: expect.any(Number) },
  ]);
  const found = await app.get("/messenger/wallet?messengerId=42");
  expect(found.body).toMatchObject({ linked: true, walletAddress: address, userId: LONG });
  // The id alone reads on, and moves nothing any more without the tap.
  expect((await app.get(`/mcp/wallet/balance?userId=${LONG}`)).body.usdc).toBe("1000");
  expect((await app.get(`/mcp/defi/connect?userId=${LONG}`)).body).not.toHaveProperty("ownerUrl");
  expect((await app.post("/mcp/defi/send", order)).status).toBe(202);
  await tap(app, "✅ Approve");
  expect(await app.post("/mcp/defi/send", order)).toMatchObject({
    status: 200,
    body: { status: "confirmed" },
  });
  // Nobody else owns it, by the same link or by a login.
  await say(app, start, 666);
  expect(await newest(app, 666)).toContain("has another owner already");
  await say(app, start.replace("/start own_", "/own "), 666);
  expect(await newest(app, 666)).toMatch(/Not yours(?! yet).*has another owner already/s);
  const claim = browserOf(app, "mallory").action(api.account.claims.claimUserId, { userId: LONG });
  await expect(claim).rejects.toMatchObject({ data: { code: "conflict" } });
});

test("an id that could be guessed waits for two days, and can be contested", async ({ app }) => {
  await app.fundedWallet("alice", { ETH: 10n ** 18n, USDC: 1_000_000_000n });
  await say(app, await linkOf(app, "alice"));
  expect(await newest(app)).toContain("48 hours after your tap");
  await tap(app, "🔐 Own");
  expect(await newest(app)).toContain("yours from");
  expect(await app.rows("users")).toEqual([]);
  // Until then the contract's clients go on.
  expect((await app.post("/mcp/defi/send", { ...order, userId: "alice" })).status).toBe(200);
  const [claim] = await app.rows("pendingClaims");
  expect(claim).toMatchObject({ userId: "alice", state: "open", tokenIdentifier: "messenger|42" });
  // Who taps second is told so.
  await say(app, await linkOf(app, "alice"), 666);
  await tap(app, "🔐 Own", { from: 666, chat: 666 });
  expect(await newest(app, 666)).toContain("Another claim of this account id");
  expect(await app.rows("pendingClaims")).toEqual([claim]);
});

describe("a link for an owner", () => {
  test("is nobody's in a group, forwarded, late or made up", async ({ app }) => {
    await app.post("/mcp/defi/connect", { userId: LONG });
    const start = await linkOf(app, LONG);
    const [row] = await app.rows("codes");
    if (row === undefined) throw new Error("The link has a row");
    expect(JSON.stringify(row)).not.toContain(start.slice(-12));
    await say(app, "/start own_AAAABBBBCCCC");
    expect(await newest(app)).toContain("no longer valid");
    await say(app, "/own AAAABBBBCCCC");
    expect(await newest(app)).toContain("no longer valid");
    await app.t.run((ctx) => ctx.db.patch("codes", row._id, { expiresAt: Date.now() - 1 }));
    await say(app, start);
    expect(await newest(app)).toContain("no longer valid");
    expect(await app.rows("users")).toEqual([]);
  });

  test("is for one account each: who owns an id owns no other", async ({ app }) => {
    await app.post("/mcp/defi/connect", { userId: LONG });
    await say(app, await linkOf(app, LONG));
    await tap(app, "🔐 Own");
    const other = `${LONG}-two`;
    await app.post("/mcp/defi/connect", { userId: other });
    await say(app, await linkOf(app, other));
    expect(await newest(app)).toContain("already owns another account id");
  });
});

test("an account that is the only login is not unlinked, and goes on to approve", async ({ app }) => {
  await ownByTap(app);
  const links = await app.rows("messengerLinks");
  await say(app, "/unlink");
  expect(await newest(app)).toMatch(/not unlinked.*\/freeze.*\/newid.*login to the web application/s);
  expect(await app.rows("messengerLinks")).toEqual(links);
  expect((await app.post("/mcp/defi/send", order)).status).toBe(202);
  await tap(app, "✅ Approve");
  expect((await app.post("/mcp/defi/send", order)).body.status).toBe("confirmed");
  // With another login, which can link it again, it may go.
  const [user] = await app.rows("users");
  if (user === undefined) throw new Error("The owner has a row");
  await app.t.run((ctx) => ctx.db.patch("users", user._id, { tokenIdentifier: "https://issuer|alice" }));
  await say(app, "/unlink");
  expect(await newest(app)).toContain("Unlinked");
  expect(await app.rows("messengerLinks")).toEqual([]);
});

test("an owner by phone ends a freeze two hours later, and another freeze stands", async ({ app }) => {
  await ownByTap(app);
  await say(app, "/freeze");
  expect(await newest(app)).toContain("/unfreeze in your chat with the bot ends it");
  expect((await app.post("/mcp/defi/send", order)).status).toBe(503);
  await say(app, "/unfreeze");
  expect(await newest(app)).toContain("not frozen any more, unless");
  expect((await app.post("/mcp/defi/send", order)).status).toBe(503);
  const thaw = async () => {
    const jobs = await app.t.run((ctx) => ctx.db.system.query("_scheduled_functions").collect());
    return jobs.filter(({ name }) => name.includes("links:thawed")).map(({ scheduledTime }) => scheduledTime);
  };
  const [at = 0] = await thaw();
  expect(at).toBeGreaterThan(Date.now() + 7_100_000);
  expect((await app.rows("accountLevels"))[0]?.frozenAt).toBeTypeOf("number");
});
