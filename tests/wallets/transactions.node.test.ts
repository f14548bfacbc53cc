import { toFunctionSelector } from "viem";
import { describe, expect, onTestFinished, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { POOL } from "../../scripts/chain/addresses";
import { receiver } from "../messenger/receivers";
import { mined } from "../chain/support";
import { until } from "../support/waits";
import { ETHER, hex, chain, etherOf, nonceOf, useChain, test } from "../support/chain/chain";
import { deadlineByHand, freshAddress, unreachDeadlines, type WalletApp } from "../support/chain/walletApp";
import { intercept } from "../support/outside";
import { answering } from "../support/chain/rpc";
import { age, cronComesBy } from "../support/rows/transactions";

useChain();

const BOB = `0x${"b0".repeat(20)}` as const;

const send = (app: WalletApp, fields: object) =>
  app.post("/mcp/defi/send", { userId: "alice", toAddress: BOB, token: "ETH", amount: "1", ...fields });

test("a wallet of 0.1.0 is driven as any other", async ({ app }) => {
  await app.fundedWallet("alice", { ETH: ETHER });
  await app.t.run(async ({ db }) => {
    for (const { _id } of await db.query("wallets").collect())
      await db.patch("wallets", _id, { leaseUntil: undefined, driverUntil: 0 });
  });
  expect((await send(app, {})).body.status).toBe("confirmed");
});

describe("a chain that fails", () => {
  test("by not mining answers with the hash as submitted; the follow-up settles it", async ({ app }) => {
    const giveUp = deadlineByHand("receipt");
    await app.fundedWallet("alice", { ETH: ETHER });
    await chain.miner.pause();
    const warnings: string[] = [];
    const warned = ({ name }: Error) => void warnings.push(name);
    process.on("warning", warned);
    onTestFinished(() => void process.off("warning", warned));
    let looks = 0;
    intercept(({ body }, pass) => {
      // More looks than listeners that one signal may have without a warning.
      if (body.includes("eth_getTransactionReceipt") && ++looks === 15) giveUp();
      return pass();
    });
    const sent = await send(app, {});
    expect([sent.status, sent.body.status]).toEqual([200, "submitted"]);
    expect(warnings).toEqual([]);
    chain.miner.resume();
    await mined(chain, hex.parse(sent.body.txHash));
    await cronComesBy(app);
    expect((await app.rows("transactions"))[0]?.state).toBe("confirmed");
    expect((await app.rows("trades"))[0]?.status).toBe("confirmed");
  });

  test("by dropping a transaction gets the same bytes again", async ({ app }) => {
    deadlines.receipt = 200;
    await app.fundedWallet("alice", { ETH: ETHER });
    const to = freshAddress();
    await chain.miner.pause();
    const { body } = await send(app, { toAddress: to, amount: "5" });
    await chain.rpc("anvil_dropTransaction", [body.txHash]);
    await cronComesBy(app);
    chain.miner.resume();
    await mined(chain, hex.parse(body.txHash));
    await cronComesBy(app);
    expect((await app.rows("transactions"))[0]).toMatchObject({ state: "confirmed", txHash: body.txHash });
    expect(await etherOf(to)).toBe(5n);
  });
});

describe("a transaction on its way", () => {
  test("that another one replaced has failed, and its nonce is not used again", async ({ app }) => {
    deadlines.receipt = 200;
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const to = freshAddress();
    await chain.miner.pause();
    const { body } = await send(app, { toAddress: to, amount: "5" });
    await chain.rpc("anvil_dropTransaction", [body.txHash]);
    await chain.rpc("anvil_impersonateAccount", [owner]);
    const other = hex.parse(
      await chain.rpc("eth_sendTransaction", [{ from: owner, to: BOB, value: "0x1", nonce: "0x0" }]),
    );
    chain.miner.resume();
    await mined(chain, other);
    // One look may come from a node that is behind: only the same answer a minute later counts.
    await cronComesBy(app);
    expect((await app.rows("transactions"))[0]).toMatchObject({
      state: "broadcast",
      replacedSince: expect.any(Number),
    });
    await age(app, "replacedSince", 61_000);
    await cronComesBy(app);
    expect((await app.rows("transactions"))[0]).toMatchObject({
      state: "failed",
      error: "Another transaction took this one's place",
    });
    expect(await etherOf(to)).toBe(0n);
    unreachDeadlines();
    expect((await send(app, { toAddress: to, amount: "6" })).body.status).toBe("confirmed");
    expect((await app.rows("transactions"))[1]?.nonce).toBe(1);
  });

  test("that may not have arrived holds up the next, and no nonce is left out", async ({ app }) => {
    deadlines.receipt = 100;
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const restore = intercept(({ body }, pass) =>
      body.includes("eth_sendRawTransaction") ? Promise.reject(new TypeError("connection lost")) : pass(),
    );
    const lost = await send(app, { amount: "11" });
    expect([lost.status, lost.body.status]).toEqual([200, "submitted"]);
    // With nothing behind it the wallet's driver ends; the follow-up goes on asking, at its own pace.
    const isDriven = async () => (await app.rows("wallets"))[0]?.leaseUntil !== 0;
    await until(async () => !(await isDriven()));
    expect((await app.rows("transactions"))[0]?.state).toBe("unknown");
    deadlines.transaction = 400;
    const held = await send(app, { amount: "12" });
    expect([held.status, held.body.error]).toEqual([502, expect.stringContaining("nothing was moved")]);
    restore();
    unreachDeadlines();
    const next = await send(app, { amount: "13" });
    expect(next.body.status).toBe("confirmed");
    await cronComesBy(app);
    const rows = await app.rows("transactions");
    expect(rows.map(({ state, nonce }) => [state, nonce])).toEqual([
      ["confirmed", 0],
      ["failed", undefined],
      ["confirmed", 1],
    ]);
    expect(await nonceOf(owner)).toBe(2);
  });

  test("that the node refuses outright is not known to have failed: the next send hands it out again first", async ({
    app,
  }) => {
    deadlines.receipt = 100;
    await app.fundedWallet("alice", { ETH: ETHER });
    const error = { code: -32003, message: "Insufficient funds for gas * price + value" };
    const agree = answering(({ method }) => (method === "eth_sendRawTransaction" ? { error } : null));
    const refused = await send(app, {});
    expect([refused.status, refused.body.success, refused.body.status]).toEqual([200, true, "submitted"]);
    agree();
    expect((await app.rows("transactions"))[0]).toMatchObject({
      state: "unknown",
      error: "insufficient funds",
    });
    unreachDeadlines();
    expect((await send(app, {})).body.status).toBe("confirmed");
    await cronComesBy(app);
    expect(await app.rows("transactions")).toMatchObject([
      { state: "confirmed", nonce: 0 },
      { state: "confirmed", nonce: 1 },
    ]);
  });

  test("that would revert is refused before it is signed", async ({ app }) => {
    await app.fundedWallet("alice", { ETH: ETHER });
    // The swaps' pool takes no ether.
    const { status, body } = await send(app, { toAddress: POOL });
    const refused = toFunctionSelector("EtherRefused()");
    expect([status, body.error]).toEqual([
      400,
      `The transaction would fail: execution reverted with ${refused}`,
    ]);
    expect((await app.rows("transactions"))[0]).not.toHaveProperty("rawTransaction");
  });

  test("has to pay the L1's fee too, where the chain has one", async ({ app }) => {
    await app.fundedWallet("alice", { ETH: ETHER });
    const oracle = "0x420000000000000000000000000000000000000F";
    // Answers every call with one ether.
    await chain.rpc("anvil_setCode", [oracle, "0x670de0b6b3a764000060005260206000f3"]);
    try {
      const { status, body } = await send(app, {});
      expect([status, body.error]).toEqual([
        400,
        expect.stringContaining("Insufficient ETH for the network fee: 2.0"),
      ]);
    } finally {
      await chain.rpc("anvil_setCode", [oracle, "0x"]);
    }
  });

  test("is not signed with a damaged or foreign key", async ({ app }) => {
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const [key] = await app.rows("walletKeys");
    if (key === undefined) throw new Error("There is a key");
    const flipped = key.sealedKey.replace(/.$/, (last) => (last === "A" ? "Q" : "A"));
    await app.t.run((ctx) => ctx.db.patch("walletKeys", key._id, { sealedKey: flipped }));
    const damaged = await send(app, {});
    expect([damaged.status, damaged.body]).toEqual([500, { error: "A sealed secret is damaged" }]);
    await app.t.run((ctx) => ctx.db.patch("walletKeys", key._id, { sealedKey: key.sealedKey }));
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "99".repeat(32));
    const foreign = await send(app, {});
    expect([foreign.status, foreign.body]).toEqual([
      500,
      { error: "A sealed secret was sealed under another key" },
    ]);
    expect(await nonceOf(owner)).toBe(0);
  });
});

describe("a send that ended", () => {
  test("is told to the webhooks of whose it is, as the transaction shows itself", async ({ app }) => {
    const posted = receiver(() => new Response());
    await app.fundedWallet("alice", { ETH: ETHER });
    for (const userId of ["alice", "bob"])
      await app.post("/webhooks", {
        userId,
        url: `https://${userId}.example.com/`,
        events: ["transaction.ended"],
      });
    const order = { userId: "alice", toAddress: freshAddress(), token: "ETH", amount: "1000" };
    const { body } = await app.post("/mcp/defi/send", order);
    expect(body.status).toBe("confirmed");
    await app.t.mutation(internal.messenger.webhooks.posts.begin, {});
    await app.settle();
    expect(posted.map(({ url }) => url)).toEqual(["https://alice.example.com/"]);
    const told: unknown = JSON.parse(posted[0]?.body ?? "");
    expect(told).toEqual({
      type: "transaction.ended",
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        transactionId: expect.any(String),
        ...{ kind: "send", token: "ETH", amount: "1000", txHash: body.txHash },
        toAddress: expect.stringMatching(new RegExp(`^${order.toAddress}$`, "i")),
        ...{ status: "confirmed", error: null, success: true },
      },
    });
  });
});
