import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { beginFollowing } from "../../convex/whales/alerts";
import { clientOf } from "../chain/support";
import { until } from "../support/waits";
import { chain } from "../support/chain/chain";
import { answering } from "../support/chain/rpc";
import { createWalletApp, freshAddress, type WalletApp } from "../support/chain/walletApp";
import {
  BINANCE,
  BINANCE_COLD,
  ETHER,
  listed,
  look,
  lookAtAll,
  measuring,
  moves,
  OKX,
  SETTLING,
  test,
  USDC,
  useMoves,
  limited,
} from "./observer";
import { insertAlerts } from "../support/rows/signalRows";

useMoves();

describe("what is measured", () => {
  test("is told with its transaction, its time, both addresses and where their labels were learnt", async ({
    app,
  }) => {
    const from = freshAddress();
    const [hash] = await moves.send([{ coin: "USDC", from, to: BINANCE, amount: USDC(2.5) }]);
    await lookAtAll(app);
    const receipt = await clientOf(chain).getTransactionReceipt({ hash: hash ?? "0x" });
    const block = await clientOf(chain).getBlock({ blockNumber: receipt.blockNumber });
    const alerts = await listed(app);
    expect(alerts).toEqual([
      {
        token: "USDC",
        alertType: "cex_inflow",
        amount: expect.any(Number),
        direction: "neutral",
        description: `2,500,000 USDC moved from ${from.slice(0, 6)}…${from.slice(-4)} to Binance.`,
        source: "measured",
        chain: "base",
        occurredAt: Number(block.timestamp) * 1_000,
        detectedAt: expect.any(Number),
        messengerSent: false,
        txHash: hash,
        verified: true,
        movement: {
          from: { address: from },
          to: { address: BINANCE, label: { exchange: "Binance", source: expect.stringMatching(/^https:/) } },
          quantity: "2500000000000",
          position: 0,
          blockNumber: Number(receipt.blockNumber),
          blockHash: block.hash,
          price: { usd: expect.any(Number), source: "chainlink", observedAt: expect.any(Number) },
        },
      },
    ]);
    expect(Math.abs((alerts[0]?.amount ?? 0) - 2_500_000)).toBeLessThan(25_000);
  });

  test("is every coin of the list, into exchanges, out of them and between them", async ({ app }) => {
    const somebody = freshAddress();
    const large = { from: somebody, to: OKX } as const;
    const hashes = await moves.send([
      { coin: "USDT", ...large, amount: USDC(3) },
      { coin: "DAI", ...large, amount: ETHER(3_000_000) },
      { coin: "WETH", ...large, amount: ETHER(10_000) },
      { coin: "CBBTC", ...large, amount: 1_000n * 10n ** 8n },
      { coin: "ETH", ...large, amount: ETHER(10_000) },
      { coin: "ETH", from: OKX, to: somebody, amount: ETHER(10_000) },
      { coin: "WETH", from: BINANCE, to: OKX, amount: ETHER(10_000) },
    ]);
    await lookAtAll(app);
    const told = (await listed(app)).map(({ token, alertType, txHash }) => [token, alertType, txHash]);
    expect(told.toSorted()).toEqual(
      [
        ["USDT", "cex_inflow", hashes[0]],
        ["DAI", "cex_inflow", hashes[1]],
        ["WETH", "cex_inflow", hashes[2]],
        ["CBBTC", "cex_inflow", hashes[3]],
        ["ETH", "cex_inflow", hashes[4]],
        ["ETH", "cex_outflow", hashes[5]],
        ["WETH", "large_transfer", hashes[6]],
      ].toSorted(),
    );
  });

  test("is what is minted and burned", async ({ app }) => {
    const owner = freshAddress();
    const minted = await moves.mint("USDC", owner, USDC(4));
    const nobody = "0x0000000000000000000000000000000000000000";
    const [burned] = await moves.send([{ coin: "ETH", from: owner, to: nobody, amount: ETHER(10_000) }]);
    await lookAtAll(app);
    const neutral = { alertType: "large_transfer", direction: "neutral" };
    expect(await listed(app)).toMatchObject([
      { ...neutral, txHash: burned, description: expect.stringMatching(/^10,000 ETH of 0x.* was burned\.$/) },
      { ...neutral, txHash: minted, description: expect.stringMatching(/^4,000,000 USDC was minted to 0x/) },
    ]);
  });

  test("is nothing below a million, nothing within an exchange, nothing between strangers, nothing that failed", async ({
    app,
  }) => {
    const somebody = freshAddress();
    await moves.send([
      { coin: "USDC", from: somebody, to: BINANCE, amount: USDC(0.97) },
      { coin: "USDC", from: BINANCE, to: BINANCE_COLD, amount: USDC(50) },
      { coin: "ETH", from: BINANCE_COLD, to: BINANCE, amount: ETHER(100_000) },
      { coin: "USDC", from: somebody, to: freshAddress(), amount: USDC(50) },
      // More than anybody has: it reverts.
      { coin: "USDC", from: somebody, to: BINANCE, amount: 10n ** 40n },
    ]);
    await lookAtAll(app);
    expect(await listed(app)).toEqual([]);
  });

  test("is nothing whose receipt is too large to be read, which keeps no other from being told", async ({
    app,
  }) => {
    const [giant, hash] = await moves.send([
      { coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(2) },
      { coin: "USDC", from: freshAddress(), to: OKX, amount: USDC(3) },
    ]);
    const filling = "0".repeat(11_000_000);
    answering(({ method, params }) =>
      method === "eth_getTransactionReceipt" && params[0] === giant ? { result: { filling } } : null,
    );
    await lookAtAll(app);
    expect((await listed(app)).map(({ txHash }) => txHash)).toEqual([hash]);
  });

  test("before the first look is not looked for", async () => {
    await moves.send([{ coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(5) }]);
    const app = await measuring();
    await lookAtAll(app);
    expect(await listed(app)).toEqual([]);
  });

  test("is nothing where the operator has named no RPC", async () => {
    const app = createWalletApp(chain, { env: { CHAIN_RPC_URL: "" } });
    await look(app);
    expect(await app.rows("whaleProgress")).toEqual([]);
  });
});

describe("several transfers in one transaction", () => {
  test("between the same two ends are one movement", async ({ app }) => {
    const from = freshAddress();
    const hash = await moves.together([
      { coin: "USDC", from, to: BINANCE, amount: USDC(0.6) },
      { coin: "USDC", from, to: BINANCE_COLD, amount: USDC(0.7) },
    ]);
    await lookAtAll(app);
    const alerts = await listed(app);
    expect(alerts).toMatchObject([
      { alertType: "cex_inflow", txHash: hash, movement: { quantity: "1300000000000" } },
    ]);
  });

  test("that pass something on are one movement, from its beginning to its end", async ({ app }) => {
    const between = freshAddress();
    const hash = await moves.together([
      { coin: "USDC", from: BINANCE, to: between, amount: USDC(5) },
      { coin: "USDC", from: between, to: OKX, amount: USDC(5) },
    ]);
    await lookAtAll(app);
    expect(await listed(app)).toMatchObject([
      { alertType: "large_transfer", txHash: hash, description: "5,000,000 USDC moved from Binance to OKX." },
    ]);
  });

  test("that come back to the exchange are internal, however they went", async ({ app }) => {
    const between = freshAddress();
    await moves.together([
      { coin: "USDC", from: BINANCE, to: between, amount: USDC(5) },
      { coin: "USDC", from: between, to: BINANCE_COLD, amount: USDC(5) },
    ]);
    await lookAtAll(app);
    expect(await listed(app)).toEqual([]);
  });

  test("of different owners are a movement each", async ({ app }) => {
    const hash = await moves.together([
      { coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(2) },
      { coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(3) },
      { coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(0.5) },
    ]);
    await lookAtAll(app);
    expect((await listed(app)).map(({ txHash }) => txHash)).toEqual([hash, hash]);
  });
});

describe("a second look", () => {
  test("adds nothing, and neither do two at once", async ({ app }) => {
    await moves.send([{ coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(2) }]);
    await moves.mine(SETTLING);
    await Promise.all([
      app.t.run(beginFollowing),
      app.t.run(beginFollowing),
      app.t.action(internal.whales.actions.follow, {}),
    ]);
    await app.settle();
    await look(app);
    expect(await app.rows("whaleAlerts")).toHaveLength(1);
    expect(await app.rows("whaleProgress")).toHaveLength(1);
  });

  test("goes on where the one before was cut off", async ({ app }) => {
    const before = (await app.rows("whaleProgress"))[0]?.block ?? 0;
    const [hash] = await moves.send([{ coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(2) }]);
    await moves.mine(SETTLING);
    vi.stubEnv("CHAIN_RPC_URL", "http://127.0.0.1:9");
    await look(app);
    expect((await app.rows("whaleProgress"))[0]).toMatchObject({ block: before });
    vi.stubEnv("CHAIN_RPC_URL", chain.url);
    await look(app);
    expect((await listed(app)).map(({ txHash }) => txHash)).toEqual([hash]);
  });

  test("after an outage catches up in several runs, each of a bounded length", async ({ app }) => {
    const before = (await app.rows("whaleProgress"))[0]?.block ?? 0;
    const [hash] = await moves.send([{ coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(2) }]);
    await moves.mine(310);
    await look(app);
    expect((await app.rows("whaleProgress"))[0]?.block).toBe(before + 300);
    await look(app);
    expect((await app.rows("whaleProgress"))[0]?.block).toBe(before + 311);
    expect((await listed(app)).map(({ txHash }) => txHash)).toEqual([hash]);
  });
});

describe("a node that answers for few blocks at a time", () => {
  test("is asked for fewer, until it answers", async ({ app }) => {
    const [hash] = await moves.send([{ coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(2) }]);
    await moves.mine(60 + SETTLING);
    const asked = limited(7, "query exceeds max block range 7");
    await look(app);
    expect((await listed(app)).map(({ txHash }) => txHash)).toEqual([hash]);
    expect(asked.filter(({ refused }) => refused).length).toBeLessThanOrEqual(8);
    expect(asked.slice(-4).every(({ refused }) => !refused)).toBe(true);
  });

  test("is left alone when it says that it was asked too often", async ({ app }) => {
    await moves.mine(10 + SETTLING);
    const asked = limited(0, "Your app has exceeded its compute units per second capacity", 429);
    await look(app);
    // Each of the two requests is tried three times, within a second.
    expect(asked).toHaveLength(6);
  });
});

describe("what a node is asked", () => {
  /** Compute units of a common provider (alchemy.com/docs/reference/compute-unit-costs). */
  const UNITS: Record<string, number> = {
    eth_chainId: 0,
    eth_getBlockByNumber: 20,
    eth_getTransactionReceipt: 20,
    eth_getTransactionByHash: 20,
    eth_call: 26,
    eth_getLogs: 60,
  };
  /** What a run costs, and how many full blocks it reads. */
  async function costOf(app: WalletApp) {
    let [units, blocks] = [0, 0];
    const stop = answering(({ method, params }) => {
      units += UNITS[method] ?? Infinity;
      if (method === "eth_getBlockByNumber" && params[1] === true) blocks += 1;
      return null;
    });
    await look(app);
    stop();
    return { units, blocks };
  }

  test("costs at most six million compute units a month, with 200 large movements a day", async ({ app }) => {
    await moves.send([{ coin: "ETH", from: freshAddress(), to: OKX, amount: ETHER(10_000) }]);
    await moves.mine(13);
    const quiet = await costOf(app);
    await moves.mine(13);
    await look(app);
    await moves.mine(10);
    const found = await costOf(app);
    expect([quiet.blocks, found.blocks]).toEqual([0, 1]);
    expect(await listed(app)).toHaveLength(1);
    // Every two minutes. A run of sixty blocks halves them at most three times more than one of ten.
    const month = 30 * (720 * quiet.units + 200 * (found.units - quiet.units + 3 * 26));
    expect(quiet.units).toBe(20 + 2 * 60 + 2 * 26);
    expect(month).toBeLessThanOrEqual(6_000_000);
  });

  test("for state that it has dropped are the blocks themselves", async ({ app }) => {
    const [hash] = await moves.send([{ coin: "ETH", from: freshAddress(), to: OKX, amount: ETHER(10_000) }]);
    answering(({ method, params }) =>
      method === "eth_call" && typeof params[1] === "string" && params[1].startsWith("0x")
        ? { error: { code: -32_000, message: "missing trie node 5f1c (path )" } }
        : null,
    );
    await lookAtAll(app);
    expect((await listed(app)).map(({ txHash }) => txHash)).toEqual([hash]);
  });
});

describe("an hour's card", () => {
  test("tells what was measured, once, and the alerts say that it was delivered", async () => {
    const app = await measuring({ LLM_GATEWAY_API_KEY: "" });
    await moves.send([
      { coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(2) },
      { coin: "USDC", from: OKX, to: freshAddress(), amount: USDC(3) },
    ]);
    await lookAtAll(app);
    await app.t.mutation(internal.whales.alerts.begin, {});
    await until(async () => (await listed(app)).every(({ messengerSent }) => messengerSent === true));
    await app.t.mutation(internal.whales.alerts.begin, {});
    await app.settle();
    expect(await app.rows("messages")).toHaveLength(1);
    const cards = app.standins.sent("messenger").filter(({ method }) => method === "sendMessage");
    expect(cards).toHaveLength(1);
    expect(cards[0]?.text).toContain("3,000,000 USDC moved from OKX to ");
    expect(cards[0]?.text.match(/✓ measured/g)).toHaveLength(2);
  });
});

describe("what the agent told before", () => {
  test("of the same transaction and token becomes the measured alert; of another stays", async ({ app }) => {
    const [hash = ""] = await moves.send([
      { coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(2) },
    ]);
    const told = { amount: 2_000_000, txHash: hash, messengerSent: true } as const;
    await insertAlerts(app, [
      { ...told, token: "USDC" },
      { ...told, token: "PEPE" },
    ]);
    await lookAtAll(app);
    expect(await listed(app)).toMatchObject([
      { token: "PEPE", source: "agent-reported", verified: false },
      { token: "USDC", source: "measured", verified: true, alertType: "cex_inflow", messengerSent: true },
    ]);
  });
});
