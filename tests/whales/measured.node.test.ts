import { createServer } from "node:http";
import { describe, expect, vi } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { beginFollowing } from "../../convex/whales/alerts";
import { clientOf } from "../chain/support";
import { chain, hex } from "../support/chain/chain";
import { answering } from "../support/chain/rpc";
import { createWalletApp, freshAddress, type WalletApp } from "../support/chain/walletApp";
import { counting } from "../support/outside";
import { ranHere } from "../support/commands";
import { until } from "../support/waits";
import {
  BINANCE,
  BINANCE_COLD,
  ETHER,
  limited,
  listed,
  look,
  lookAtAll,
  measuring,
  mine,
  minted,
  NOBODY,
  OKX,
  send,
  sendTogether,
  SETTLING,
  test,
  USDC,
  useMoves,
} from "./observer";
import { agentSays, alert, BEGIN, HOUR } from "./support";

/** What the service reads on the chain itself: its own alerts, and whether the agent's agree. */

useMoves();

/** Compute units of a common provider (alchemy.com/docs/reference/compute-unit-costs). */
const CALL = 26;
const UNITS: Record<string, number> = {
  eth_chainId: 0,
  eth_getBlockByNumber: 20,
  eth_getTransactionReceipt: 20,
  eth_getTransactionByHash: 20,
  eth_call: CALL,
  eth_getLogs: 60,
};

/** A movement worth an alert. */
const large = async () => {
  const [hash = ""] = await send([{ coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(2) }]);
  return hash;
};
const hashesOf = async (app: WalletApp) => (await listed(app)).map(({ txHash }) => txHash);
const blockOf = async (app: WalletApp) => (await app.rows("whaleProgress"))[0]?.block ?? 0;

describe("what is measured", () => {
  test("is told with its transaction, its time, both addresses and where their labels were learnt", async ({
    app,
  }) => {
    const from = freshAddress();
    const [hash] = await send([{ coin: "USDC", from, to: BINANCE, amount: USDC(2.5) }]);
    await lookAtAll(app);
    const receipt = await clientOf(chain).getTransactionReceipt({ hash: hex.parse(hash) });
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

  test("is every coin of the list, into exchanges, out of them, between them, minted and burned; and no other", async () => {
    // Before the first look nothing is looked for.
    await large();
    const app = await measuring();
    const somebody = freshAddress();
    const into = { from: somebody, to: OKX } as const;
    const hashes = await send([
      { coin: "USDT", ...into, amount: USDC(3) },
      { coin: "DAI", ...into, amount: ETHER(3_000_000) },
      { coin: "WETH", ...into, amount: ETHER(10_000) },
      { coin: "CBBTC", ...into, amount: 1_000n * 10n ** 8n },
      { coin: "ETH", ...into, amount: ETHER(10_000) },
      { coin: "ETH", from: OKX, to: somebody, amount: ETHER(10_000) },
      { coin: "WETH", from: BINANCE, to: OKX, amount: ETHER(10_000) },
      { coin: "ETH", from: somebody, to: NOBODY, amount: ETHER(10_000) },
      // Its receipt is too large to be read, which keeps no other from being told.
      { coin: "USDC", from: somebody, to: BINANCE, amount: USDC(7) },
      // Below a million; within an exchange; between strangers; and more than anybody has, so that it reverts.
      { coin: "USDC", from: somebody, to: BINANCE, amount: USDC(0.97) },
      { coin: "USDC", from: BINANCE, to: BINANCE_COLD, amount: USDC(50) },
      { coin: "ETH", from: BINANCE_COLD, to: BINANCE, amount: ETHER(100_000) },
      { coin: "USDC", from: somebody, to: freshAddress(), amount: USDC(50) },
      { coin: "USDC", from: somebody, to: BINANCE, amount: 10n ** 40n },
    ]);
    const created = await minted(freshAddress(), USDC(4));
    const filling = "0".repeat(11_000_000);
    answering(({ method, params }) =>
      method === "eth_getTransactionReceipt" && params[0] === hashes[8] ? { result: { filling } } : null,
    );
    await lookAtAll(app);
    const told = (await listed(app)).map(({ token, alertType, txHash }) => [token, alertType, txHash]);
    const kinds = [
      ["USDT", "cex_inflow"],
      ["DAI", "cex_inflow"],
      ["WETH", "cex_inflow"],
      ["CBBTC", "cex_inflow"],
      ["ETH", "cex_inflow"],
      ["ETH", "cex_outflow"],
      ["WETH", "large_transfer"],
      ["ETH", "large_transfer"],
    ].map((kind, i) => [...kind, hashes[i]]);
    expect(told.toSorted()).toEqual([...kinds, ["USDC", "large_transfer", created]].toSorted());

    // Of one transaction it is a movement for each two ends.
    const many = await sendTogether([
      { coin: "USDC", from: somebody, to: BINANCE, amount: USDC(0.6) },
      { coin: "USDC", from: somebody, to: BINANCE_COLD, amount: USDC(0.7) },
      { coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(2) },
      { coin: "USDC", from: freshAddress(), to: BINANCE, amount: USDC(0.5) },
    ]);
    await lookAtAll(app);
    const alerts = (await app.rows("whaleAlerts")).filter(({ txHash }) => txHash === many);
    expect(alerts.map(({ movement }) => movement?.quantity)).toEqual(["1300000000000", "2000000000000"]);

    // Where the operator has named no RPC nobody is asked.
    vi.stubEnv("CHAIN_RPC_URL", "");
    const asked = counting();
    await look(app);
    expect(asked()).toBe(0);
  });
});

describe("a further look", () => {
  test("goes on where the one before was cut off, and two at once tell nothing twice", async ({ app }) => {
    const before = await blockOf(app);
    const hash = await large();
    await mine(SETTLING);
    vi.stubEnv("CHAIN_RPC_URL", "http://127.0.0.1:9");
    await look(app);
    expect(await blockOf(app)).toBe(before);
    vi.stubEnv("CHAIN_RPC_URL", chain.url);
    await Promise.all([
      app.t.run(beginFollowing),
      app.t.run(beginFollowing),
      app.t.action(internal.whales.actions.followChain, { from: before }),
    ]);
    await app.settle();
    await look(app);
    expect(await hashesOf(app)).toEqual([hash]);
    expect(await app.rows("whaleProgress")).toHaveLength(1);
  });

  test("after an outage is of a bounded length, and asks for fewer blocks where a node refuses many", async ({
    app,
  }) => {
    const before = await blockOf(app);
    const hash = await large();
    await mine(310);
    const asked = limited(60, "query exceeds max block range 60");
    await look(app);
    expect(await blockOf(app)).toBe(before + 300);
    await look(app);
    expect(await blockOf(app)).toBeLessThan(before + 315);
    expect(await hashesOf(app)).toEqual([hash]);
    expect(asked.filter((isRefused) => isRefused).length).toBeLessThanOrEqual(20);
  });

  test("leaves a node alone that says that it was asked too often", async ({ app }) => {
    await mine(10 + SETTLING);
    const asked = limited(0, "Your app has exceeded its compute units per second capacity", 429);
    await look(app);
    // Each of the two requests is tried three times, within a second.
    expect(asked).toHaveLength(6);
  });

  test("reads only the blocks with a change of ether, and all of them where a node has dropped their state", async ({
    app,
  }) => {
    let [blocks, units] = [0, 0];
    answering(({ method, params }) => {
      units += UNITS[method] ?? Infinity;
      if (method === "eth_getBlockByNumber" && params[1] === true) blocks += 1;
      return null;
    });
    await mine(10);
    await look(app);
    const quiet = units;
    const ether = { coin: "ETH", from: freshAddress(), to: OKX, amount: ETHER(10_000) } as const;
    const [first] = await send([ether]);
    // The node keeps the state of fifty blocks.
    for (let i = 0; i < 4; i++) {
      await mine(9);
      await look(app);
    }
    expect(blocks).toBe(1);
    // A run each five minutes; and 200 movements a day, each found by halving 150 blocks: four times more than nine.
    const found = units - 5 * quiet + 4 * CALL;
    expect(30 * (288 * quiet + 200 * found)).toBeLessThanOrEqual(6_000_000);
    const [second] = await send([ether]);
    await mine(60);
    await look(app);
    expect(blocks).toBeGreaterThan(30);
    expect((await hashesOf(app)).toSorted()).toEqual([first, second].toSorted());
  });
});

describe("what the agent tells of the chain", () => {
  /** Which alerts of an answer are verified. */
  async function told(app: WalletApp, alerts: readonly object[]): Promise<boolean[]> {
    const usual = { token: "USDC", amount: 2_000_000, chain: "base" };
    agentSays(
      app,
      alerts.map((one) => alert({ ...usual, ...one })),
    );
    await app.t.mutation(BEGIN, {});
    await until(async () => {
      const [row] = await app.rows("whaleProgress");
      return (row?.endedAt ?? 0) >= (row?.hour ?? Infinity);
    });
    return (await app.rows("whaleAlerts")).map(({ verified }) => verified);
  }
  const iso = (ago: number) => new Date(Date.now() - ago).toISOString();

  test("is verified if its transaction moved that coin and amount, at that time", async ({ app }) => {
    const tales = [
      { amount: 2_150_000, occurredAt: iso(HOUR / 2) },
      { token: "USDT" },
      { token: "PEPE" },
      { token: "ETH" },
      { amount: 2_500_000 },
      { occurredAt: iso(2 * HOUR) },
    ];
    const alerts: object[] = [];
    for (const tale of tales) alerts.push({ ...tale, txHash: await large() });
    const verified = await told(app, alerts);
    expect(verified.filter((is) => is)).toHaveLength(1);
    const { body } = await app.get("/mcp/whale-alerts");
    const isTrue = ({ verified }: { verified?: unknown }) => verified === true;
    expect(z.array(z.looseObject({})).parse(body.alerts).find(isTrue)).toMatchObject({ amount: 2_150_000 });
  });

  test("is kept unverified while the chain is away", async () => {
    const txHash = await large();
    const app = createWalletApp(chain, { env: { CHAIN_RPC_URL: "http://127.0.0.1:9" } });
    expect(await told(app, [{ txHash }])).toEqual([false]);
  });
});

type Alert = Record<string, unknown>;
const pageShape = z.looseObject({ alerts: z.array(z.record(z.string(), z.unknown())) });

test("npm run verify-whales derives what is shown again from the chain, and finds what was made of it", async ({
  app,
}) => {
  const somebody = freshAddress();
  await send([
    { coin: "USDC", from: somebody, to: BINANCE, amount: USDC(5) },
    { coin: "ETH", from: BINANCE, to: somebody, amount: ETHER(10_000) },
    { coin: "DAI", from: somebody, to: OKX, amount: ETHER(3_000_000) },
  ]);
  await sendTogether([
    { coin: "USDT", from: freshAddress(), to: BINANCE, amount: USDC(2) },
    { coin: "USDT", from: freshAddress(), to: BINANCE, amount: USDC(3) },
  ]);
  await lookAtAll(app);
  let shown = (alerts: Alert[]) => alerts;
  const server = createServer((request, response) => {
    void app.get(request.url ?? "/").then(({ body }) => {
      const { alerts, ...page } = pageShape.parse(body);
      response.end(JSON.stringify({ ...page, alerts: shown(alerts) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const verify = (...args: string[]) => ranHere("scripts/verify/whales.ts", args);
  const ours = () => verify(`http://127.0.0.1:${port}`, "--rpc", chain.url);
  try {
    const { code, output } = await ours();
    expect([code, output]).toEqual([
      0,
      expect.stringContaining("The alerts are what the chain says: 5 alerts, 4 transactions."),
    ]);

    const nobodys = { address: BINANCE, label: { exchange: "Nobody", source: "none" } };
    const changes: Record<string, (alert: Alert) => Alert[]> = {
      ETH: (one) => [{ ...one, amount: 77_000_000, occurredAt: 5 }],
      USDC: (one) => [{ ...one, txHash: `0x${"ab".repeat(32)}` }],
      DAI: ({ movement, ...one }) => {
        const moved = { ...z.looseObject({}).parse(movement), quantity: "6", to: nobodys };
        return [
          { ...one, movement: moved },
          { ...one, movement: moved },
        ];
      },
      USDT: (one) => (Number(one.amount) > 2_500_000 ? [one] : []),
    };
    shown = (alerts) => alerts.flatMap((one) => changes[String(one.token)]?.(one) ?? []);
    const found = await ours();
    expect(found.code).toBe(1);
    for (const problem of [
      /amount is shown as 77000000, the chain says \d+/,
      /occurredAt is shown as 5/,
      /no such transaction/,
      /movement quantity is shown/,
      /movement to address is shown|movement to label/,
      /is shown twice/,
      /its alert is missing/,
    ])
      expect(found.output).toMatch(problem);

    shown = () => [];
    expect(await ours()).toMatchObject({
      code: 2,
      output: expect.stringContaining("nothing was read, and nothing checked"),
    });
    expect(await verify()).toMatchObject({ code: 2, output: expect.stringContaining("--help says") });
  } finally {
    server.close();
  }
});
