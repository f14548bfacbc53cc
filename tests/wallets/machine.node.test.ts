import { parseTransaction } from "viem";
import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { receiver } from "../messenger/receivers";
import { mined } from "../chain/support";
import { until } from "../support/waits";
import { ETHER, hex, chain, etherOf, isMined, nonceOf, useChain, test } from "../support/chain/chain";
import { answering } from "../support/chain/rpc";
import { intercept } from "../support/outside";
import { age, cronComesBy } from "./orderRows";
import { freshAddress, unreachDeadlines, type WalletApp } from "../support/chain/walletApp";

/** Whatever the chain or its nodes do, a wallet moves again by itself: nothing twice, nothing lost. */

useChain();

const GWEI = 10n ** 9n;
const BOB = `0x${"b0".repeat(20)}` as const;

const send = (app: WalletApp, fields: object = {}, key?: string) =>
  app.post(
    "/mcp/defi/send",
    { userId: "alice", toAddress: BOB, token: "ETH", amount: "5", ...fields },
    key === undefined ? {} : { headers: { "Idempotency-Key": key } },
  );

const rowsOf = async (app: WalletApp) => (await app.rows("orders")).filter(({ tries }) => tries.length > 0);

/** What of the rows counts against caps, in micro-USD. */
const counted = async (app: WalletApp) =>
  (await app.rows("orders")).reduce(
    (sum, { state, countedAmount: micro }) => sum + (state === "failed" ? 0n : BigInt(micro)),
    0n,
  );

/** Blocks that bring what is some blocks back into view. */
async function mineBlocks(count = 12): Promise<void> {
  for (let n = 0; n < count; n++) await chain.miner.mine();
}

test("a confirmed send whose block is dropped is handed out again, whether something follows it or not", async ({
  app,
}) => {
  const owner = await app.fundedWallet("alice", { ETH: ETHER });
  const [first, second, third] = [freshAddress(), freshAddress(), freshAddress()];
  const lostSend = async (to: `0x${string}`) => {
    await chain.miner.pause();
    const sent = send(app, { toAddress: to });
    await until(async () => (await rowsOf(app)).at(-1)?.state === "signed");
    await until(async () => JSON.stringify(await chain.rpc("txpool_status")).includes('"pending":"0x1"'));
    await chain.miner.mine();
    const { body } = await sent;
    expect(body.status).toBe("confirmed");
    await chain.rpc("anvil_reorg", [1, []]);
    await chain.feeds.tick();
    expect(await isMined(body.txHash)).toBe(false);
    return body.txHash;
  };
  // Nothing follows: it is looked at once more.
  const txHash = await lostSend(first);
  await cronComesBy(app);
  chain.miner.resume();
  await until(() => isMined(txHash));
  await cronComesBy(app);
  expect((await rowsOf(app))[0]).toMatchObject({ state: "confirmed", nextCheckAt: Number.MAX_SAFE_INTEGER });
  // It holds up no later one.
  await lostSend(second);
  chain.miner.resume();
  expect((await send(app, { toAddress: third })).body.status).toBe("confirmed");
  expect(await Promise.all([first, second, third].map(etherOf))).toEqual([5n, 5n, 5n]);
  expect(await nonceOf(owner)).toBe(3);
});

test("a deployment restored from a backup signs nothing for a wallet of which the chain knows more, until the operator has read it back", async ({
  app,
}) => {
  const owner = await app.fundedWallet("alice", { ETH: ETHER });
  await send(app);
  await app.t.run(async (ctx) => {
    for (const { _id } of await ctx.db.query("orders").collect()) await ctx.db.delete("orders", _id);
    for (const { _id } of await ctx.db.query("wallets").collect())
      await ctx.db.patch("wallets", _id, { nextNonce: undefined });
  });
  const { status, body } = await send(app);
  expect([status, body.error]).toEqual([
    503,
    expect.stringMatching(/^The chain has transactions of this wallet that this service does not know/),
  ]);
  const repair = internal.wallets.actions.repair;
  expect(await app.t.action(repair, { address: owner.toLowerCase() })).toEqual({ mined: 1, nextNonce: 1 });
  expect((await send(app)).body.status).toBe("confirmed");
  expect(await nonceOf(owner)).toBe(2);
});

describe("the network fee", () => {
  test("has the L1's part where the chain has one; far above what is usual it is not paid, and nothing is signed", async ({
    app,
  }) => {
    await app.fundedWallet("alice", { ETH: ETHER });
    const oracle = "0x420000000000000000000000000000000000000F";
    // Answers every call with one ether.
    await chain.rpc("anvil_setCode", [oracle, "0x670de0b6b3a764000060005260206000f3"]);
    const short = await send(app);
    await chain.rpc("anvil_setCode", [oracle, "0x"]);
    expect([short.status, short.body.error]).toEqual([
      400,
      expect.stringMatching(/^Insufficient ETH for the network fee, at most .* USD \(2\.0\d? ETH\): 2\.0/),
    ]);
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", [`0x${(500n * GWEI).toString(16)}`]);
    await chain.miner.mine();
    const { status, body } = await send(app);
    expect([status, body.error]).toEqual([
      502,
      "The network fee is far above the usual, and above what this service pays: nothing was signed, so try again when fees have fallen",
    ]);
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", ["0x1"]);
    await chain.miner.mine();
    expect(await rowsOf(app)).toEqual([]);
  });

  /** A send that is pending while the next block asks for more than it offers. */
  async function outgrown(app: WalletApp, to: `0x${string}`) {
    deadlines.receipt = 200;
    await chain.miner.pause();
    const { body } = await send(app, { toAddress: to });
    expect(body.status).toBe("submitted");
    const [row] = await rowsOf(app);
    const { maxFeePerGas = 0n } = parseTransaction(hex.parse(row?.tries[0]?.raw));
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", [`0x${(maxFeePerGas * 2n).toString(16)}`]);
    await chain.miner.mine();
    expect(await isMined(body.txHash)).toBe(false);
    return String(body.txHash);
  }

  /** The newest bytes of the order are mined, and the cron finds them. @returns The order then. */
  async function comesOut(app: WalletApp) {
    const [row] = await rowsOf(app);
    chain.miner.resume();
    await until(() => isMined(row?.txHash));
    await cronComesBy(app);
    return (await rowsOf(app))[0];
  }

  test("that outgrows a send is met by the same send for more, under the same nonce; the hash that was mined is the one shown", async ({
    app,
  }) => {
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const to = freshAddress();
    const txHash = await outgrown(app, to);
    await cronComesBy(app);
    expect((await rowsOf(app))[0]?.tries).toHaveLength(1);
    await age(app, 61_000);
    await cronComesBy(app);
    const [row] = await rowsOf(app);
    expect(row?.tries.map(({ nonce, kind }) => [nonce, kind])).toEqual([
      [0, "call"],
      [0, "call"],
    ]);
    const minedHash = row?.tries[1]?.hash;
    expect((await comesOut(app))?.txHash).toBe(minedHash);
    for (const asked of [txHash, minedHash]) {
      const { body } = await app.get(`/mcp/defi/transaction?userId=alice&txHash=${asked}`);
      const explorerUrl = `https://basescan.org/tx/${minedHash}`;
      expect(body).toMatchObject({ txHash: minedHash, status: "confirmed", explorerUrl });
    }
    expect([await etherOf(to), await nonceOf(owner)]).toEqual([5n, 1]);
  });

  test("is not raised for an account that was frozen since: its nonce is used for nothing", async ({
    app,
  }) => {
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const to = freshAddress();
    await outgrown(app, to);
    vi.stubEnv("TRADING_PAUSED", "true");
    await age(app, 61_000);
    await cronComesBy(app);
    const [row] = await rowsOf(app);
    expect(row?.tries.map(({ kind }) => kind)).toEqual(["call", "empty"]);
    const error = expect.stringContaining("was withdrawn");
    expect(await comesOut(app)).toMatchObject({ state: "failed", error });
    expect([await etherOf(to), await nonceOf(owner)]).toEqual([0n, 1]);
  });

  test("that the wallet can no longer pay ends a send after ten minutes: it is withdrawn, and the next one goes", async ({
    app,
  }) => {
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const to = freshAddress();
    deadlines.receipt = 200;
    await chain.miner.pause();
    const { body } = await send(app, { toAddress: to, amount: (ETHER / 2n).toString() });
    await chain.rpc("anvil_dropTransaction", [body.txHash]);
    await chain.rpc("anvil_setBalance", [owner, `0x${(ETHER / 4n).toString(16)}`]);
    await cronComesBy(app);
    expect((await rowsOf(app))[0]?.tries).toHaveLength(1);
    await age(app, 601_000);
    await cronComesBy(app);
    expect((await rowsOf(app))[0]?.tries[1]?.kind).toBe("empty");
    expect((await comesOut(app))?.state).toBe("failed");
    deadlines.receipt = 15_000;
    expect((await send(app)).body.status).toBe("confirmed");
    expect([await etherOf(to), await nonceOf(owner)]).toEqual([0n, 2]);
  });
});

describe("a transaction on its way", () => {
  test("that another one replaced has failed, and its nonce is not used again", async ({ app }) => {
    deadlines.receipt = 200;
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const to = freshAddress();
    await chain.miner.pause();
    const { body } = await send(app, { toAddress: to });
    await chain.rpc("anvil_dropTransaction", [body.txHash]);
    await chain.rpc("anvil_impersonateAccount", [owner]);
    const other = hex.parse(
      await chain.rpc("eth_sendTransaction", [{ from: owner, to: BOB, value: "0x1", nonce: "0x0" }]),
    );
    chain.miner.resume();
    await mined(chain, other);
    await mineBlocks();
    // One look may come from a node that is behind: only the same answer a minute later counts.
    await cronComesBy(app);
    expect((await rowsOf(app))[0]).toMatchObject({ state: "signed", nonceConflictSince: expect.any(Number) });
    await age(app, 61_000);
    await cronComesBy(app);
    expect((await rowsOf(app))[0]).toMatchObject({
      state: "failed",
      error: "Another transaction of this wallet has used this one's nonce: order it again",
    });
    expect(await etherOf(to)).toBe(0n);
    unreachDeadlines();
    expect((await send(app, { toAddress: to, amount: "6" })).body.status).toBe("confirmed");
    expect((await rowsOf(app))[1]?.nonce).toBe(1);
  });

  test("that may not have arrived holds up the next, and no nonce is left out", async ({ app }) => {
    deadlines.receipt = 100;
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const restore = intercept(({ body }, pass) =>
      body.includes("eth_sendRawTransaction") ? Promise.reject(new TypeError("connection lost")) : pass(),
    );
    const lost = await send(app, { amount: "11" });
    expect([lost.status, lost.body.status]).toEqual([200, "submitted"]);
    deadlines.transaction = 1_200;
    const held = await send(app, { amount: "12" });
    expect([held.status, held.body.error, held.body.nothingMoved]).toEqual([
      502,
      expect.stringContaining("nothing was moved"),
      true,
    ]);
    restore();
    unreachDeadlines();
    await cronComesBy(app);
    await chain.miner.look();
    await cronComesBy(app);
    expect((await send(app, { amount: "13" })).body.status).toBe("confirmed");
    const rows = await app.rows("orders");
    expect(rows.map(({ state, nonce }) => [state, nonce])).toEqual([
      ["confirmed", 0],
      ["failed", undefined],
      ["confirmed", 1],
    ]);
    expect(await nonceOf(owner)).toBe(2);
  });

  test("is not signed with a damaged or foreign key", async ({ app }) => {
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const [key] = await app.rows("walletKeys");
    if (key === undefined) throw new Error("There is a key");
    const flipped = key.sealedKey.replace(/.$/, (last) => (last === "A" ? "Q" : "A"));
    await app.t.run((ctx) => ctx.db.patch("walletKeys", key._id, { sealedKey: flipped }));
    const damaged = await send(app, {});
    expect([damaged.status, damaged.body.error]).toEqual([500, "A sealed secret is damaged"]);
    await app.t.run((ctx) => ctx.db.patch("walletKeys", key._id, { sealedKey: key.sealedKey }));
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "99".repeat(32));
    const foreign = await send(app, {});
    expect([foreign.status, foreign.body.error]).toEqual([
      500,
      "WALLET_ENCRYPTION_KEY is not the key that a stored secret was sealed under: nothing was lost, set the right one",
    ]);
    expect(await nonceOf(owner)).toBe(0);
  });
});

test("a send that ended is told to the webhooks of whose it is, as the transaction shows itself", async ({
  app,
}) => {
  const posted = receiver(() => new Response());
  await app.fundedWallet("alice", { ETH: ETHER });
  for (const userId of ["alice", "bob"]) {
    const url = `https://${userId}.example.com/`;
    await app.post("/webhooks", { userId, url, events: ["transaction.ended"] });
  }
  const toAddress = freshAddress();
  const { body } = await send(app, { toAddress });
  expect(body.status).toBe("confirmed");
  await app.t.mutation(internal.messenger.webhooks.events.startPosting, {});
  await app.settle();
  expect(posted.map(({ url }) => url)).toEqual(["https://alice.example.com/"]);
  const told: unknown = JSON.parse(posted[0]?.body ?? "");
  expect(told).toEqual({
    type: "transaction.ended",
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    data: {
      transactionId: expect.any(String),
      ...{ kind: "send", token: "ETH", amount: "5", txHash: body.txHash },
      toAddress: expect.stringMatching(new RegExp(`^${toAddress}$`, "i")),
      ...{ status: "confirmed", error: null, success: true },
    },
  });
});

test("a node that is behind now and then fails no send that was mined, and one that is for minutes only until a receipt corrects it, the limit included", async ({
  app,
}) => {
  /** It knows of the used nonce, and neither of the transaction nor of its receipt. */
  const glitch = () =>
    answering(({ method }) => {
      if (/^eth_getTransaction(?:Receipt|ByHash)$/.test(method)) return { result: null };
      return method === "eth_getTransactionCount" ? { result: "0x1" } : null;
    });
  const row = async () => (await rowsOf(app))[0];
  await app.fundedWallet("alice", { ETH: ETHER });
  deadlines.receipt = 100;
  await chain.miner.pause();
  const { txHash } = (await send(app)).body;
  const before = await counted(app);
  const first = glitch();
  await cronComesBy(app);
  first();
  await age(app, 61_000);
  // Pending, so it was not replaced: the doubt begins anew.
  await cronComesBy(app);
  expect(await row()).not.toHaveProperty("nonceConflictSince");
  chain.miner.resume();
  await until(() => isMined(txHash));
  const second = glitch();
  for (let look = 0; look < 2; look++) await cronComesBy(app);
  expect((await row())?.state).toBe("signed");
  await age(app, 61_000);
  await cronComesBy(app);
  expect([(await row())?.state, await counted(app)]).toEqual(["failed", 0n]);
  second();
  await cronComesBy(app);
  expect([(await row())?.state, await counted(app)]).toEqual(["confirmed", before]);
  expect(await row()).not.toHaveProperty("error");
});
