import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { recordCronRun } from "../lib/cronRuns";
import { deadlines } from "../lib/deadlines";
import { messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { enterLater } from "../lib/lanes";
import { providerAction } from "../lib/providerCalls";
import { MINUTE } from "../lib/time";
import { enqueueServiceCard } from "../messenger/notices";
import { recentHourlyCloses } from "../prices/model";
import { vPriceSource } from "../prices/tables";
import { UnusableAnswer } from "../providers/llm";
import { completeStructured } from "../providers/structured";
import { dayBefore, dayOf, isIssueTime } from "./calendar";
import { issuedCard } from "./cards";
import { bare, chainHeadOf, findSignal, issueSignal, nextIssueTime } from "./model";
import { signalQuestion } from "./prompts";
import { LIFETIME_MS, problemsOf, TOKENS, type Token } from "./rules";
import { proposalFields, vPriceAtIssue, vSignal, vToken } from "./tables";

/** How long an attempt may take once it has begun: a price, then two calls of a minute in all, and a margin. */
const LEASE_MS = 3 * MINUTE;
/** How long it may wait in the pool before that: waiting is not being lost. */
const QUEUE_MS = 60 * MINUTE;
/** After 1, 4, 9, 16 and 25 minutes: within the hour, while the day's signal is still of use. */
const ATTEMPTS = 6;
/** A day of the service's own hourly record goes into the prompt. */
const CLOSES = 24;

/**
 * The daily job. Each token gets one signal a day, however often and however often at once this runs: the row of token
 * and day is looked for and written in one transaction. A run before 08:00 is a late one for the day before, whose
 * signal would be of no use any more, and issues nothing.
 */
export const issueDue = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await recordCronRun(ctx, "issue the day's signals");
    const now = Date.now();
    if (!isIssueTime(now)) return null;
    const day = dayOf(now);
    for (const token of TOKENS) {
      if ((await findRun(ctx, token, day)) !== null) continue;
      const runId = await ctx.db.insert("signalRuns", {
        token,
        day,
        state: "writing",
        attempt: 1,
        leaseUntil: now + QUEUE_MS,
        announced: false,
      });
      await enqueue(ctx, runId, 1);
    }
    return null;
  },
});

/** Resumes runs whose attempt was cut off. For the cron. */
export const resumeLost = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await recordCronRun(ctx, "resume interrupted signals");
    const lost = await ctx.db
      .query("signalRuns")
      .withIndex("by_state_and_leaseUntil", (q) => q.eq("state", "writing").lt("leaseUntil", Date.now()))
      .take(20);
    for (const run of lost) await retryOrFail(ctx, run, "The attempt was interrupted", 0);
    return null;
  },
});

/** Asks for the signal, and stores it or why there is none. */
export const write = providerAction({
  args: { runId: v.id("signalRuns"), attempt: v.number() },
  returns: v.null(),
  handler: async (ctx, { runId, attempt }) => {
    const task = await ctx.runMutation(internal.signals.issuing.beginAttempt, { runId, attempt });
    if (task === null) return null;
    try {
      // The entry is checked against this price; checking the model against itself would check nothing.
      const price = await ctx.runAction(internal.prices.live.measured, { token: task.token });
      const question = signalQuestion({ ...task, nowMs: Date.now(), price }, (proposal) =>
        problemsOf(proposal, price.priceUsd),
      );
      const patience = { turnMs: deadlines.llmScheduled, attempts: 2, payer: "service" as const };
      const answer = await completeStructured(ctx, question, patience);
      await ctx.runMutation(internal.signals.issuing.store, {
        runId,
        attempt,
        proposal: answer.value,
        model: answer.model,
        price: { usd: price.priceUsd, source: price.source, observedAt: price.observedAt },
      });
    } catch (error) {
      if (error instanceof UnusableAnswer) {
        await ctx.runMutation(internal.signals.issuing.refuse, { runId, attempt, problem: error.problem });
      } else {
        await ctx.runMutation(internal.signals.issuing.fail, { runId, attempt, reason: messageOf(error) });
      }
    }
    return null;
  },
});

/** Begins an attempt's lease; returns what the prompt needs, `null` when it was overtaken. */
export const beginAttempt = internalMutation({
  args: { runId: v.id("signalRuns"), attempt: v.number() },
  returns: v.union(
    v.object({
      token: vToken,
      closes: v.array(v.object({ hourEndsAt: v.number(), priceUsd: v.number(), source: vPriceSource })),
      yesterday: v.array(vSignal),
    }),
    v.null(),
  ),
  handler: async (ctx, { runId, attempt }) => {
    const run = await running(ctx, runId, attempt);
    if (run === null) return null;
    const now = Date.now();
    await ctx.db.patch("signalRuns", runId, { leaseUntil: now + LEASE_MS });
    const before = await Promise.all(TOKENS.map((token) => findSignal(ctx, token, dayBefore(run.day))));
    return {
      token: run.token,
      closes: await recentHourlyCloses(ctx, run.token, { before: now, count: CLOSES }),
      yesterday: before.flatMap((row) => (row === null ? [] : [bare(row)])),
    };
  },
});

/** Issues the signal: row, event, and its card once no other one is waited for. */
export const store = internalMutation({
  args: {
    runId: v.id("signalRuns"),
    attempt: v.number(),
    proposal: v.object(proposalFields),
    model: v.string(),
    price: vPriceAtIssue,
  },
  returns: v.null(),
  handler: async (ctx, { runId, attempt, proposal, model, price }) => {
    const run = await running(ctx, runId, attempt);
    if (run === null) return null;
    const generatedAt = await nextIssueTime(ctx, Date.now());
    if (dayOf(generatedAt) !== run.day) {
      await close(ctx, run, "failed", "The day was over before the signal was ready");
      return null;
    }
    await issueSignal(ctx, {
      token: run.token,
      day: run.day,
      ...proposal,
      status: "PENDING",
      generatedAt,
      expiresAt: generatedAt + LIFETIME_MS,
      model,
      price,
    });
    await ctx.db.patch("signalRuns", runId, { state: "issued", error: undefined });
    await announce(ctx, run.day);
    return null;
  },
});

/** Ends a run whose model proposed nothing usable, twice. */
export const refuse = internalMutation({
  args: { runId: v.id("signalRuns"), attempt: v.number(), problem: v.string() },
  returns: v.null(),
  handler: async (ctx, { runId, attempt, problem }) => {
    const run = await running(ctx, runId, attempt);
    if (run !== null) await close(ctx, run, "refused", `The model's signal was refused: ${problem}`);
    return null;
  },
});

export const fail = internalMutation({
  args: { runId: v.id("signalRuns"), attempt: v.number(), reason: v.string() },
  returns: v.null(),
  handler: async (ctx, { runId, attempt, reason }) => {
    const run = await running(ctx, runId, attempt);
    if (run !== null) await retryOrFail(ctx, run, reason, attempt * attempt * MINUTE);
    return null;
  },
});

/** Another attempt after `delayMs`, or the end of trying: the last attempt, or the end of the day. */
async function retryOrFail(ctx: MutationCtx, run: Doc<"signalRuns">, error: string, delayMs: number) {
  const now = Date.now();
  if (run.attempt >= ATTEMPTS || dayOf(now + delayMs) !== run.day) {
    await close(ctx, run, "failed", error);
    return;
  }
  const attempt = run.attempt + 1;
  await ctx.db.patch("signalRuns", run._id, { attempt, error, leaseUntil: now + delayMs + QUEUE_MS });
  await enqueue(ctx, run._id, attempt, delayMs);
  await announce(ctx, run.day);
}

/** Ends a run without a signal, and tells the operator why. */
async function close(ctx: MutationCtx, run: Doc<"signalRuns">, state: "refused" | "failed", error: string) {
  const { token, day } = run;
  await ctx.db.patch("signalRuns", run._id, { state, error });
  await ctx.db.insert("operatorNotes", { at: Date.now(), subject: `signal ${token} ${day}`, text: error });
  log.error("signals.none issued", { token, day, state, reason: error });
  await announce(ctx, day);
}

/**
 * Sends the day's signals that stand on no card yet. The tokens wait for each other's first attempt, so that a usual
 * day makes one card; one that has to be tried again comes on a card of its own.
 */
async function announce(ctx: MutationCtx, day: string): Promise<void> {
  const runs = await Promise.all(TOKENS.map((token) => findRun(ctx, token, day)));
  if (runs.some((run) => run?.state === "writing" && run.attempt === 1)) return;
  const ready = runs.flatMap((run) => (run?.state === "issued" && !run.announced ? [run] : []));
  if (ready.length === 0) return;
  const signals = await Promise.all(ready.map(({ token }) => findSignal(ctx, token, day)));
  await enqueueServiceCard(ctx, {
    kind: "trading signals",
    paragraphs: issuedCard(
      signals.flatMap((row) => (row === null ? [] : [bare(row)])),
      await chainHeadOf(ctx),
    ),
  });
  for (const { _id } of ready) await ctx.db.patch("signalRuns", _id, { announced: true });
}

async function findRun(ctx: QueryCtx, token: Token, day: string): Promise<Doc<"signalRuns"> | null> {
  return ctx.db
    .query("signalRuns")
    .withIndex("by_token_and_day", (q) => q.eq("token", token).eq("day", day))
    .unique();
}

async function running(ctx: QueryCtx, runId: Id<"signalRuns">, attempt: number) {
  const run = await ctx.db.get("signalRuns", runId);
  return run !== null && run.state === "writing" && run.attempt === attempt ? run : null;
}

async function enqueue(ctx: MutationCtx, runId: Id<"signalRuns">, attempt: number, delayMs = 0) {
  const place = { lane: "service" as const, owner: "signals" };
  await enterLater(ctx, place, internal.signals.issuing.write, { runId, attempt }, delayMs);
}
