import fc from "fast-check";
import { describe, expect } from "vitest";
import type { MutationCtx } from "../../convex/_generated/server";
import {
  getCreditBalance,
  creditDeposit,
  toCredits,
  toTokenCredits,
  deduct,
  release,
  reserve,
  settleRun,
} from "../../convex/credits/model";
import { closeApp, createApp, test } from "../support/app";

const usdc = (key: string, amount: number, userId = "alice") =>
  ({ key, amount, userId, source: "usdc" }) as const;

type World = ReturnType<typeof createApp>;
const inLedger = <T>(app: World, step: (ctx: MutationCtx) => Promise<T>) => app.t.run(step);

describe("the rate", () => {
  test("is 100 credits per USDC, floored, or CREDITS_PER_USDC", () => {
    createApp();
    expect(toCredits(1_000_000n)).toBe(100);
    expect(toCredits(1_019_999n)).toBe(101);
    expect(toCredits(9_999n)).toBe(0);
    closeApp();
    createApp({ env: { CREDITS_PER_USDC: "7" } });
    expect(toCredits(1_999_999n)).toBe(13);
  });

  test("is a credit per started thousand tokens, at least one", () => {
    createApp();
    expect([0, 1, 1_000, 1_001, 2_500].map(toTokenCredits)).toEqual([1, 1, 1, 2, 3]);
    closeApp();
    createApp({ env: { TOKENS_PER_CREDIT: "10" } });
    expect(toTokenCredits(101)).toBe(11);
  });
});

test("the ledger credits a deposit once, to its user alone, takes whole amounts, and nothing below zero", async ({
  app,
}) => {
  const credit = (amount: number, userId = "alice") =>
    inLedger(app, (ctx) => creditDeposit(ctx, usdc("transfer", amount, userId)));
  expect(await credit(0)).toBe(false);
  for (const amount of [0.5, -1, Number.NaN, Number.MAX_SAFE_INTEGER + 1])
    await expect(credit(amount)).rejects.toThrow("whole");
  expect(await credit(100)).toBe(true);
  expect(await Promise.all(Array.from({ length: 10 }, () => credit(100)))).not.toContain(true);
  await expect(credit(100, "mallory")).rejects.toThrow("belongs to another transaction");
  const deposit = { type: "deposit", amount: 100, source: "usdc", balanceAfter: 100, sequence: 1 };
  expect(await app.rows("creditTransactions")).toMatchObject([deposit]);
  const spend = (amount: number, key: string) =>
    inLedger(app, (ctx) => deduct(ctx, { userId: "alice", amount, key, source: "agent_run" }));
  const refused = { data: { code: "payment_required" } };
  await expect(spend(101, "a")).rejects.toMatchObject(refused);
  expect([await spend(100, "b"), await spend(100, "b")]).toEqual([true, false]);
  await expect(spend(1, "c")).rejects.toMatchObject(refused);
  expect(await app.rows("creditTransactions")).toHaveLength(2);
});

test("a reservation is the most that a run takes, and says what was used", async ({ app }) => {
  const run = { runId: "run-1", userId: "alice", agentId: "primary-default" };
  await inLedger(app, (ctx) => creditDeposit(ctx, usdc("transfer", 10)));
  const reserved = (runId: string) => inLedger(app, (ctx) => reserve(ctx, { ...run, runId }, 2));
  const settled = (runId: string, tokensUsed: number) =>
    inLedger(app, (ctx) => settleRun(ctx, runId, { model: "m", tokensUsed }));
  for (let i = 0; i < 2; i++) await reserved("run-1");
  expect(await settled("run-1", 2_000)).toBe(2);
  expect((await app.rows("creditTransactions")).at(-1)).toMatchObject({
    ...{ type: "refund", amount: 0, model: "m", tokensUsed: 2_000, balanceAfter: 8 },
    agentId: "primary-default",
  });
  await inLedger(app, (ctx) => release(ctx, "run-1"));
  // Whatever the gateway says was used.
  await reserved("run-2");
  expect(await settled("run-2", 1_000_000_000)).toBe(2);
  expect(await inLedger(app, (ctx) => getCreditBalance(ctx, "alice"))).toBe(6);
});

const users = fc.constantFrom("alice", "bob");
const amounts = fc.integer({ min: 1, max: 50 });
// Few, so that the steps of one deposit and of one run meet.
const ids = fc.integer({ min: 0, max: 2 });
const operations = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("deposit" as const), userId: users, id: ids, amount: amounts }),
    fc.record({ kind: fc.constant("deduct" as const), userId: users, id: ids, amount: amounts }),
    fc.record({ kind: fc.constant("reserve" as const), userId: users, id: ids, amount: amounts }),
    fc.record({ kind: fc.constant("settle" as const), userId: users, id: ids, tokens: fc.nat(60_000) }),
    fc.record({ kind: fc.constant("release" as const), userId: users, id: ids }),
  ),
  { minLength: 1, maxLength: 80, size: "max" },
);
type Operation = typeof operations extends fc.Arbitrary<(infer One)[]> ? One : never;

describe("over random interleavings", () => {
  test("rows add up to the balance, and nothing counts twice", async ({ app }) => {
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
      { numRuns: 30 },
    );
  });
});

async function perform(ctx: MutationCtx, prefix: string, step: Operation): Promise<unknown> {
  const userId = prefix + step.userId;
  const key = `${step.kind}:${userId}:${step.id}`;
  const runId = `${userId}:${step.id}`;
  switch (step.kind) {
    case "deposit":
      return creditDeposit(ctx, { userId, amount: step.amount, key, source: "usdc" });
    case "deduct":
      return deduct(ctx, { userId, amount: step.amount, key, source: "report" });
    case "reserve":
      return reserve(ctx, { runId, userId, agentId: "a" }, step.amount);
    case "settle":
      return settleRun(ctx, runId, { model: "m", tokensUsed: step.tokens });
    case "release":
      return release(ctx, runId);
  }
}

/** A refused step changed nothing; anything but a refusal is a fault. */
function expectRefusal(error: unknown): void {
  expect(String(error)).toMatch(/credits and the balance is|before its credits were reserved/);
}

async function checkUser(ctx: MutationCtx, userId: string): Promise<void> {
  const rows = await ctx.db
    .query("creditTransactions")
    .withIndex("by_userId_and_sequence", (q) => q.eq("userId", userId))
    .take(1_000);
  expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_, i) => i + 1));
  expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
  let balance = 0;
  for (const { type, amount, balanceAfter, tokensUsed } of rows) {
    balance += type === "deduction" ? -amount : amount;
    expect(balanceAfter).toBe(balance);
    const least = tokensUsed === undefined ? 1 : 0;
    expect([balanceAfter >= 0, amount >= least]).toEqual([true, true]);
  }
  expect(await getCreditBalance(ctx, userId)).toBe(balance);
  // A run has cost between nothing and its estimate.
  for (const { key, amount } of rows.filter((row) => row.key.endsWith(":reserve"))) {
    const end = rows.find((row) => row.key === key.replace(/reserve$/, "end"));
    expect([key, (end?.amount ?? 0) <= amount]).toEqual([key, true]);
  }
}
