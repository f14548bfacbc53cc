import { parseTransaction } from "viem";
import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { OPERATOR } from "../../convex/lib/records/audit";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { until } from "../support/waits";
import { ETHER, hex, chain, etherOf, isMined, nonceOf, useChain, test } from "../support/chain/chain";
import { answering, miscounting } from "../support/chain/rpc";
import { age, cronComesBy } from "../support/rows/transactions";
import { createWalletApp, freshAddress, type WalletApp } from "../support/chain/walletApp";

/** Whatever the chain or its node does, a wallet moves again by itself: nothing twice, nothing lost. */

useChain();

const GWEI = 10n ** 9n;

const send = (app: WalletApp, toAddress: string, fields: object = {}) =>
  app.post("/mcp/defi/send", { userId: "alice", toAddress, token: "ETH", amount: "5", ...fields });

const rowsOf = async (app: WalletApp) =>
  (await app.rows("transactions")).filter((one) => one.nonce !== undefined);

/** The block with the last transactions is dropped for an empty one. */
async function reorganise(depth = 1): Promise<void> {
  await chain.rpc("anvil_reorg", [depth, []]);
  await chain.feeds.tick();
}

/** A send that is confirmed in a block which is dropped afterwards. */
async function lostSend(app: WalletApp, to: `0x${string}`) {
  await chain.miner.pause();
  const sent = send(app, to);
  await until(async () => {
    const [row] = await rowsOf(app);
    return row?.state === "broadcast";
  });
  await chain.miner.mine();
  const { body } = await sent;
  expect(body.status).toBe("confirmed");
  await reorganise();
  expect(await isMined(body.txHash)).toBe(false);
  return String(body.txHash);
}

describe("a block that is dropped behind a confirmed send", () => {
  test("holds up no later send: the lost one is handed out again, and both arrive once", async ({ app }) => {
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const [first, second] = [freshAddress(), freshAddress()];
    await lostSend(app, first);
    chain.miner.resume();
    expect((await send(app, second)).body.status).toBe("confirmed");
    expect([await etherOf(first), await etherOf(second), await nonceOf(owner)]).toEqual([5n, 5n, 2]);
  });

  test("is noticed when nothing follows: confirmed sends are looked at again after one and after six minutes", async ({
    app,
  }) => {
    const to = freshAddress();
    await app.fundedWallet("alice", { ETH: ETHER });
    const txHash = await lostSend(app, to);
    const [confirmed] = await rowsOf(app);
    expect((confirmed?.nextCheckAt ?? 0) - (confirmed?.endedAt ?? 0)).toBe(60_000);
    await cronComesBy(app);
    chain.miner.resume();
    await until(() => isMined(txHash));
    expect(await etherOf(to)).toBe(5n);
    await cronComesBy(app);
    const [again] = await rowsOf(app);
    expect((again?.nextCheckAt ?? 0) - Date.now()).toBeGreaterThan(4 * 60_000);
    await cronComesBy(app);
    expect((await rowsOf(app))[0]).toMatchObject({
      state: "confirmed",
      nextCheckAt: Number.MAX_SAFE_INTEGER,
    });
  });

  test("is repaired at an operator's word as well, who is told what was done", async ({ app }) => {
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const txHash = await lostSend(app, freshAddress());
    const repair = internal.wallets.transactions.repair;
    expect(await app.t.action(repair, { address: owner.toLowerCase() })).toEqual({
      mined: 0,
      nextNonce: 1,
      handedOut: 1,
      filled: 0,
      dropped: 0,
    });
    chain.miner.resume();
    await until(() => isMined(txHash));
    expect((await app.rows("auditEvents")).at(-1)).toMatchObject({
      actor: OPERATOR,
      action: "nonces repaired",
    });
  });
});

describe("a node that lies about nonces", () => {
  const lie = (nonce: number, which?: string) =>
    miscounting((_, block) => (which === undefined || block === which ? nonce : null));

  test("is not followed to a pending one of its own making", async ({ app }) => {
    await app.fundedWallet("alice", { ETH: ETHER });
    lie(1_000, "pending");
    expect((await send(app, freshAddress())).body.status).toBe("confirmed");
    expect((await rowsOf(app))[0]?.nonce).toBe(0);
  });

  test("gets no signature for one beyond what was signed; the wallet then goes on", async ({ app }) => {
    await app.fundedWallet("alice", { ETH: ETHER });
    for (const nonce of [1_000, 1]) {
      const honest = lie(nonce);
      const { status, body } = await send(app, freshAddress());
      expect([status, body.error]).toEqual([
        503,
        expect.stringMatching(/^The chain knows transactions of this wallet that this service does not/),
      ]);
      honest();
    }
    expect((await send(app, freshAddress())).body.status).toBe("confirmed");
  });
});

describe("the network fee", () => {
  test("has no tip that a node makes up: a send costs what is usual", async ({ app }) => {
    const owner = await app.fundedWallet("alice", { ETH: 3n * ETHER });
    answering(({ method }) =>
      method === "eth_maxPriorityFeePerGas" ? { result: `0x${(10n ** 14n).toString(16)}` } : null,
    );
    expect((await send(app, freshAddress(), { amount: "1" })).body.status).toBe("confirmed");
    expect(3n * ETHER - (await etherOf(owner))).toBeLessThan(ETHER / 1_000n);
  });

  test.for([
    ["ends with a block that it does not know", [5n * GWEI, 0n]],
    ["is empty", []],
  ] as const)("covers the latest block's, also where the node's history %s", async ([, fees], { app }) => {
    await app.fundedWallet("alice", { ETH: 3n * ETHER });
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", [`0x${(5n * GWEI).toString(16)}`]);
    await chain.miner.mine();
    const baseFeePerGas = fees.map((fee) => `0x${fee.toString(16)}`);
    const lacking = { oldestBlock: "0x1", baseFeePerGas, gasUsedRatio: [], reward: [] };
    answering(({ method }) => (method === "eth_feeHistory" ? { result: lacking } : null));
    expect((await send(app, freshAddress())).body.status).toBe("confirmed");
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", ["0x1"]);
    await chain.miner.mine();
  });

  test("far above what is usual is not paid, and nothing is signed", async ({ app }) => {
    await app.fundedWallet("alice", { ETH: 3n * ETHER });
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", [`0x${(500n * GWEI).toString(16)}`]);
    await chain.miner.mine();
    const { status, body } = await send(app, freshAddress());
    expect([status, body.error]).toEqual([
      502,
      "The network fee is far above the usual, and above what this service pays: nothing was signed",
    ]);
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", ["0x1"]);
    await chain.miner.mine();
  });

  /** A send that is pending while the next block asks for more than it offers. */
  async function outgrown(app: WalletApp, to: `0x${string}`) {
    deadlines.receipt = 200;
    await chain.miner.pause();
    const { body } = await send(app, to);
    const [row] = await rowsOf(app);
    const { maxFeePerGas = 0n } = parseTransaction(hex.parse(row?.rawTransaction));
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", [`0x${(maxFeePerGas * 2n).toString(16)}`]);
    await chain.miner.mine();
    expect(await isMined(body.txHash)).toBe(false);
    return String(body.txHash);
  }

  test("that outgrows a send is met by the same send for more, under the same nonce", async ({ app }) => {
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const to = freshAddress();
    const txHash = await outgrown(app, to);
    await cronComesBy(app);
    const [row] = await rowsOf(app);
    expect(row).toMatchObject({ txHash, nonce: 0, replacement: { kind: "repriced", outpriced: [] } });
    chain.miner.resume();
    await until(() => isMined(row?.replacement?.txHash));
    await cronComesBy(app);
    const { body } = await app.get(`/mcp/defi/transaction?userId=alice&txHash=${txHash}`);
    expect(body).toMatchObject({ txHash, status: "confirmed", minedAs: row?.replacement?.txHash });
    expect([await etherOf(to), await nonceOf(owner)]).toEqual([5n, 1]);
  });

  test("with a tip that has become too low is raised after a minute, and not before", async ({ app }) => {
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const to = freshAddress();
    deadlines.receipt = 200;
    await chain.miner.pause();
    const { body } = await send(app, to);
    const [row] = await rowsOf(app);
    const { maxPriorityFeePerGas: tip = 0n } = parseTransaction(hex.parse(row?.rawTransaction));
    const usual = tip + GWEI / 10n;
    answering(({ method }) =>
      method === "eth_maxPriorityFeePerGas" ? { result: `0x${usual.toString(16)}` } : null,
    );
    await cronComesBy(app);
    expect((await rowsOf(app))[0]).not.toHaveProperty("replacement");
    await age(app, "handedOutAt", 61_000);
    await cronComesBy(app);
    const [raised] = await rowsOf(app);
    expect(raised).toMatchObject({ txHash: body.txHash, nonce: 0, replacement: { kind: "repriced" } });
    const offered = parseTransaction(hex.parse(raised?.replacement?.rawTransaction)).maxPriorityFeePerGas;
    expect(offered).toBeGreaterThanOrEqual(usual);
    // It offers what is usual by now: nothing is raised again.
    await cronComesBy(app);
    expect((await rowsOf(app))[0]?.replacement).toEqual(raised?.replacement);
    chain.miner.resume();
    await until(() => isMined(raised?.replacement?.txHash));
    expect([await etherOf(to), await nonceOf(owner)]).toEqual([5n, 1]);
  });

  test("that the wallet can no longer pay ends a send after five minutes: it is withdrawn, and the next one goes", async ({
    app,
  }) => {
    const owner = await app.fundedWallet("alice", { ETH: ETHER });
    const to = freshAddress();
    deadlines.receipt = 200;
    await chain.miner.pause();
    const { body } = await send(app, to, { amount: (ETHER / 2n).toString() });
    await chain.rpc("anvil_dropTransaction", [body.txHash]);
    await chain.rpc("anvil_setBalance", [owner, `0x${(ETHER / 4n).toString(16)}`]);
    await cronComesBy(app);
    const [waiting] = await rowsOf(app);
    expect(waiting).toMatchObject({ state: "unknown", error: "insufficient funds" });
    expect(waiting).not.toHaveProperty("replacement");
    await age(app, "handedOutAt", 301_000);
    await cronComesBy(app);
    chain.miner.resume();
    const [withdrawn] = await rowsOf(app);
    expect(withdrawn?.replacement?.kind).toBe("withdrawal");
    await until(() => isMined(withdrawn?.replacement?.txHash));
    await cronComesBy(app);
    expect((await rowsOf(app))[0]).toMatchObject({
      state: "failed",
      error: expect.stringContaining("was withdrawn"),
    });
    deadlines.receipt = 15_000;
    expect((await send(app, freshAddress())).body.status).toBe("confirmed");
    expect([await etherOf(to), await nonceOf(owner)]).toEqual([0n, 2]);
  });
});

describe("a node that is behind now and then", () => {
  /** It knows of the used nonce, and neither of the transaction nor of its receipt. */
  const glitch = () =>
    answering(({ method }) => {
      if (method === "eth_getTransactionReceipt" || method === "eth_getTransactionByHash") {
        return { result: null };
      }
      return method === "eth_getTransactionCount" ? { result: "0x1" } : null;
    });

  /** A send that was mined and whose receipt nobody has seen. */
  async function unseen(app: WalletApp, to: `0x${string}`) {
    deadlines.receipt = 100;
    await chain.miner.pause();
    const { body } = await send(app, to);
    return body.txHash;
  }

  test("does not fail a send that was mined: a sound answer in between begins the doubt anew", async () => {
    const app = createWalletApp(chain, { env: { DAILY_TRANSFER_LIMIT_USD: "1000" } });
    await app.fundedWallet("alice", { ETH: ETHER });
    const txHash = await unseen(app, freshAddress());
    const first = glitch();
    await cronComesBy(app);
    first();
    await age(app, "replacedSince", 61_000);
    // Pending, so it was not replaced.
    await cronComesBy(app);
    expect((await rowsOf(app))[0]).not.toHaveProperty("replacedSince");
    chain.miner.resume();
    await until(() => isMined(txHash));
    const second = glitch();
    await cronComesBy(app);
    expect((await rowsOf(app))[0]?.state).toBe("broadcast");
    second();
    await cronComesBy(app);
    expect((await rowsOf(app))[0]?.state).toBe("confirmed");
  });

  test("and for minutes on end fails it, until a receipt corrects that, the limit included", async () => {
    const app = createWalletApp(chain, { env: { DAILY_TRANSFER_LIMIT_USD: "1000" } });
    await app.fundedWallet("alice", { ETH: ETHER });
    const txHash = await unseen(app, freshAddress());
    const moved = async () => (await app.rows("transferWindows"))[0]?.entries[0]?.microUsd;
    const counted = await moved();
    chain.miner.resume();
    await until(() => isMined(txHash));
    const honest = glitch();
    await cronComesBy(app);
    await age(app, "replacedSince", 61_000);
    await cronComesBy(app);
    expect((await rowsOf(app))[0]?.state).toBe("failed");
    expect((await app.rows("trades"))[0]?.status).toBe("failed");
    expect(await moved()).toBeUndefined();
    honest();
    await cronComesBy(app);
    expect((await rowsOf(app))[0]?.state).toBe("confirmed");
    expect((await rowsOf(app))[0]).not.toHaveProperty("error");
    expect((await app.rows("trades"))[0]?.status).toBe("confirmed");
    expect(await moved()).toBe(counted);
  });
});
