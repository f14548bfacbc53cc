import { expect } from "vitest";
import { chain, test } from "../support/chain/chain";
import { createWalletApp, freshAddress, type WalletApp } from "../support/chain/walletApp";
import { moves, useMoves } from "./observer";
import { agentSays, alert, watchNow } from "./support";

/** What the agent tells is looked up on the chain once, before it is stored. */

useMoves();

const HOUR = 3_600_000;
const iso = (at: number) => new Date(at).toISOString();

/** Which alerts of an answer are verified. */
async function told(app: WalletApp, alerts: readonly object[]): Promise<boolean[]> {
  agentSays(
    app,
    alerts.map((one) => alert({ token: "USDC", amount: 2_000_000, chain: "base", ...one })),
  );
  await watchNow(app);
  return (await app.rows("whaleAlerts")).map(({ verified }) => verified);
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
  expect(await told(app, [{ txHash, amount: 2_150_000, occurredAt: iso(Date.now() - HOUR / 2) }])).toEqual([
    true,
  ]);
  const { body } = await app.get("/mcp/whale-alerts");
  expect(body.alerts).toMatchObject([{ verified: true, source: "agent-reported" }]);
});

test("a transaction that tells of another token, one not looked at, ether, another amount or time is not verified", async ({
  app,
}) => {
  const tales = [
    { token: "USDT" },
    { token: "PEPE" },
    { token: "ETH" },
    { amount: 2_500_000 },
    { occurredAt: iso(Date.now() - 2 * HOUR) },
  ];
  const alerts = [];
  for (const tale of tales) alerts.push({ txHash: await moved(), ...tale });
  expect(await told(app, alerts)).toEqual(tales.map(() => false));
});

test("a chain that is away leaves it unverified, and stores it", async () => {
  const txHash = await moved();
  const app = createWalletApp(chain, { env: { CHAIN_RPC_URL: "http://127.0.0.1:9" } });
  expect(await told(app, [{ txHash }])).toEqual([false]);
});
