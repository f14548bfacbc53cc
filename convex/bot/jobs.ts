import type { MutationCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { MINUTE, SECOND } from "../lib/time";
import { end, rest, underWay, vFailure, vJob } from "../lib/work/jobs";
import { userOfAccount, type Card } from "../messenger/model";
import { notice } from "./cards";
import { sendAnswer } from "./model";
import { respond } from "./responses";
import { vBotJob, vStep, type BotJob } from "./tables";

/** Answers under way, from their notice to their end. */

/** The time between two checks of work that is under way elsewhere. */
const POLL_MS = 3 * SECOND;
/** Longer than any research takes; work that is not done by then is given up. */
const PATIENCE_MS = 8 * MINUTE;

export const FAILED = "Something went wrong on my side. Please try again later.";
const LATE = "This takes too long just now. Please try again later.";

/** Continues an answer after a step: it is queued, or it waits for work that is under way elsewhere. */
export const advance = change({ ...vBotJob.fields, job: vJob, step: vStep }, async (ctx, given) => {
  const { job, step, ...request } = given;
  const row = await underWay(ctx, job);
  if (row === null) return;
  if (step.kind === "wait" && Date.now() - row._creationTime < PATIENCE_MS) {
    await rest(ctx, job, POLL_MS);
    return;
  }
  await end(ctx, job);
  const { work, sender } = request;
  if (step.kind === "wait") return giveUp(ctx, request, LATE);
  if (step.kind === "respond") await respond(ctx, sender, step.text, { isLate: work.kind === "prices" });
  if (step.kind !== "answer") return;
  // An account that has been unlinked since then gets nothing about the user any more.
  const userId = await userOfAccount(ctx, sender.messengerId);
  if (request.userId !== undefined && request.userId !== userId) return;
  const { paragraphs, buttons, picture } = step;
  await sendAnswer(ctx, sender, userId, paragraphs, { buttons, picture, replaces: placeOf(request) });
});

/** A step was cut off. */
export const failed = change({ ...vBotJob.fields, ...vFailure }, async (ctx, { isLast, ...request }) => {
  if (isLast) await giveUp(ctx, request, FAILED);
});

type Placed = Pick<BotJob, "sender" | "notice" | "replaces">;

async function giveUp(ctx: MutationCtx, request: Placed, reason: string): Promise<void> {
  const userId = await userOfAccount(ctx, request.sender.messengerId);
  await sendAnswer(ctx, request.sender, userId, notice(reason), { replaces: placeOf(request) });
}

/** What an answer replaces. */
function placeOf({ notice: card, replaces }: Placed): Card["replaces"] {
  return card === undefined ? replaces : { card };
}
