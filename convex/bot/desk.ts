import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { SAID } from "../alerts/language/reading";
import { failureOf, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { reasonOf } from "../lib/text/failures";
import { worker } from "../lib/work/desk";
import { FAILED } from "./jobs";
import type { Paragraph } from "../messenger/format";
import { vBotJob, type Step, type Work } from "./tables";
import { typeIn } from "./typingIndicator";
import { accountWorkers } from "./works/account";
import { alertWorkers } from "./works/alerts";
import { orderWorkers } from "./works/orders";
import { questionWorkers } from "./works/questions";
import { researchWorkers } from "./works/research";
import { answerOf, type Job, type Kind, type Workers } from "./works/work";

/** The work after a notice, with one file for each subject. */

const WORKERS: Workers<Kind> = {
  ...accountWorkers,
  ...alertWorkers,
  ...orderWorkers,
  ...questionWorkers,
  ...researchWorkers,
};

/** Takes one step towards an answer, and stores its outcome. */
export const answer = worker(vBotJob.fields, async (ctx, { job, ...request }) => {
  const { work, sender } = request;
  let step: Step;
  const typing = isShown(work) ? typeIn(sender.chatId) : null;
  try {
    step = await carryOut(ctx, work.kind, { ...request, workId: job.workId });
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null)
      log.error("bot.unexpected", { workId: job.workId, kind: work.kind, message: messageOf(error) });
    const isAsked =
      work.kind === "ask" && (failure?.code === "upstream" || failure?.code === "not_configured");
    step = answerOf(isAsked ? WITHOUT_MODEL : [[failure === null ? FAILED : reasonOf(failure)]]);
  } finally {
    await typing?.stop();
  }
  await ctx.runMutation(internal.bot.jobs.advance, { ...request, job, step });
});

/** What still works, for somebody who has asked a question. */
const WITHOUT_MODEL: Paragraph[] = [
  [SAID.unread],
  ["Questions have to wait. A price needs no model: send a coin's name."],
];

/** Before a group sees the bot type, it has to be known that the command is for this bot. */
function isShown({ kind }: Work): boolean {
  return kind !== "addressed";
}

function carryOut<Of extends Kind>(ctx: ActionCtx, kind: Of, job: Job<Of>): Promise<Step> {
  return WORKERS[kind](ctx, job);
}
