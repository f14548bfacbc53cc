import { beforeAll, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { createMoves, type Moves } from "../../scripts/chain/moves";
import { chain, useChain, test } from "../support/chain";
import { cutOff } from "../support/leases";
import { createWalletApp, freshAddress, type WalletApp } from "../support/walletApp";

useChain();
let moves: Moves;
beforeAll(async () => {
  moves = await createMoves(chain);
});

const ABSENT = `0x${"ab".repeat(32)}`;
const FAR = Number.MAX_SAFE_INTEGER;
const HOUR = 3_600_000;

type Told = { txHash: string; token?: string; amount?: number; occurredAt?: number; detectedAt?: number };

/** Stores what an agent told, each to be checked now. */
async function storeAlerts(app: WalletApp, alerts: readonly Told[]): Promise<void> {
  await app.t.run(async (ctx) => {
    const watchId = await ctx.db.insert("whaleWatches", {
      ...{ hour: 0, state: "done", startedAt: 0, polls: 1 },
    });
    for (const alert of alerts) {
      await ctx.db.insert("whaleAlerts", {
        ...{ token: "USDC", alertType: "large_transfer", amount: 2_000_000, direction: "neutral" },
        ...{ description: "Moved.", detectedAt: Date.now(), ...alert, watchId },
        ...{ messengerSent: false, verified: false, checks: 0, checkAt: 0 },
      });
    }
  });
}

/** One round of checks. */
async function checkDue(app: WalletApp): Promise<void> {
  const job = await cutOff(app, internal.whales.agent.desk.check, "whale checks", {});
  await app.t.run(({ db }) => db.patch("work", job.workId, { at: FAR }));
  await app.t.action(internal.whales.agent.desk.check, { job });
  await app.t.run(async ({ db }) => {
    if ((await db.get("work", job.workId)) !== null) await db.delete("work", job.workId);
  });
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
  await storeAlerts(app, [
    { txHash },
    { txHash, amount: 2_150_000 },
    { txHash, occurredAt: Date.now() - HOUR / 2 },
  ]);
  await checkDue(app);
  const rows = await app.rows("whaleAlerts");
  expect(rows.map(({ verified, checkAt }) => [verified, checkAt])).toEqual([
    [true, FAR],
    [true, FAR],
    [true, FAR],
  ]);
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
  async ([_name, told], { app }) => {
    await storeAlerts(app, [told(await moved())]);
    await checkDue(app);
    expect(await app.rows("whaleAlerts")).toMatchObject([{ verified: false, checkAt: FAR }]);
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
  await storeAlerts(app, [{ txHash: carried, token: "ETH", amount: price * 1_000 }, { txHash: failed }]);
  await checkDue(app);
  expect((await app.rows("whaleAlerts")).map(({ verified }) => verified)).toEqual([true, false]);
});

test("a chain that is away leaves it unverified; later checks find it, and there are four in all", async () => {
  const hash = await moved();
  const app = createWalletApp(chain, { env: { CHAIN_RPC_URL: "http://127.0.0.1:9" } });
  await storeAlerts(app, [{ txHash: hash }, { txHash: ABSENT }]);
  await checkDue(app);
  expect(await app.rows("whaleAlerts")).toMatchObject([
    { verified: false, checks: 1 },
    { verified: false, checks: 1 },
  ]);
  vi.stubEnv("CHAIN_RPC_URL", chain.url);
  // Nothing is due yet.
  await checkDue(app);
  expect((await app.rows("whaleAlerts")).map(({ checks }) => checks)).toEqual([1, 1]);
  for (let check = 2; check <= 6; check++) {
    await app.t.run(async (ctx) => {
      const rows = await ctx.db.query("whaleAlerts").take(10);
      for (const { _id, checkAt } of rows) {
        if (checkAt < FAR) await ctx.db.patch("whaleAlerts", _id, { checkAt: 0 });
      }
    });
    await checkDue(app);
  }
  expect(await app.rows("whaleAlerts")).toMatchObject([
    { verified: true, checks: 2, checkAt: FAR },
    { verified: false, checks: 4, checkAt: FAR },
  ]);
});
