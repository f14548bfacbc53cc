import { v } from "convex/values";
import { internal } from "../_generated/api";
import { failureOf, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { worker } from "../lib/work/desk";
import { FAILED } from "./jobs";
import type { Work } from "./tables";
import { typeIn } from "./typing";
import { carryOut, type Step } from "./work";

/** Takes one step of a job's work, and hands in what came of it. */
export const answer = worker({ jobId: v.id("botJobs") }, async (ctx, { jobId, job }) => {
  const asked = await ctx.runQuery(internal.bot.jobs.task, { jobId });
  if (asked === null) return "over";
  let step: Step;
  const typing = isShown(asked.work) ? typeIn(asked.sender.chatId) : null;
  try {
    step = await carryOut(ctx, { jobId, ...asked });
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null)
      log.error("bot.unexpected", { jobId, kind: asked.work.kind, message: messageOf(error) });
    step = { kind: "answer", paragraphs: [[failure === null ? FAILED : `${failure.message}.`]] };
  } finally {
    await typing?.stop();
  }
  await ctx.runMutation(internal.bot.jobs.advance, { jobId, job, step });
});

/** Whose command it is, has to be known before a group sees the bot type. */
function isShown({ kind }: Work): boolean {
  return kind !== "addressed";
}
