import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { creditDeposit } from "../../convex/credits/model";
import { createApp, test } from "../support/app";
import { loseScheduled } from "../support/rows/leases";
import { browserOf } from "../support/browser";

const paginationOpts = { numItems: 10, cursor: null };

async function withCredits(amount: number, env: Record<string, string | undefined> = {}) {
  const app = createApp({ env });
  const alice = browserOf(app, "alice");
  const { userId } = await alice.mutation(api.accounts.profile.signIn, {});
  await app.t.run((ctx) => creditDeposit(ctx, { userId, amount, key: "given", source: "usdc" }));
  const start = (question: string, more: { agentId?: string; idempotencyKey?: string } = {}) =>
    alice.mutation(api.chat.runs.start, { question, ...more });
  const balance = async () => (await alice.query(api.credits.app.balance, {})).balance;
  return { app, alice, userId, start, balance };
}

describe("an agent run", () => {
  test("reserves, answers, charges the real tokens and is there to read", async () => {
    const { app, alice, start, balance } = await withCredits(1_000, { TOKENS_PER_CREDIT: "10" });
    const runId = await start("How is the market?", { agentId: "news-default" });
    expect(await balance()).toBeLessThan(1_000);
    expect(await alice.query(api.runs.app.one, { runId })).toMatchObject({ status: "running" });
    await app.settle();
    const run = await alice.query(api.runs.app.one, { runId });
    expect(run).toMatchObject({
      status: "completed",
      agentId: "news-default",
      question: "How is the market?",
      title: "How is the market?",
      answer: expect.any(String),
      model: expect.stringContaining("simulated"),
    });
    const tokensUsed = run?.tokensUsed ?? 0;
    expect(tokensUsed).toBeGreaterThan(0);
    expect(run?.credits).toBe(Math.ceil(tokensUsed / 10));
    expect(await balance()).toBe(1_000 - (run?.credits ?? 0));
  });

  test("is started once per key, and charged once", async () => {
    const { app, start } = await withCredits(100);
    const runs = await Promise.all(Array.from({ length: 5 }, () => start("Why?", { idempotencyKey: "one" })));
    expect(new Set(runs).size).toBe(1);
    const reserved = (await app.rows("creditTransactions")).filter(({ key }) => key.endsWith(":reserve"));
    expect(reserved).toHaveLength(1);
    // It is nobody else's to see.
    const [runId] = runs;
    const bob = browserOf(app, "bob");
    await bob.mutation(api.accounts.profile.signIn, {});
    expect(runId && (await bob.query(api.runs.app.one, { runId }))).toBeNull();
    const page = await bob.query(api.accounts.data.page, { section: "runs", paginationOpts });
    expect(page.page).toEqual([]);
  });

  test("lost with its server is given up and given back; its late word changes nothing", async () => {
    const { app, alice, start, balance } = await withCredits(10);
    const runId = await start("How is the market?");
    await app.t.mutation(internal.platform.work.startNext, { queue: "models" });
    const [work] = await app.rows("work");
    if (work === undefined) throw new Error("It is under way");
    const job = { workId: work._id, attempt: work.attempt };
    await loseScheduled(app);
    expect(await balance()).toBe(10);
    const reply = { answer: "late", model: "m", tokensUsed: 5_000 };
    await app.t.mutation(internal.chat.runs.finishRun, { runId, job, reply });
    expect(await alice.query(api.runs.app.one, { runId })).toMatchObject({ status: "failed", credits: 0 });
    expect(await balance()).toBe(10);
  });

  test("is refused without the credits, and for what is no question or no agent; nothing is left behind", async () => {
    const { app, alice, balance } = await withCredits(2);
    for (const [args, code] of [
      [{ question: "Why?" }, "payment_required"],
      [{ question: "  " }, "invalid_request"],
      [{ question: "x".repeat(8_001) }, "invalid_request"],
      [{ question: "Why?", idempotencyKey: "k".repeat(201) }, "invalid_request"],
      [{ question: "Why?", agentId: "nobody" }, "not_found"],
    ] as const)
      await expect(alice.mutation(api.chat.runs.start, args)).rejects.toMatchObject({ data: { code } });
    expect([await balance(), await app.rows("agentRuns")]).toEqual([2, []]);
  });
});
