import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { SAID } from "../alerts/language/reading";
import { failureOf, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { reasonOf } from "../lib/text/failures";
import { worker } from "../lib/work/desk";
import { FAILED } from "./jobs";
import type { Paragraph } from "../messenger/format";
import type { Step, Work } from "./tables";
import { typeIn } from "./typingIndicator";
import { accountWorkers } from "./works/account";
import { alertWorkers } from "./works/alerts";
import { orderWorkers } from "./works/orders";
import { questionWorkers } from "./works/questions";
import { researchWorkers } from "./works/research";
import { answerOf, type Job, type Kind, type Workers } from "./works/work";

/** The work behind a notice, each subject's from a file of its own. */

const WORKERS: Workers<Kind> = {
  ...accountWorkers,
  ...alertWorkers,
  ...orderWorkers,
  ...questionWorkers,
  ...researchWorkers,
};

/** Takes one step of a job's work, and hands in what came of it. */
export const answer = worker({ jobId: v.id("botJobs") }, async (ctx, { jobId, job }) => {
  const asked = await ctx.runQuery(internal.bot.jobs.task, { jobId });
  if (asked === null) return "over";
  let step: Step;
  const typing = isShown(asked.work) ? typeIn(asked.sender.chatId) : null;
  try {
    step = await carryOut(ctx, asked.work.kind, { jobId, ...asked });
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null)
      log.error("bot.unexpected", { jobId, kind: asked.work.kind, message: messageOf(error) });
    const isAsked =
      asked.work.kind === "ask" && (failure?.code === "upstream" || failure?.code === "not_configured");
    step = answerOf(isAsked ? WITHOUT_MODEL : [[failure === null ? FAILED : reasonOf(failure)]]);
  } finally {
    await typing?.stop();
  }
  await ctx.runMutation(internal.bot.jobs.advance, { jobId, job, step });
});

/** What still works for who has asked a question. */
const WITHOUT_MODEL: Paragraph[] = [
  [SAID.unread],
  ["Questions have to wait. A price needs no model: send a coin's name."],
];

/** Whose command it is, has to be known before a group sees the bot type. */
function isShown({ kind }: Work): boolean {
  return kind !== "addressed";
}

function carryOut<Of extends Kind>(ctx: ActionCtx, kind: Of, job: Job<Of>): Promise<Step> {
  return WORKERS[kind](ctx, job);
}
