import fc from "fast-check";
import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import type { MutationCtx } from "../../convex/_generated/server";
import { creditDeposit, deduct, reverseDeposit, standingOf } from "../../convex/credits/model";
import { creditsFor, creditsForTokens } from "../../convex/credits/rates";
import { release, reserve, settle } from "../../convex/credits/reservations";
import { closeApp, createApp, test } from "../support/app";

const usdc = (key: string, amount: number, userId = "alice") =>
  ({ key, amount, userId, source: "usdc" }) as const;

type World = ReturnType<typeof createApp>;
const inLedger = <T>(app: World, step: (ctx: MutationCtx) => Promise<T>) => app.t.run(step);

describe("the rate", () => {
  test("is 100 credits per USDC, floored, or CREDITS_PER_USDC", () => {
    createApp();
    expect(creditsFor(1_000_000n)).toBe(100);
    expect(creditsFor(1_019_999n)).toBe(101);
    expect(creditsFor(9_999n)).toBe(0);
    closeApp();
    createApp({ env: { CREDITS_PER_USDC: "7" } });
    expect(creditsFor(1_999_999n)).toBe(13);
  });

  test("is a credit per started thousand tokens, at least one", () => {
    createApp();
    expect([0, 1, 1_000, 1_001, 2_500].map(creditsForTokens)).toEqual([1, 1, 1, 2, 3]);
    closeApp();
    createApp({ env: { TOKENS_PER_CREDIT: "10" } });
    expect(creditsForTokens(101)).toBe(11);
  });
});

describe("the ledger", () => {
  test("credits a deposit once however often it is reported, and nothing for zero", async ({ app }) => {
    const credit = (amount: number) =>
      inLedger(app, (ctx) => creditDeposit(ctx, usdc(`transfer-${amount}`, amount)));
    expect(await credit(100)).toEqual({ balance: 100, owed: 0, transactions: 1, credited: true });
    const again = await Promise.all(Array.from({ length: 10 }, () => credit(100)));
    expect(again.every(({ credited, balance }) => !credited && balance === 100)).toBe(true);
    expect(await credit(0)).toEqual({ balance: 100, owed: 0, transactions: 1, credited: false });
    expect(await app.rows("creditTransactions")).toMatchObject([
      { type: "deposit", amount: 100, source: "usdc", balanceAfter: 100, owedAfter: 0, sequence: 1 },
    ]);
  });

  test("refuses a key that another user's transaction has", async ({ app }) => {
    await inLedger(app, (ctx) => creditDeposit(ctx, usdc("transfer", 100)));
    const stolen = inLedger(app, (ctx) => creditDeposit(ctx, usdc("transfer", 100, "mallory")));
    await expect(stolen).rejects.toThrow("belongs to another transaction");
  });

  test("refuses a deduction below zero and takes nothing", async ({ app }) => {
    await inLedger(app, (ctx) => creditDeposit(ctx, usdc("transfer", 5)));
    const spend = (amount: number, key: string) =>
      inLedger(app, (ctx) => deduct(ctx, { userId: "alice", amount, key, source: "agent_run" }));
    await expect(spend(6, "a")).rejects.toMatchObject({ data: { code: "payment_required" } });
    expect(await spend(5, "b")).toMatchObject({ balance: 0 });
    expect(await spend(5, "b")).toMatchObject({ balance: 0 });
    await expect(spend(1, "c")).rejects.toMatchObject({ data: { code: "payment_required" } });
    expect(await app.rows("creditTransactions")).toHaveLength(2);
  });

  test.for([0.5, -1, Number.NaN, Number.MAX_SAFE_INTEGER + 1])(
    "takes no amount of %s",
    async (amount, { app }) => {
      await expect(inLedger(app, (ctx) => creditDeposit(ctx, usdc("transfer", amount)))).rejects.toThrow(
        "whole",
      );
    },
  );

  test("takes a reversed deposit back from what is there, the rest from what comes next", async ({ app }) => {
    await inLedger(app, async (ctx) => {
      await creditDeposit(ctx, usdc("first", 100));
      await deduct(ctx, { userId: "alice", amount: 70, key: "spent", source: "agent_run" });
    });
    const reverse = () => inLedger(app, (ctx) => reverseDeposit(ctx, { key: "first" }));
    expect(await reverse()).toEqual({ taken: 30, owed: 70 });
    expect(await reverse()).toEqual({ taken: 0, owed: 0 });
    const second = await inLedger(app, (ctx) => creditDeposit(ctx, usdc("second", 50)));
    expect(second).toMatchObject({ balance: 0, owed: 20, credited: true });
    const third = await inLedger(app, (ctx) => creditDeposit(ctx, usdc("third", 50)));
    expect(third).toMatchObject({ balance: 30, owed: 0 });
    const rows = await app.rows("creditTransactions");
    expect(rows.map(({ type, source, amount }) => [type, source, amount])).toEqual([
      ["deposit", "usdc", 100],
      ["deduction", "agent_run", 70],
      ["deduction", "reversal", 30],
      ["deposit", "usdc", 50],
      ["deduction", "reversal", 50],
      ["deposit", "usdc", 50],
      ["deduction", "reversal", 20],
    ]);
  });

  test("ignores the reversal of what was never a deposit", async ({ app }) => {
    await inLedger(app, async (ctx) => {
      await creditDeposit(ctx, usdc("first", 100));
      await deduct(ctx, { userId: "alice", amount: 1, key: "spent", source: "agent_run" });
    });
    for (const key of ["unknown", "spent"]) {
      expect(await inLedger(app, (ctx) => reverseDeposit(ctx, { key }))).toEqual({ taken: 0, owed: 0 });
    }
  });
});

describe("a reservation", () => {
  const run = { runId: "run-1", userId: "alice", agentId: "primary-default" };
  async function reserved(estimate: number) {
    const app = createApp();
    await inLedger(app, (ctx) => creditDeposit(ctx, usdc("transfer", 10)));
    await inLedger(app, (ctx) => reserve(ctx, run, estimate));
    await inLedger(app, (ctx) => reserve(ctx, run, estimate));
    return app;
  }
  const used = (tokensUsed: number) => ({ model: "m", tokensUsed });

  test("leaves no refund when the estimate was exact, and says what was used all the same", async () => {
    const app = await reserved(2);
    expect(await inLedger(app, (ctx) => settle(ctx, "run-1", used(2_000)))).toBe(2);
    expect((await app.rows("creditTransactions")).at(-1)).toMatchObject({
      type: "deduction",
      amount: 0,
      model: "m",
      tokensUsed: 2_000,
      agentId: "primary-default",
      balanceAfter: 8,
    });
    await inLedger(app, (ctx) => release(ctx, "run-1"));
    expect(await inLedger(app, (ctx) => standingOf(ctx, "alice"))).toMatchObject({ balance: 8 });
  });

  test("takes what a run used beyond it, never more than there is", async () => {
    const app = await reserved(6);
    expect(await inLedger(app, (ctx) => settle(ctx, "run-1", used(8_000)))).toBe(8);
    const second = { ...run, runId: "run-2" };
    await inLedger(app, (ctx) => reserve(ctx, second, 1));
    expect(await inLedger(app, (ctx) => settle(ctx, "run-2", used(50_000)))).toBe(2);
    expect(await inLedger(app, (ctx) => standingOf(ctx, "alice"))).toMatchObject({ balance: 0 });
  });

  test("takes at most half of the estimate more, whatever the gateway says was used", async () => {
    const app = await reserved(2);
    expect(await inLedger(app, (ctx) => settle(ctx, "run-1", used(1_000_000_000)))).toBe(3);
    expect(await inLedger(app, (ctx) => standingOf(ctx, "alice"))).toMatchObject({ balance: 7 });
  });
});

const users = fc.constantFrom("alice", "bob");
const amounts = fc.integer({ min: 1, max: 50 });
// Few, so that the steps of one deposit and of one run meet.
const ids = fc.integer({ min: 0, max: 2 });
const operations = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("deposit" as const), userId: users, id: ids, amount: amounts }),
    fc.record({ kind: fc.constant("reverse" as const), userId: users, id: ids }),
    fc.record({ kind: fc.constant("deduct" as const), userId: users, id: ids, amount: amounts }),
    fc.record({ kind: fc.constant("reserve" as const), userId: users, id: ids, amount: amounts }),
    fc.record({ kind: fc.constant("settle" as const), userId: users, id: ids, tokens: fc.nat(60_000) }),
    fc.record({ kind: fc.constant("release" as const), userId: users, id: ids }),
  ),
  { minLength: 1, maxLength: 80, size: "max" },
);
type Operation = typeof operations extends fc.Arbitrary<(infer One)[]> ? One : never;

describe("over random interleavings", () => {
  test("rows add up to the balance, nothing counts twice, debts are settled first", async ({ app }) => {
    let world = 0;
    await fc.assert(
      fc.asyncProperty(operations, async (steps) => {
        const prefix = `${world++}:`;
        // All at once: whatever order the transactions take, the rules hold.
        await Promise.all(
          steps.map((step) => inLedger(app, (ctx) => perform(ctx, prefix, step)).catch(expectRefusal)),
        );
        await inLedger(app, async (ctx) => {
          for (const user of ["alice", "bob"]) await checkUser(ctx, prefix + user);
        });
      }),
      { numRuns: 120 },
    );
    await app.during(app.t.mutation(internal.credits.reconciliation.run, {}));
    await app.settle();
    expect(await app.rows("creditDiscrepancies")).toEqual([]);
    // Every kind of interleaving has come about, debts netted from deposits and from refunds among them.
    const keys = (await app.rows("creditTransactions")).map(({ key }) => key);
    for (const kind of [
      /:reserve$/,
      /:refund$/,
      /:more$/,
      /:reversal$/,
      /deposit.*:owed$/,
      /:refund:owed$/,
    ]) {
      expect([kind, keys.some((key) => kind.test(key))]).toEqual([kind, true]);
    }
  });
});

async function perform(ctx: MutationCtx, prefix: string, step: Operation): Promise<unknown> {
  const userId = prefix + step.userId;
  const key = `${step.kind === "reverse" ? "deposit" : step.kind}:${userId}:${step.id}`;
  const runId = `${userId}:${step.id}`;
  switch (step.kind) {
    case "deposit":
      return creditDeposit(ctx, { userId, amount: step.amount, key, source: "usdc" });
    case "reverse":
      return reverseDeposit(ctx, { key });
    case "deduct":
      return deduct(ctx, { userId, amount: step.amount, key, source: "report" });
    case "reserve":
      return reserve(ctx, { runId, userId, agentId: "a" }, step.amount);
    case "settle":
      return settle(ctx, runId, { model: "m", tokensUsed: step.tokens });
    case "release":
      return release(ctx, runId);
  }
}

/** A refused step changed nothing; anything but a refusal is a fault. */
function expectRefusal(error: unknown): void {
  expect(String(error)).toMatch(/credits and the balance is|before its credits were reserved/);
}

function keysOf(rows: readonly { key: string }[], ending: string): string[] {
  return rows.flatMap(({ key }) => (key.endsWith(ending) ? [key] : []));
}

async function checkUser(ctx: MutationCtx, userId: string): Promise<void> {
  const rows = await ctx.db
    .query("creditTransactions")
    .withIndex("by_userId_and_sequence", (q) => q.eq("userId", userId))
    .take(1_000);
  const reversals = await ctx.db
    .query("creditReversals")
    .withIndex("by_userId", (q) => q.eq("userId", userId))
    .take(1_000);
  const standing = await standingOf(ctx, userId);
  const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);
  const signed = rows.map(({ type, amount }) => (type === "deduction" ? -amount : amount));
  expect(sum(signed)).toBe(standing.balance);
  expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
  expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_, i) => i + 1));
  const paidBack = rows.flatMap(({ source, amount }) => (source === "reversal" ? [amount] : []));
  expect(sum(reversals.map(({ amount }) => amount)) - sum(paidBack)).toBe(standing.owed);
  let balance = 0;
  for (const [i, row] of rows.entries()) {
    balance += signed[i] ?? 0;
    expect(row.balanceAfter).toBe(balance);
    const least = row.key.endsWith(":used") ? 0 : 1;
    expect([row.balanceAfter >= 0, row.owedAfter >= 0, row.amount >= least]).toEqual([true, true, true]);
  }
  // A run has cost what its reservation says, however its steps were repeated and in whatever order they came.
  for (const key of keysOf(rows, ":reserve")) {
    const runId = key.slice("run:".length, -":reserve".length);
    const reservation = await ctx.db
      .query("creditReservations")
      .withIndex("by_runId", (q) => q.eq("runId", runId))
      .unique();
    const ofRun = [":reserve", ":refund", ":more"].map((step) => `run:${runId}${step}`);
    const moved = rows.flatMap((row, i) => (ofRun.includes(row.key) ? [signed[i] ?? 0] : []));
    const cost = reservation?.state === "held" ? reservation.amount : reservation?.cost;
    expect([runId, sum(moved) + (cost ?? Number.NaN)]).toEqual([runId, 0]);
  }
  // Who owes has nothing: every credit goes to the debt first.
  if (standing.owed > 0) expect(standing.balance).toBe(0);
}
