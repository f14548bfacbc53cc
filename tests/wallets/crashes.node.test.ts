import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { ETHER, holdingsOf, chain, nonceOf, useChain, test } from "../support/chain/chain";
import { cronsComeBy, dieAt } from "../support/crashes";
import { closeApp } from "../support/world";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";

/**
 * The service dies at each of its calls to the outside, before the call leaves or after its effect, and never comes
 * back to that piece of work. Then time passes: the crons come by. However it died, money moved at
 * most once, the row says what the chain says, and the same request gives the same outcome.
 */

useChain();

/** Lets the crons come by until all orders have ended. */
function timePasses(app: WalletApp): Promise<void> {
  const crons = async () => {
    await app.t.run(async (ctx) => {
      for (const row of await ctx.db.query("orders").collect())
        if (row.endedAt === undefined) await ctx.db.patch("orders", row._id, { nextCheckAt: 0 });
    });
    await app.t.mutation(internal.wallets.orders.rows.takeUpDue, {});
  };
  return cronsComeBy(crons, async () =>
    (await app.rows("orders")).every(({ endedAt }) => endedAt !== undefined),
  );
}

async function rehearse(path: string, body: object, spent: "USDC" | "WETH", amount: bigint) {
  let died = 0;
  let moved = 0;
  for (const moment of ["before", "after"] as const) {
    for (let n = 1; ; n++) {
      const app = createWalletApp(chain);
      const address = await app.fundedWallet("alice", { ETH: ETHER, USDC: 10_000_000n, WETH: ETHER });
      const before = await holdingsOf(app);
      const headers = { "Idempotency-Key": "the-one" };
      const death = dieAt(n, moment);
      const answered = app.post(path, { userId: "alice", ...body }, { headers }).then(() => false);
      const reached = await Promise.race([death.dead, answered]);
      death.revive();
      if (!reached) {
        closeApp();
        break;
      }
      died++;
      await timePasses(app);

      const [row] = await app.rows("orders");
      const after = await holdingsOf(app);
      const gone = (before[spent] ?? 0n) - (after[spent] ?? 0n);
      const context = `${moment} call ${n}: ${row?.state} ${row?.error ?? ""}`;
      expect([context, gone]).toEqual([context, row?.state === "confirmed" ? amount : 0n]);
      const mined = (row?.approvalTxHash === undefined ? 0 : 1) + (row?.state === "confirmed" ? 1 : 0);
      expect([context, await nonceOf(address)]).toEqual([context, mined]);
      expect([context, (await app.rows("trades")).map(({ status }) => status)]).toEqual([
        context,
        row === undefined ? [] : [row.state],
      ]);

      // What was signed is never paid again; the key of what was not is free.
      const again = await app.post(path, { userId: "alice", ...body }, { headers });
      expect([context, again.body.status]).toEqual([context, "confirmed"]);
      const now = await holdingsOf(app);
      expect([context, (before[spent] ?? 0n) - (now[spent] ?? 0n)]).toEqual([context, amount]);
      // The wallet goes on: its next nonce is the right one.
      const next = await app.post("/mcp/defi/send", {
        userId: "alice",
        toAddress: `0x${"77".repeat(20)}`,
        token: "ETH",
        amount: "1",
      });
      expect([context, next.body.status]).toEqual([context, "confirmed"]);
      if (gone > 0n) moved++;
      closeApp();
    }
  }
  return { died, moved };
}

describe("dying between any two steps", () => {
  test("of a send moves the money at most once", async () => {
    const request = { toAddress: `0x${"b0".repeat(20)}`, token: "USDC", amount: "3000000" };
    const { died, moved } = await rehearse("/mcp/defi/send", request, "USDC", 3_000_000n);
    expect(died).toBeGreaterThanOrEqual(4);
    expect(moved).toBeGreaterThanOrEqual(1);
    expect(moved).toBeLessThan(died);
  });

  test("of a swap with an approval moves the money at most once", async () => {
    const request = { fromToken: "USDC", toToken: "WETH", amount: "3000000" };
    const { died, moved } = await rehearse("/mcp/defi/swap", request, "USDC", 3_000_000n);
    expect(died).toBeGreaterThanOrEqual(10);
    expect(moved).toBeGreaterThanOrEqual(1);
    expect(moved).toBeLessThan(died);
  });
});
