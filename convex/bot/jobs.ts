import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { lostWork } from "../lib/cronRuns";
import { failureOf, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { providerAction } from "../lib/providerCalls";
import { outcomeOf } from "../lib/refreshes";
import { MINUTE, SECOND } from "../lib/time";
import { userOfAccount, type Card } from "../messenger/model";
import { notice } from "./cards";
import { scheduleJob, sendAnswer } from "./model";
import { respond } from "./responses";
import { botTables, type Work } from "./tables";
import { typeIn } from "./typing";
import { carryOut, vStep, type Step } from "./work";

/** How long a try may take before it counts as cut off: longer than a model's answer with its context. */
const LEASE_MS = 2 * MINUTE;
const MAX_LOST = 2;
const POLL_MS = 3 * SECOND;
/** Longer than any research takes; what is not done by then is given up. */
const PATIENCE_MS = 8 * MINUTE;
const BATCH = 100;

const FAILED = "Something went wrong on my side. Please try again later.";
const LATE = "This takes too long just now. Please try again later.";

const vTry = botTables.botJobs.validator.pick("attempt", "sender", "userId", "work");

/** Takes one step of a job's work, and hands in what came of it. */
export const run = providerAction({
  args: { jobId: v.id("botJobs") },
  returns: v.null(),
  handler: async (ctx, { jobId }): Promise<null> => {
    const job = await ctx.runMutation(internal.bot.jobs.claim, { jobId });
    if (job === null) return null;
    let step: Step;
    const typing = isShown(job.work) ? typeIn(job.sender.chatId) : null;
    try {
      step = await carryOut(ctx, { jobId, ...job });
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null)
        log.error("bot.unexpected", { jobId, kind: job.work.kind, message: messageOf(error) });
      step = { kind: "answer", paragraphs: [[failure === null ? FAILED : `${failure.message}.`]] };
    } finally {
      await typing?.stop();
    }
    await ctx.runMutation(internal.bot.jobs.advance, { jobId, attempt: job.attempt, step });
    return null;
  },
});

/** Takes the job for one try; `null` when it is not due, done, or somebody else's. */
export const claim = internalMutation({
  args: { jobId: v.id("botJobs") },
  returns: v.union(vTry, v.null()),
  handler: async (ctx, { jobId }) => {
    const job = await ctx.db.get("botJobs", jobId);
    const now = Date.now();
    if (job === null || job.dueAt > now) return null;
    const lost = job.lost + (job.running ? 1 : 0);
    if (lost > MAX_LOST) {
      await end(ctx, job, FAILED);
      return null;
    }
    const attempt = job.attempt + 1;
    await ctx.db.patch("botJobs", jobId, {
      ...{ running: true, dueAt: now + LEASE_MS, attempt, lost },
      queuedUntil: undefined,
    });
    return parse(vTry, { ...job, attempt });
  },
});

/** Moves a job on by what came of a step: its answer is queued, or it waits for what is under way elsewhere. */
export const advance = internalMutation({
  args: { jobId: v.id("botJobs"), attempt: v.number(), step: vStep },
  returns: v.null(),
  handler: async (ctx, { jobId, attempt, step }) => {
    const job = await ctx.db.get("botJobs", jobId);
    if (job === null || !job.running || job.attempt !== attempt) return null;
    if (step.kind === "wait") {
      const now = Date.now();
      if (job.work.kind !== "research" || now - job.createdAt > PATIENCE_MS) {
        await end(ctx, job, LATE);
        return null;
      }
      const work = { ...job.work, ticket: step.ticket };
      await ctx.db.patch("botJobs", jobId, { work, running: false, dueAt: now + POLL_MS });
      await ctx.scheduler.runAfter(POLL_MS, internal.bot.jobs.look, { jobId, attempt: job.attempt });
      return null;
    }
    await ctx.db.delete("botJobs", jobId);
    if (step.kind === "respond") await respond(ctx, job.sender, step.text);
    if (step.kind !== "answer") return null;
    // Who has unlinked since is told nothing of the user's any more.
    const userId = await userOfAccount(ctx, job.sender.messengerId);
    if (job.userId !== undefined && job.userId !== userId) return null;
    const { paragraphs, buttons, picture } = step;
    await sendAnswer(ctx, job.sender, userId, paragraphs, { buttons, picture, ...placeOf(job) });
    return null;
  },
});

/** Sees whether what a job waits for has come to an end; no delivery's place is held for that. */
export const look = internalMutation({
  args: { jobId: v.id("botJobs"), attempt: v.number() },
  returns: v.null(),
  handler: async (ctx, { jobId, attempt }) => {
    const job = await ctx.db.get("botJobs", jobId);
    if (job === null || job.running || job.attempt !== attempt || job.work.kind !== "research") return null;
    const { ticket } = job.work;
    const now = Date.now();
    const waits = ticket !== undefined && (await outcomeOf(ctx, ticket)).state === "running";
    if (!waits || now - job.createdAt > PATIENCE_MS) {
      await scheduleJob(ctx, job);
      return null;
    }
    await ctx.db.patch("botJobs", jobId, { dueAt: now + POLL_MS });
    await ctx.scheduler.runAfter(0, internal.bot.typing.show, { chatId: job.sender.chatId });
    await ctx.scheduler.runAfter(POLL_MS, internal.bot.jobs.look, { jobId, attempt });
    return null;
  },
});

/** Puts jobs whose try was lost back on the way. For the cron: everything due half a minute ago and not under way. */
export const resumeLost = lostWork(async (ctx, now) => {
  const lost = await ctx.db
    .query("botJobs")
    .withIndex("by_dueAt", (q) => q.lt("dueAt", now - 30 * SECOND))
    .take(BATCH);
  for (const job of lost) {
    if ((job.queuedUntil ?? 0) < now) await scheduleJob(ctx, job);
  }
});

async function end(ctx: MutationCtx, job: Doc<"botJobs">, reason: string): Promise<void> {
  await ctx.db.delete("botJobs", job._id);
  await sendAnswer(
    ctx,
    job.sender,
    await userOfAccount(ctx, job.sender.messengerId),
    notice(reason),
    placeOf(job),
  );
}

/** An answer takes the place of its notice. */
function placeOf({ notice: card }: Doc<"botJobs">): Pick<Card, "replaces"> {
  return card === undefined ? {} : { replaces: { card } };
}

/** Whose command it is, has to be known before a group sees the bot type. */
function isShown({ kind }: Work): boolean {
  return kind !== "addressed";
}
