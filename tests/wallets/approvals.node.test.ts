import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { SECRET, updateOf } from "../bot/support";
import { real } from "../../scripts/real";
import { chain, useChain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import { cards, newest, owner, say, send, signed, tap, test, twoHoursPass } from "../support/owners";

/** An order by `userId` alone of an owner: asked of its owner, whose tap decides, once. */

useChain();

/** An hour passes for what the owner has refused. */
const hourPasses = (app: WalletApp) =>
  app.t.run(async ({ db }) => {
    for (const { _id, endedAt } of await db.query("orders").collect())
      if (endedAt !== undefined) await db.patch("orders", _id, { endedAt: endedAt - 3_600_000 });
  });

const held = async (app: WalletApp, userId: string) => {
  const { body } = await app.get(`/mcp/wallet/balance?userId=${userId}`);
  return body.usdc;
};

describe("a send by userId alone", () => {
  test("waits for a tap, and a repeat with its key returns the outcome", async ({ app }) => {
    const { userId } = await owner(app);
    const wanted = send(userId);
    const asked = await app.post("/mcp/defi/send", wanted);
    expect([asked.status, asked.body]).toMatchObject([
      202,
      {
        success: false,
        status: "awaiting_approval",
        error: expect.stringMatching(/^Waiting for the owner's approval/),
        approvalId: expect.any(String),
        idempotencyKey: expect.any(String),
        ...{ token: "USDC", amount: "25000000" },
      },
    ]);
    const [card] = await cards(app);
    expect(card?.text).toContain("25 USDC ($25) to 0x");
    expect(card?.text.toLowerCase()).toContain(wanted.toAddress);
    expect(card?.text).toContain("New: it is not on your list");
    expect(card?.keyboard?.map((row) => row.map(({ text }) => text))).toEqual([
      ["✅ Approve", "✖ Refuse"],
      ["🧊 Freeze"],
      [expect.stringMatching(/^Add 0x\w{4}…\w{4} \(counts in 2 h\)$/)],
    ]);
    expect((await app.rows("orders")).map(({ state }) => state)).toEqual(["asked"]);
    // By its key it is the same question; one is open at a time.
    const { idempotencyKey } = asked.body;
    const again = await app.post("/mcp/defi/send", { ...wanted, idempotencyKey });
    expect([again.status, again.body.approvalId]).toEqual([202, asked.body.approvalId]);
    expect((await app.post("/mcp/defi/send", wanted)).status).toBe(429);

    await tap(app, "✅ Approve");
    const done = await app.post("/mcp/defi/send", { ...wanted, idempotencyKey });
    expect([done.status, done.body]).toMatchObject([200, { success: true, status: "confirmed" }]);
    expect(await held(app, userId)).toBe("975");
    // A second tap, and another repeat, move nothing.
    await app.settle();
    const [, decided, ended] = await cards(app);
    expect(decided?.text).toContain("✅ Approved");
    expect(ended?.text).toMatch(/✅ Done[^]*25 USDC to[^]*Transaction 0x/);
    const repeat = await app.post("/mcp/defi/send", { ...wanted, idempotencyKey });
    expect(repeat.headers.get("idempotent-replayed")).toBe("true");
    expect(repeat.body.txHash).toBe(done.body.txHash);
    expect(await held(app, userId)).toBe("975");
    const other = await app.post("/mcp/defi/send", { ...send(userId), idempotencyKey });
    expect(other.status).toBe(409);
    expect(await app.rows("orders")).toMatchObject([{ by: "tap", request: { kind: "send" } }]);
  });

  test("is answered with its outcome where the owner taps while it waits", async ({ app }) => {
    deadlines.tap = 3_600_000;
    const { userId } = await owner(app);
    const waiting = app.post("/mcp/defi/send", send(userId));
    while ((await cards(app)).length === 0) await new Promise((go) => real.setTimeout(go, 20));
    await tap(app, "✅ Approve");
    expect(await waiting).toMatchObject({ status: 200, body: { success: true, status: "confirmed" } });
  });

  test("refused, expired, frozen or under other rules moves nothing", async ({ app }) => {
    const { userId, browser } = await owner(app);
    const wanted = send(userId, { idempotencyKey: "one" });
    await app.post("/mcp/defi/send", wanted);
    await tap(app, "✖ Refuse");
    const refused = await app.post("/mcp/defi/send", wanted);
    expect([refused.status, refused.body.error]).toEqual([403, "The owner has refused this"]);

    const second = send(userId, { idempotencyKey: "two", amount: "26000000" });
    const early = await app.post("/mcp/defi/send", second);
    expect([early.status, early.body.error]).toEqual([
      429,
      expect.stringContaining("has refused such a question"),
    ]);
    await hourPasses(app);
    expect((await app.post("/mcp/defi/send", second)).status).toBe(202);
    await browser.mutation(api.accounts.profile.setLimit, { dailyUsd: "100" });
    await tap(app, "✅ Approve");
    expect(await newest(app)).toContain("rules have changed");
    expect(await signed(app)).toEqual([]);
  });

  test("is nobody's to approve but the linked account's, by the account that is linked now", async ({
    app,
  }) => {
    const { userId, browser } = await owner(app);
    await app.post("/mcp/defi/send", send(userId));
    const [approval] = await app.rows("orders");
    await say(app, `/approve ${String(approval?._id)}`, 666);
    await owner(app, { ETH: 1n }, 43);
    await say(app, `/approve ${String(approval?._id)}`, 43);
    await browser.mutation(api.messenger.linking.unlink, {});
    await say(app, `/approve ${String(approval?._id)}`);
    expect(await signed(app)).toEqual([]);
    // Without a chat nobody can be asked.
    const { status, body } = await app.post("/mcp/defi/send", send(userId));
    expect([status, body.error]).toEqual([403, expect.stringContaining("or a tap in the owner's chat")]);
  });

  test("races of taps open one transaction", async ({ app }) => {
    const { userId } = await owner(app);
    await app.post("/mcp/defi/send", send(userId));
    const [approval] = await app.rows("orders");
    const headers = { "X-Telegram-Bot-Api-Secret-Token": SECRET };
    const approve = () =>
      app.post("/messenger/webhook", updateOf(`/approve ${String(approval?._id)}`), { headers });
    await Promise.all(Array.from({ length: 10 }, approve));
    await app.settle();
    expect(await signed(app)).toHaveLength(1);
    expect(await held(app, userId)).toBe("975");
  });

  test("of what has no live price says on its card that no limit counts it", async ({ app }) => {
    const { userId } = await owner(app);
    await chain.feeds.pause();
    try {
      await chain.feeds.set("USDC", { answer: 100_000_000n, updatedAt: 1_000 });
      expect((await app.post("/mcp/defi/send", send(userId))).status).toBe(202);
      expect(await newest(app)).toContain("there is no live price for it: no limit counts what it moves");
    } finally {
      await chain.feeds.tick();
      chain.feeds.resume();
    }
  });

  test("that could not be carried out is refused at once, and asks nobody", async ({ app }) => {
    const { userId } = await owner(app, { ETH: 10n ** 18n, USDC: 50_000_000n });
    const { status, body } = await app.post("/mcp/defi/send", send(userId, { amount: "99000000" }));
    expect([status, body.error]).toEqual([400, expect.stringContaining("Insufficient USDC")]);
    expect(await app.rows("orders")).toEqual([]);
  });
});

describe("an account that is frozen", () => {
  test("signs nothing, whoever asks, until two hours after its signed-in owner has ended it", async ({
    app,
  }) => {
    const { userId, browser } = await owner(app);
    await app.post("/mcp/defi/send", send(userId));
    await tap(app, "🧊 Freeze");
    await tap(app, "🧊 Freeze");
    expect(await newest(app)).toMatch(/Your account is frozen[^]*To end it, sign in/);
    const [approval] = await app.rows("orders");
    await say(app, `/approve ${String(approval?._id)}`);
    const byToken = await app.post("/mcp/defi/send", send(userId), { as: "person-42" });
    expect([byToken.status, byToken.body.error]).toEqual([
      503,
      expect.stringMatching(/frozen this account.* \/unfreeze/),
    ]);
    expect((await app.post("/mcp/defi/send", send(userId))).status).toBe(503);
    expect(await signed(app)).toEqual([]);
    await browser.mutation(api.accounts.profile.unfreeze, {});
    expect((await app.post("/mcp/defi/send", send(userId), { as: "person-42" })).status).toBe(503);
    await twoHoursPass(app);
    expect((await app.post("/mcp/defi/send", send(userId), { as: "person-42" })).status).toBe(200);
    // What was asked before stays void.
    await say(app, `/approve ${String(approval?._id)}`);
    expect(await signed(app)).toHaveLength(1);
  });
});
