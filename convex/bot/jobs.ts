import type { MutationCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { MINUTE, SECOND } from "../lib/time";
import { end, rest, underWay, vFailure, vJob } from "../lib/work/jobs";
import { userOfAccount, type Card } from "../messenger/model";
import { notice } from "./cards";
import { sendAnswer } from "./model";
import { respond } from "./responses";
import { vAsked, vStep, type Asked } from "./tables";

/** Answers under way, from their notice to their end. */

/** Between two looks at what is under way elsewhere. */
const POLL_MS = 3 * SECOND;
/** Longer than any research takes; what is not done by then is given up. */
const PATIENCE_MS = 8 * MINUTE;

export const FAILED = "Something went wrong on my side. Please try again later.";
const LATE = "This takes too long just now. Please try again later.";

/** Moves an answer on by the outcome of a step: it is queued, or it waits for what is under way elsewhere. */
export const advance = change({ ...vAsked.fields, job: vJob, step: vStep }, async (ctx, given) => {
  const { job, step, ...asked } = given;
  const row = await underWay(ctx, job);
  if (row === null) return;
  if (step.kind === "wait" && Date.now() - row._creationTime < PATIENCE_MS) {
    await rest(ctx, job, POLL_MS);
    return;
  }
  await end(ctx, job);
  const { work, sender } = asked;
  if (step.kind === "wait") return giveUp(ctx, asked, LATE);
  if (step.kind === "respond") await respond(ctx, sender, step.text, { isLate: work.kind === "prices" });
  if (step.kind !== "answer") return;
  // An account that was unlinked since hears nothing of the user any more.
  const userId = await userOfAccount(ctx, sender.messengerId);
  if (asked.userId !== undefined && asked.userId !== userId) return;
  const { paragraphs, buttons, picture } = step;
  await sendAnswer(ctx, sender, userId, paragraphs, { buttons, picture, replaces: placeOf(asked) });
});

/** A step was cut off. */
export const failed = change({ ...vAsked.fields, ...vFailure }, async (ctx, { isLast, ...asked }) => {
  if (isLast) await giveUp(ctx, asked, FAILED);
});

type Placed = Pick<Asked, "sender" | "notice" | "replaces">;

async function giveUp(ctx: MutationCtx, asked: Placed, reason: string): Promise<void> {
  const userId = await userOfAccount(ctx, asked.sender.messengerId);
  await sendAnswer(ctx, asked.sender, userId, notice(reason), { replaces: placeOf(asked) });
}

/** What an answer takes the place of. */
function placeOf({ notice: card, replaces }: Placed): Card["replaces"] {
  return card === undefined ? replaces : { card };
}
