import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import type { Chain } from "../../scripts/stack/chain";
import { clientOf, mined, newWallet, signed } from "../chain/support";
import { createWalletApp, freshAddress, startTestChain, type WalletApp } from "../support/walletApp";
import { closeApp } from "../support/world";

let chain: Chain;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());
afterEach(closeApp);

const ABSENT = `0x${"ab".repeat(32)}`;
const FAR = Number.MAX_SAFE_INTEGER;

/** Stores an alert for each transaction, its check due now. */
async function storeAlerts(app: WalletApp, hashes: readonly string[]): Promise<void> {
  await app.t.run(async (ctx) => {
    const watchId = await ctx.db.insert("whaleWatches", {
      ...{ hour: 0, state: "done", startedAt: 0, leaseUntil: FAR, polls: 1 },
    });
    for (const txHash of hashes) {
      await ctx.db.insert("whaleAlerts", {
        ...{ token: "ETH", alertType: "large_transfer", amount: 1, direction: "neutral" },
        ...{ description: "Moved.", txHash, detectedAt: Date.now(), watchId },
        ...{ messengerSent: false, verified: false, checks: 0, checkAt: 0 },
      });
    }
  });
}

async function sentBy(chain: Chain, to: `0x${string}`, data?: `0x${string}`): Promise<string> {
  const wallet = await newWallet(chain);
  const serializedTransaction = await signed(
    chain,
    wallet,
    data === undefined ? { to, value: 1n } : { to, data },
  );
  const client = clientOf(chain);
  const hash = await client.sendRawTransaction({ serializedTransaction });
  await mined(chain, hash);
  return hash;
}

test("a transaction that the chain has is verified; one that failed or is unknown is not", async () => {
  const app = createWalletApp(chain);
  const succeeded = await sentBy(chain, freshAddress());
  // A call that no token takes.
  const reverted = await sentBy(chain, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0xdeadbeef");
  await storeAlerts(app, [succeeded, reverted, ABSENT]);
  await app.t.action(internal.whales.checks.run, {});
  const rows = await app.rows("whaleAlerts");
  expect(rows.map(({ verified }) => verified)).toEqual([true, false, false]);
  // Only the unknown one is looked for again.
  expect(rows.map(({ checkAt }) => checkAt === FAR)).toEqual([true, true, false]);
  const { body } = await app.get("/mcp/whale-alerts");
  expect(body.alerts).toMatchObject([{ verified: false }, { verified: false }, { verified: true }]);
});

test("a chain that is away leaves it unverified; later checks find it, and there are four in all", async () => {
  const hash = await sentBy(chain, freshAddress());
  const app = createWalletApp(chain, { env: { CHAIN_RPC_URL: "http://127.0.0.1:9" } });
  await storeAlerts(app, [hash, ABSENT]);
  await app.t.action(internal.whales.checks.run, {});
  expect(await app.rows("whaleAlerts")).toMatchObject([
    { verified: false, checks: 1 },
    { verified: false, checks: 1 },
  ]);
  vi.stubEnv("CHAIN_RPC_URL", chain.url);
  // Nothing is due yet.
  await app.t.action(internal.whales.checks.run, {});
  expect((await app.rows("whaleAlerts")).map(({ checks }) => checks)).toEqual([1, 1]);
  for (let check = 2; check <= 6; check++) {
    await app.t.run(async (ctx) => {
      const rows = await ctx.db.query("whaleAlerts").take(10);
      for (const { _id, checkAt } of rows) {
        if (checkAt < FAR) await ctx.db.patch("whaleAlerts", _id, { checkAt: 0 });
      }
    });
    await app.t.action(internal.whales.checks.run, {});
  }
  expect(await app.rows("whaleAlerts")).toMatchObject([
    { verified: true, checks: 2, checkAt: FAR },
    { verified: false, checks: 4, checkAt: FAR },
  ]);
});
