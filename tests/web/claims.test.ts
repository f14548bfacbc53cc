import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { hashed } from "../../convex/users/names";
import { type App, test } from "../support/app";
import { orderRow } from "../support/rows/orders";
import { browserOf } from "./support";

/** What a claim of a `userId` ends that others had set on it, and what a claim that waits changes. */

const HOUR = 3_600_000;
const LONG = "kq3vX9tLw2bTz7RfYh5MnP";
const WEAK = "alice";
const OWN_BOT = "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot";
const HOOK = "https://hooks.example.com/mine";
const claim = (
  app: App,
  subject: string,
  userId: string,
  keep?: ("chat" | "bot" | "webhooks" | "alerts" | "shifts")[],
) =>
  browserOf(app, subject).action(api.account.claims.claimUserId, {
    userId,
    ...(keep === undefined ? {} : { keep }),
  });

/** A stranger who knows the id has set all there is to set on it. */
async function planted(app: App, userId: string) {
  await app.post("/user/messenger", { userId, messengerChatId: "666", messengerBotToken: OWN_BOT });
  const { body } = await app.post("/alerts", { userId, text: "BTC above 100000" });
  const alert = body.alert;
  if (typeof alert !== "object" || alert === null || !("alertId" in alert))
    throw new Error(JSON.stringify(body));
  await app.post("/alerts/confirm", { userId, alertId: alert.alertId });
  const hook = await app.post("/webhooks", { userId, url: HOOK });
  if (hook.status !== 200) throw new Error(hook.text);
  await app.post("/mcp/research/start", { userId, token: "ETH", messengerChatId: "667" });
  await app.settle();
  return {
    chat: "666",
    bot: true,
    webhooks: [HOOK],
    alerts: [expect.stringContaining("BTC")],
    shifts: [{ token: "ETH", chat: "667" }],
  };
}

/** What of it is left. */
async function left(app: App) {
  const [config] = await app.rows("messengerConfigs");
  const of = <Row extends object>(rows: Row[], field: keyof Row) => rows.map((row) => row[field]);
  return {
    chat: config?.chatId ?? null,
    bot: config?.sealedBotToken !== undefined,
    webhooks: of(await app.rows("webhooks"), "url"),
    alerts: of(await app.rows("alerts"), "state"),
    shifts: of(await app.rows("shifts"), "status"),
  };
}

describe("a claim", () => {
  test("shows what others have set on the id before, and ends it", async ({ app }) => {
    const found = await planted(app, LONG);
    const alice = browserOf(app, "alice");
    expect(await alice.action(api.account.claims.findLeftovers, { userId: LONG })).toEqual(found);
    expect(await claim(app, "alice", LONG)).toEqual({ userId: LONG, found, pendingUntil: null });
    expect(await left(app)).toEqual({
      ...{ chat: null, bot: false, webhooks: [], alerts: ["off"], shifts: ["stopped"] },
    });
    // The chat that was set hears of the owner, and after that none of the owner's own notices.
    await app.settle();
    expect(app.cards().at(-1)).toMatchObject({
      ...{ chatId: "666", text: expect.stringContaining("Your account id has an owner now") },
    });
    const before = app.cards().length;
    await alice.mutation(api.account.levels.set, { level: "closed" });
    await app.settle();
    expect(app.cards()).toHaveLength(before);
    const other = browserOf(app, "mallory").action(api.account.claims.findLeftovers, { userId: LONG });
    await expect(other).rejects.toMatchObject({ data: { code: "conflict" } });
  });

  test.for([
    ["chat", { chat: "666" }],
    ["bot", { bot: true }],
    ["webhooks", { webhooks: [HOOK] }],
    ["alerts", { alerts: ["active"] }],
    ["shifts", { shifts: ["active"] }],
  ] as const)("leaves %s to an owner who keeps it", async ([keep, stands], { app }) => {
    await planted(app, LONG);
    await claim(app, "alice", LONG, [keep]);
    expect(await left(app)).toEqual({
      ...{ chat: null, bot: false, webhooks: [], alerts: ["off"], shifts: ["stopped"] },
      ...stands,
    });
  });
});

test("whoever names an id that somebody owns is told so with its wallet, also where they come second", async ({
  app,
}) => {
  await claim(app, "mallory", WEAK);
  const connected = await app.post("/mcp/defi/connect", { userId: WEAK });
  expect([connected.status, connected.body.existing]).toEqual([200, false]);
  const hash = `0x${"ab".repeat(32)}`;
  await app.t.run(async ({ db }) => {
    const [wallet] = await db.query("wallets").take(1);
    if (wallet === null || wallet === undefined) return;
    const { walletId, address } = wallet;
    const request = { kind: "send" as const, token: "ETH" as const, toAddress: address, amount: "1" };
    await db.insert("orders", orderRow({ walletId, userId: WEAK, address, request, nonce: 0, txHash: hash }));
  });
  for (const { status, body } of [
    connected,
    await app.post("/mcp/defi/connect", { userId: WEAK }),
    await app.post("/mcp/wallet/create", { userId: WEAK }),
    await app.get(`/mcp/wallet/balance?userId=${WEAK}`),
    await app.get(`/mcp/defi/portfolio?userId=${WEAK}`),
    await app.get(`/mcp/defi/transaction?userId=${WEAK}&txHash=${hash}`),
  ])
    if (status === 200) expect(body.owner).toEqual({ level: "guarded" });
    // Here no chain answers for holdings.
    else expect(status).toBe(502);
  await browserOf(app, "mallory").mutation(api.account.levels.set, { level: "closed" });
  expect((await app.post("/mcp/wallet/create", { userId: WEAK })).body.owner).toEqual({ level: "closed" });
  expect((await app.post("/mcp/wallet/create", { userId: LONG })).body).not.toHaveProperty("owner");
});

describe("a claim of an id that could be guessed and has a wallet", () => {
  /** The id's own chat, and a claim of somebody's. */
  async function claimed(app: App) {
    await app.post("/mcp/defi/connect", { userId: WEAK });
    await app.post("/user/messenger", { userId: WEAK, messengerChatId: "7" });
    const told = await claim(app, "mallory", WEAK, ["shifts"]);
    await app.settle();
    const [code] = /<b>([2-9A-HJ-NP-Z]{12})<\/b>/.exec(app.cards().at(-1)?.text ?? "")?.slice(1) ?? [];
    return { told, code: code ?? "" };
  }

  test("waits for 48 hours, is told on the id's chat, and every answer to the id says so", async ({
    app,
  }) => {
    const now = Date.now();
    const { told, code } = await claimed(app);
    expect(told).toEqual({ userId: WEAK, found: null, pendingUntil: expect.closeTo(now + 48 * HOUR, -1) });
    expect(app.cards().at(-1)).toMatchObject({
      chatId: "7",
      text: expect.stringContaining("claimed the account id"),
    });
    expect(code).not.toBe("");
    expect(JSON.stringify(await app.rows("pendingClaims"))).not.toContain(code);
    const answers = [
      await app.post("/mcp/defi/connect", { userId: WEAK }),
      await app.post("/mcp/wallet/create", { userId: WEAK }),
      await app.post("/mcp/research/start", { userId: WEAK, token: "BTC" }),
      await app.get(`/mcp/research/status?userId=${WEAK}`),
      await app.post("/mcp/research/stop", { userId: WEAK }),
      await app.post("/user/messenger", { userId: WEAK, messengerChatId: "7" }),
      await app.get(`/mcp/signals/latest?userId=${WEAK}`),
      await app.post("/mcp/research", { userId: WEAK, token: "BTC" }),
      await app.post("/mcp/chat", { userId: WEAK, question: "How is BTC?" }),
    ];
    for (const { status, body } of answers)
      expect([status, body.claimPending, body.claimContest]).toEqual([
        200,
        expect.stringMatching(/^2026-01-07T09:00:00/),
        "code",
      ]);
    expect((await app.post("/mcp/defi/connect", { userId: LONG })).body).not.toHaveProperty("claimPending");
  });

  test("gives the claimer neither a level nor more than the id has, until its time comes", async ({
    app,
  }) => {
    await claimed(app);
    const mallory = browserOf(app, "mallory");
    await expect(mallory.mutation(api.account.levels.set, { level: "closed" })).rejects.toMatchObject({
      data: { code: "not_found" },
    });
    // Nor on the id of their own that they have meanwhile.
    await mallory.mutation(api.users.profile.signIn, {});
    for (const level of ["closed", "guarded"] as const)
      await expect(mallory.mutation(api.account.levels.set, { level })).rejects.toMatchObject({
        data: { code: "conflict", message: expect.stringContaining("You have a pending claim") },
      });
    await expect(claim(app, "carol", WEAK)).rejects.toMatchObject({ data: { code: "conflict" } });
    await app.pass(47 * HOUR, { cronsRun: false });
    // Who knows the id goes on as before: past the guard the chain is missing.
    const order = { userId: WEAK, token: "ETH", toAddress: `0x${"1".repeat(40)}`, amount: "1" };
    expect([401, 403]).not.toContain((await app.post("/mcp/defi/send", order)).status);
    await app.pass(2 * HOUR, { cronsRun: false });
    expect(await app.rows("users")).toMatchObject([{ userId: WEAK, claimed: true }]);
    expect((await app.post("/mcp/defi/send", order)).status).toBe(403);
    const { body } = await app.post("/mcp/defi/connect", { userId: WEAK });
    expect(body).not.toHaveProperty("claimPending");
    expect((await mallory.mutation(api.account.levels.set, { level: "closed" })).level).toBe("closed");
    expect((await left(app)).chat).toBeNull();
  });

  test("ends by the code that the id's chat was told, and nothing has changed", async ({ app }) => {
    const { code } = await claimed(app);
    const contest = (userId: string, told: string) =>
      app.t.mutation(api.account.pendingClaims.contest, { userId, code: told });
    await expect(contest(WEAK, "ABCDEFGHJKLM")).rejects.toMatchObject({ data: { code: "not_found" } });
    await expect(contest("another", code)).rejects.toMatchObject({ data: { code: "not_found" } });
    await contest(WEAK, code.toLowerCase());
    await expect(contest(WEAK, code)).rejects.toMatchObject({ data: { code: "not_found" } });
    await app.pass(49 * HOUR, { cronsRun: false });
    expect(await app.rows("users")).toEqual([]);
    expect((await left(app)).chat).toBe("7");
    expect(await app.rows("pendingClaims")).toMatchObject([{ state: "contested" }]);
    // Nobody holds the contester's attention with one claim after the other.
    for (const subject of ["mallory", "carol"])
      await expect(claim(app, subject, WEAK)).rejects.toMatchObject({
        data: { code: "conflict", message: expect.stringContaining("it can be claimed again from") },
      });
    await app.pass(6 * 24 * HOUR, { cronsRun: false });
    // Whoever wants it may ask again, and it waits again.
    expect((await claim(app, "carol", WEAK)).pendingUntil).toBe(Date.now() + 48 * HOUR);
  });

  test("is withdrawn by an operator who knows the wallet's address, and refused to a login that has another id by then", async ({
    app,
  }) => {
    await claimed(app);
    const [wallet] = await app.rows("wallets");
    const address = wallet?.address ?? "";
    await app.t.mutation(internal.account.pendingClaims.withdraw, { address, reason: "it is Alice's" });
    expect(await app.rows("pendingClaims")).toMatchObject([{ state: "withdrawn" }]);
    await claim(app, "carol", WEAK);
    await claim(app, "carol", LONG);
    await app.pass(49 * HOUR, { cronsRun: false });
    expect((await app.rows("pendingClaims")).map(({ state }) => state)).toEqual(["withdrawn", "refused"]);
    expect(await app.rows("users")).toMatchObject([{ userId: hashed(LONG) }]);
    expect((await app.rows("auditEvents")).map(({ action }) => action)).toEqual(
      expect.arrayContaining(["claim opened", "claim withdrawn", "claim refused"]),
    );
  });

  test("of an id without a wallet, or a long one, holds at once", async ({ app }) => {
    expect((await claim(app, "alice", WEAK)).pendingUntil).toBeNull();
    await app.post("/mcp/defi/connect", { userId: LONG });
    expect((await claim(app, "carol", LONG)).pendingUntil).toBeNull();
    expect(await app.rows("users")).toHaveLength(2);
  });
});
