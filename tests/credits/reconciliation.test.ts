import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { creditDeposit, deduct, reverseDeposit } from "../../convex/credits/model";
import { createApp, test } from "../support/app";

async function reconcile(app: ReturnType<typeof createApp>) {
  await app.t.mutation(internal.credits.reconciliation.run, {});
  await app.settle(40);
  return app.rows("creditDiscrepancies");
}

async function ledgerOf(rowsOf: Record<string, number>) {
  const app = createApp();
  for (const [userId, count] of Object.entries(rowsOf)) {
    await app.t.run(async (ctx) => {
      for (let i = 0; i < count; i++) {
        await creditDeposit(ctx, { userId, amount: 3, key: `${userId}:${i}`, source: "usdc" });
      }
    });
  }
  return app;
}

describe("the recomputation", () => {
  test("finds nothing in a sound ledger, however long, debts included", async () => {
    const app = await ledgerOf({ alice: 5, bob: 1_100, Ünal: 2, "😀": 1 });
    await app.t.run(async (ctx) => {
      await deduct(ctx, { userId: "alice", amount: 14, key: "spent", source: "agent_run" });
      await reverseDeposit(ctx, { key: "alice:0" });
    });
    expect(await reconcile(app)).toEqual([]);
  });

  test("reports a balance, a debt and a row that do not fit, and corrects nothing", async () => {
    const app = await ledgerOf({ alice: 5, bob: 1_100, carol: 2, dave: 3 });
    await app.t.run(async (ctx) => {
      for (const row of await ctx.db.query("creditBalances").collect()) {
        if (row.userId === "bob") await ctx.db.patch("creditBalances", row._id, { balance: row.balance + 1 });
        if (row.userId === "carol") await ctx.db.patch("creditBalances", row._id, { owed: 4 });
        if (row.userId === "dave") await ctx.db.delete("creditBalances", row._id);
      }
    });
    const before = await app.rows("creditBalances");
    const found = await reconcile(app);
    expect(found).toMatchObject([
      { userId: "bob", stored: { balance: 3_301 }, computed: { balance: 3_300 } },
      { userId: "carol", stored: { owed: 4 }, computed: { owed: 0 } },
      { userId: "dave", stored: { balance: 0, transactions: 0 }, computed: { balance: 3, transactions: 1 } },
    ]);
    expect(await app.rows("creditBalances")).toEqual(before);
  });
});
