import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { cron } from "../lib/cronRuns";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { enter, telling, vFailure } from "../lib/lanes";
import { providerAction } from "../lib/providerCalls";
import { dayOf } from "../lib/time";
import { enqueueServiceCard } from "../messenger/notices";
import { recentHourlyCloses } from "../prices/model";
import { vClose, type Price } from "../prices/tables";
import { UnusableAnswer } from "../providers/llm";
import { recordOfToken, vTold } from "./calibration";
import { dayBefore, dayEnd, isIssueTime } from "./calendar";
import { issuedCard } from "./cards";
import { dayAgo } from "./context";
import { champion, promptOf } from "./champions";
import { momentumOf } from "./controls";
import { completeDay, findRun } from "./days";
import { signalsDrawn } from "./drawn";
import { bare, chainHeadOf, findSignal, issueSignal, keepRefusal, nextIssueTime, totalsOf } from "./model";
import { HOURS } from "./prompts";
import { askForSignal } from "./proposals";
import { entered, TOKENS } from "./rules";
import { proposalFields, vPriceAtIssue, vSide, vSignal, vToken } from "./tables";

/** After 1, 4, 9, 16 and 25 minutes: within the hour, while the day's signal is still of use. */
const ATTEMPTS = 6;

/**
 * The daily job. Each token gets one signal a day, however often and however often at once this runs: the row of token
 * and day is looked for and written in one transaction. A run before 08:00 is a late one for the day before, whose
 * signal would be of no use any more, and issues nothing.
 */
export const issueDue = cron("issue the day's signals", async (ctx) => {
  const now = Date.now();
  if (!isIssueTime(now)) return;
  const day = dayOf(now);
  for (const token of TOKENS) {
    if ((await findRun(ctx, token, day)) !== null) continue;
    const runId = await ctx.db.insert("signalRuns", {
      token,
      day,
      state: "writing",
      attempt: 1,
      announced: false,
    });
    const told = telling(internal.signals.issuing.failed, { runId });
    const care = { attempts: ATTEMPTS, until: dayEnd(day), told };
    const place = { lane: "service" as const, owner: "signals", request: false };
    await enter(ctx, place, internal.signals.issuing.write, { runId }, care);
  }
});

/** Asks for the signal, and stores it or why there is none. */
export const write = providerAction({
  args: { runId: v.id("signalRuns") },
  returns: v.null(),
  handler: async (ctx, { runId }) => {
    const task = await ctx.runQuery(internal.signals.issuing.task, { runId });
    if (task === null) return null;
    const { token, promptVersion, championId } = task;
    const measured = (observedSince: number): Promise<Price> =>
      ctx.runAction(internal.prices.live.tradable, { token, observedSince });
    const asked = { attempts: 2, payer: "service" as const, model: task.model };
    const answer = await askForSignal(ctx, task, measured, asked).catch((error: unknown) => {
      if (error instanceof UnusableAnswer) return error;
      throw error;
    });
    if (answer instanceof UnusableAnswer) {
      await ctx.runMutation(internal.signals.issuing.refuse, { runId, problem: answer.problem });
      return null;
    }
    const { hours, ...proposed } = answer;
    await ctx.runMutation(internal.signals.issuing.store, {
      ...{ runId, ...proposed, promptVersion, championId },
      momentum: momentumOf(proposed.price.usd, dayAgo(hours, Date.now())),
      missingHours: Math.max(0, HOURS - hours.length),
    });
    return null;
  },
});

const vPromptVersion = v.union(v.literal("signal-2"), v.literal("signal-3"));
const vChampionId = v.union(v.id("signalChampions"), v.null());

/** What the prompt needs; `null` when the run has ended. */
export const task = internalQuery({
  args: { runId: v.id("signalRuns") },
  returns: v.union(
    v.object({
      token: vToken,
      closes: v.array(vClose),
      calibration: vTold,
      yesterday: v.array(vSignal),
      /** Which model and prompt, and who of the promoted that is. */
      model: v.optional(v.string()),
      promptVersion: vPromptVersion,
      championId: vChampionId,
    }),
    v.null(),
  ),
  handler: async (ctx, { runId }) => {
    const run = await running(ctx, runId);
    if (run === null) return null;
    const before = await Promise.all(TOKENS.map((token) => findSignal(ctx, token, dayBefore(run.day))));
    const writer = await champion(ctx);
    return {
      token: run.token,
      closes: await recentHourlyCloses(ctx, run.token, { before: Date.now(), count: HOURS }),
      // Another model's record does not count.
      calibration: recordOfToken(writer?.outcomes[run.token] ?? (await totalsOf(ctx, run.token))),
      yesterday: before.flatMap((row) => (row === null ? [] : [bare(row)])),
      ...(writer === null ? {} : { model: writer.model }),
      promptVersion: promptOf(writer),
      championId: writer?._id ?? null,
    };
  },
});

/** Issues the signal: row, event, and its card once no other one is waited for. */
export const store = internalMutation({
  args: {
    runId: v.id("signalRuns"),
    proposal: v.object(proposalFields),
    model: v.string(),
    promptVersion: vPromptVersion,
    championId: vChampionId,
    price: vPriceAtIssue,
    costBps: v.number(),
    momentum: vSide,
    missingHours: v.number(),
  },
  returns: v.null(),
  handler: async (ctx, { runId, proposal, price, championId, ...known }) => {
    const run = await running(ctx, runId);
    if (run === null) return null;
    if (((await champion(ctx))?._id ?? null) !== championId) {
      throw new AppError("conflict", "Another model was promoted meanwhile");
    }
    const generatedAt = await nextIssueTime(ctx, Date.now());
    if (dayOf(generatedAt) !== run.day) {
      await close(ctx, run, "failed", "The day was over before the signal was ready");
      return null;
    }
    await issueSignal(ctx, {
      token: run.token,
      day: run.day,
      ...entered(proposal, { priceUsd: price.usd, costBps: known.costBps }),
      generatedAt,
      price,
      ...known,
    });
    await ctx.db.patch("signalRuns", runId, { state: "issued", error: undefined });
    await announce(ctx, run.day);
    return null;
  },
});

/** Ends a run whose model proposed nothing usable, twice. */
export const refuse = internalMutation({
  args: { runId: v.id("signalRuns"), problem: v.string() },
  returns: v.null(),
  handler: async (ctx, { runId, problem }) => {
    const run = await running(ctx, runId);
    if (run !== null) await close(ctx, run, "refused", `The model's signal was refused: ${problem}`);
    return null;
  },
});

/** Notes a failed attempt; the last one of the day ends the run. */
export const failed = internalMutation({
  args: { runId: v.id("signalRuns"), ...vFailure },
  returns: v.null(),
  handler: async (ctx, { runId, error, isLast }) => {
    const run = await running(ctx, runId);
    if (run === null) return null;
    if (isLast) {
      await close(ctx, run, "failed", error);
      return null;
    }
    await ctx.db.patch("signalRuns", runId, { attempt: run.attempt + 1, error });
    await announce(ctx, run.day);
    return null;
  },
});

/** Ends a run without a signal, and tells the operator why. */
async function close(ctx: MutationCtx, run: Doc<"signalRuns">, state: "refused" | "failed", error: string) {
  const { token, day } = run;
  await ctx.db.patch("signalRuns", run._id, { state, error });
  await ctx.db.insert("operatorNotes", { at: Date.now(), subject: `signal ${token} ${day}`, text: error });
  log.error("signals.none issued", { token, day, state, reason: error });
  await keepRefusal(ctx, { token, day, model: null, promptVersion: promptOf(await champion(ctx)) }, state);
  await completeDay(ctx, day);
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
  const issued = signals.flatMap((row) => (row === null ? [] : [bare(row)]));
  await enqueueServiceCard(ctx, {
    kind: "trading signals",
    paragraphs: issuedCard(issued, await chainHeadOf(ctx)),
    picture: await signalsDrawn(issued),
  });
  for (const { _id } of ready) await ctx.db.patch("signalRuns", _id, { announced: true });
}

async function running(ctx: QueryCtx, runId: Id<"signalRuns">) {
  const run = await ctx.db.get("signalRuns", runId);
  return run?.state === "writing" ? run : null;
}
