import { expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { sha256Hex } from "../../convex/lib/crypto";
import { DAY } from "../../convex/lib/time";
import { useChain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import {
  claimsTakeEffect,
  keyOf,
  newest,
  owner,
  say,
  send,
  tap,
  test,
  twoHoursPass,
} from "../support/owners";
import { BROWSER, says, soundWords } from "./support";

/** The owner's page: who sees what it shows, how long, and what it can do. */

useChain();

const [ALICE, BOB] = [42, 43];
const CLOSED = "Your page is closed";

const words = (answer: Parameters<typeof soundWords>[0]) => soundWords(answer, "no-store");
const look = async (app: WalletApp, cookie: string) =>
  words(await app.get("/me", { headers: { Accept: BROWSER, Cookie: cookie } }));

/** Sends a form as a browser does. */
function submit(app: WalletApp, path: string, fields: Record<string, string>, headers: object = {}) {
  const form = { Accept: BROWSER, "Content-Type": "application/x-www-form-urlencoded", ...headers };
  return app.call("POST", path, { headers: form, body: new URLSearchParams(fields).toString() });
}

const tokenIn = (url: unknown) => new URL(String(url)).searchParams.get("token") ?? "";

/** Opens a link in a browser. @returns The browser's cookie. */
async function openLink(app: WalletApp, token: string, cookie = "") {
  const answer = await submit(app, "/me/open", { token }, { Cookie: cookie });
  expect([answer.status, answer.headers.get("location"), answer.text]).toEqual([303, "/me", ""]);
  const set = answer.headers.get("set-cookie") ?? "";
  expect(set).toMatch(/^__Host-page=[0-9a-f]{64}; Path=\/; Max-Age=3600; HttpOnly; Secure; SameSite=Strict$/);
  return set.split(";")[0] ?? "";
}

async function linkOf(app: WalletApp, userId: string, person = ALICE): Promise<string> {
  const { status, body } = await app.post("/me/link", { userId }, { as: `person-${person}` });
  expect([status, Object.keys(body)]).toEqual([200, ["url", "expiresAt"]]);
  return tokenIn(body.url);
}

/** A new session of an owner's. */
const enter = async (app: WalletApp, userId: string, person = ALICE) =>
  openLink(app, await linkOf(app, userId, person));

/** Nothing of the service's log, and of the cards that it has stored, has any of these. */
async function expectUntold(app: WalletApp, secrets: readonly string[]): Promise<void> {
  const told = JSON.stringify([app.logged, await app.rows("messages"), await app.rows("pageSessions")]);
  for (const secret of secrets) expect(told.includes(secret.replace(/^__Host-page=/, ""))).toBe(false);
}

test("a link of the owner's shows once what the account has, and no other link shows anything", async ({
  app,
}) => {
  const { userId, address, browser } = await owner(app);
  const key = await keyOf(app, browser, ["read", "trade"], "50");
  await app.get(`/mcp/wallet/balance?userId=${userId}`, key.init);
  // One write a key and day.
  for (const [now, isNoted] of [
    [Date.now(), true],
    [Date.now() + DAY, false],
  ] as const) {
    const asked = { name: userId, keyHash: sha256Hex(key.key), access: "shown" as const, now };
    const { newlyUsed } = await app.t.query(internal.identity.access.resolveRequestedAccount, asked);
    expect(newlyUsed === undefined).toBe(isNoted);
  }
  for (const [given, init, status] of [
    [userId, {}, 401],
    [userId, key.init, 401],
    [userId, { as: "mallory" }, 403],
    ["nobody-owns-this-long-id", { as: `person-${ALICE}` }, 403],
  ] as const)
    expect((await app.post("/me/link", { userId: given }, init)).status).toBe(status);

  const token = await linkOf(app, userId);
  for (const method of ["GET", "HEAD", "GET"]) {
    const shown = await app.call(method, `/me/open?token=${token}`, { headers: { Accept: BROWSER } });
    expect(shown.headers.get("set-cookie")).toBeNull();
    if (method === "GET") says(words(shown), "Open your page?", "just asked for the link yourself");
  }
  const elsewhere = await submit(app, "/me/open", { token }, { "Sec-Fetch-Site": "cross-site" });
  expect(elsewhere.status).toBe(403);
  const cookie = await openLink(app, token);
  const guess = "0".repeat(64);
  const late = await linkOf(app, userId);
  await app.t.run(async ({ db }) => {
    for (const { _id, kind } of await db.query("pageSessions").collect())
      if (kind === "link") await db.patch("pageSessions", _id, { expiresAt: Date.now() });
  });
  const session = cookie.slice("__Host-page=".length);
  for (const bad of [token, guess, late, session]) {
    const { status, text, headers } = await submit(app, "/me/open", { token: bad });
    expect([status, headers.get("set-cookie"), text.includes(address)]).toEqual([404, null, false]);
  }
  for (const other of ["", `__Host-page=${guess}`, `__Host-page=${token}`, `page=${session}`])
    says(await look(app, other), CLOSED, "/me", "10 minutes");

  // The wallet has its money for two hours: its chart begins after one.
  const earlier = Date.now() - DAY / 12;
  await app.t.run(async ({ db }) => {
    const seen = { token: "ETH", priceUsd: 3_000, source: "coinbase", observedAt: earlier } as const;
    for (const at of [earlier, Date.now()])
      await db.insert("priceSamples", { ...seen, takenAt: at - 60_000 });
    for (const { _id } of await db.query("moves").collect()) await db.patch("moves", _id, { at: earlier });
  });
  await app.post("/mcp/defi/send", send(userId));
  says(await look(app, cookie), "Waits for your tap", "25 USDC to 0x", "Ordered with your account id.");
  await tap(app, "✅ Approve");
  await app.settle();
  await say(app, "/alert BTC above 999,000");
  const answer = await app.get("/me", { headers: { Accept: BROWSER, Cookie: `a=b; ${cookie}; c=d` } });
  const page = words(answer);
  expect(answer.headers.get("vary")).toBe("Cookie");
  says(page, address, "USDC 975 $975.00", "done · ", "by your tap.", "not set yet");
  says(page, "Made in all", "Network fees", "Taken out $25.00", "Worth of the wallet over time");
  says(page, "All orders together", "of $2,000.00", "Linked chat 42 since ", "the web application");
  says(page, "my script read, trade · at most $50.00 in 24 hours · last used on ");
  const [order] = await app.rows("orders");
  expect(answer.text).toContain(`href="https://basescan.org/tx/${order?.txHash}"`);
  for (const secret of [userId, key.key, session]) expect(answer.text).not.toContain(secret);
  await expectUntold(app, [token, late, cookie]);
  expect(JSON.stringify(app.logged)).not.toContain(userId);

  // The hour is over.
  await app.t.run(async ({ db }) => {
    for (const { _id } of await db.query("pageSessions").collect())
      await db.patch("pageSessions", _id, { expiresAt: Date.now() });
  });
  says(await look(app, cookie), CLOSED);
});

test("the bot's link takes the place of another owner's page, and freezes as the chat does, by its own form alone", async ({
  app,
}) => {
  const alice = await owner(app);
  const bob = await owner(app, { ETH: 1n }, BOB);
  const first = await enter(app, alice.userId);
  await say(app, "/me", BOB);
  const card = await newest(app, BOB);
  says(card, "works once, within 10 minutes");
  const [, token = ""] =
    /href="https:\/\/some\.convex\.site\/me\/open\?token=([0-9a-f]{64})"/.exec(card) ?? [];
  const second = await openLink(app, token, first);
  const shown = await look(app, second);
  says(shown, bob.address);
  expect(shown).not.toContain(alice.address);
  says(await look(app, first), CLOSED);
  await expectUntold(app, [token, first, second]);

  // An operator's change of login waits, which a chat does not cancel.
  const login = "https://issuer.test|bob's new one";
  await app.t.mutation(internal.accounts.claims.changeLogin, { userId: bob.userId, login, reason: "lost" });
  const formIn = async (cookie: string) => {
    const { text } = await app.get("/me", { headers: { Accept: BROWSER, Cookie: cookie } });
    return /name="form" value="([0-9a-f]{64})"/.exec(text)?.[1] ?? "";
  };
  const form = await formIn(second);
  const others = await formIn(await enter(app, alice.userId));
  for (const [fields, headers, status] of [
    [{}, { Cookie: second }, 400],
    [{ form: others }, { Cookie: second }, 409],
    [{ form }, {}, 409],
    [{ form }, { Cookie: second, "Sec-Fetch-Site": "same-site" }, 403],
  ] as const)
    expect((await submit(app, "/me/freeze", fields, headers)).status).toBe(status);
  expect((await app.rows("accounts")).filter(({ frozenAt }) => frozenAt !== undefined)).toEqual([]);
  const frozen = await submit(
    app,
    "/me/freeze",
    { form },
    { Cookie: second, "Sec-Fetch-Site": "same-origin" },
  );
  says(words(frozen), "Your account is frozen");
  expect(frozen.headers.get("set-cookie")).toMatch(/^__Host-page=; Path=\/; Max-Age=0; /);
  says(await look(app, second), CLOSED);
  const [row] = (await app.rows("accounts")).filter(({ frozenAt }) => frozenAt !== undefined);
  expect([row?.userId, row?.claim?.login]).toEqual([bob.userId, login]);
  says(await look(app, await enter(app, bob.userId, BOB)), "It is frozen", "It gets another login");
});

test("a log-out, a new id, an unlink, a freeze and a changed login end a page, and void its links", async ({
  app,
}) => {
  const { userId, browser } = await owner(app);
  let id = userId;
  const ends: Record<string, (cookie: string) => Promise<unknown>> = {
    "log-out": (cookie) => submit(app, "/me/logout", {}, { Cookie: cookie }),
    "new id": async () => {
      id = (await browser.mutation(api.accounts.profile.replaceUserId, {})).userId;
    },
    unlink: () => browser.mutation(api.messenger.linking.unlink, {}),
    freeze: () => browser.mutation(api.accounts.profile.freeze, {}),
    "changed login": async () => {
      const login = "https://issuer.test|another";
      await app.t.mutation(internal.accounts.claims.changeLogin, { userId: id, login, reason: "lost" });
      await claimsTakeEffect(app);
    },
  };
  for (const [name, end] of Object.entries(ends)) {
    const cookie = await enter(app, id);
    const other = await linkOf(app, id);
    expect([name, (await look(app, cookie)).includes(CLOSED)]).toEqual([name, false]);
    await end(cookie);
    expect([name, (await look(app, cookie)).includes(CLOSED)]).toEqual([name, true]);
    if (name !== "log-out") expect((await submit(app, "/me/open", { token: other })).status).toBe(404);
  }
  // What changes no access keeps the page open: the same person looks at what their change has done.
  await twoHoursPass(app);
  const person = app.t.withIdentity({
    subject: "another",
    issuer: "https://issuer.test",
    tokenIdentifier: "https://issuer.test|another",
  });
  const { url } = await person.mutation(api.accounts.pageSessions.createLink, {});
  const cookie = await openLink(app, tokenIn(url));
  await person.mutation(api.accounts.profile.setLimit, { dailyUsd: "100" });
  says(await look(app, cookie), "of $100.00");
  // An account has few rows, however many links are made.
  for (let i = 0; i < 8; i++) await person.mutation(api.accounts.pageSessions.createLink, {});
  expect((await app.rows("pageSessions")).length).toBeLessThanOrEqual(5);
});
