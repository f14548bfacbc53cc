import { expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { check } from "../../convex/whales/agent/checks";
import { chain, test } from "../support/chain/chain";
import { createWalletApp, freshAddress, type WalletApp } from "../support/chain/walletApp";
import { moves, useMoves } from "./observer";
import { insertAlerts } from "../support/rows/signalRows";

useMoves();

const ABSENT = `0x${"ab".repeat(32)}`;
const HOUR = 3_600_000;

type Told = { txHash: string; token?: string; amount?: number; occurredAt?: number; detectedAt?: number };

/** Stores what an agent told, and has it looked up. */
async function told(app: WalletApp, alerts: readonly Told[]): Promise<void> {
  const rows = alerts.map((alert) => ({ token: "USDC", amount: 2_000_000, ...alert }));
  const alertIds = await insertAlerts(app, rows);
  await app.t.run((ctx) => check(ctx, alertIds));
  await app.settle();
}

/** Which of the alerts are verified, and how often they will have been looked up; null: not any more. */
async function standing(app: WalletApp) {
  const verified = (await app.rows("whaleAlerts")).map((row) => row.verified);
  return { verified, attempts: (await app.rows("work"))[0]?.attempt ?? null };
}

/** Two million dollars, between strangers. */
async function moved(): Promise<string> {
  await chain.feeds.tick();
  const [hash = ""] = await moves.send([
    { coin: "USDC", from: freshAddress(), to: freshAddress(), amount: 2_000_000_000_000n },
  ]);
  return hash;
}

test("a transaction is verified when it moved what the alert tells, when it tells", async ({ app }) => {
  const txHash = await moved();
  await told(app, [{ txHash }, { txHash, amount: 2_150_000 }, { txHash, occurredAt: Date.now() - HOUR / 2 }]);
  expect(await standing(app)).toEqual({ verified: [true, true, true], attempts: null });
  const { body } = await app.get("/mcp/whale-alerts");
  expect(body.alerts).toMatchObject(Array(3).fill({ verified: true, source: "agent-reported" }));
});

test.for<[string, (txHash: string) => Told]>([
  ["another token", (txHash) => ({ txHash, token: "USDT" })],
  ["a token that is not looked at", (txHash) => ({ txHash, token: "PEPE" })],
  ["the chain's own coin", (txHash) => ({ txHash, token: "ETH" })],
  ["another amount", (txHash) => ({ txHash, amount: 2_500_000 })],
  ["another time", (txHash) => ({ txHash, occurredAt: Date.now() - 2 * HOUR })],
  ["an old transaction as news", (txHash) => ({ txHash, detectedAt: Date.now() + 4 * HOUR })],
  ["a transaction of later as known", (txHash) => ({ txHash, detectedAt: Date.now() - HOUR })],
])(
  "a transaction that tells of %s is not verified, and not looked for again",
  async ([_name, tale], { app }) => {
    await told(app, [tale(await moved())]);
    expect(await standing(app)).toEqual({ verified: [false], attempts: null });
  },
);

test("ether counts as the transaction carries it; one that failed moved nothing", async ({ app }) => {
  await chain.feeds.tick();
  const from = freshAddress();
  await app.t.mutation(internal.market.samples.takeDue, {});
  await app.settle();
  const price = (await app.rows("priceSamples")).find(({ token }) => token === "ETH")?.priceUsd ?? 0;
  const [carried = "", failed = ""] = await moves.send([
    { coin: "ETH", from, to: freshAddress(), amount: 10n ** 21n },
    { coin: "USDC", from, to: freshAddress(), amount: 10n ** 40n },
  ]);
  await told(app, [{ txHash: carried, token: "ETH", amount: price * 1_000 }, { txHash: failed }]);
  expect((await standing(app)).verified).toEqual([true, false]);
});

test("a chain that is away leaves it unverified; later checks find it, and there are four in all", async () => {
  const hash = await moved();
  const app = createWalletApp(chain, { env: { CHAIN_RPC_URL: "http://127.0.0.1:9" } });
  await told(app, [{ txHash: hash }, { txHash: ABSENT }]);
  expect(await standing(app)).toEqual({ verified: [false, false], attempts: 1 });
  vi.stubEnv("CHAIN_RPC_URL", chain.url);
  for (const attempts of [2, 3, null]) {
    const [{ _id: workId, attempt } = never()] = await app.rows("work");
    await app.t.mutation(internal.lib.work.turns.goOn, { job: { workId, attempt } });
    await app.settle();
    expect(await standing(app)).toEqual({ verified: [true, false], attempts });
  }
});

function never(): never {
  throw new Error("The work has ended");
}
