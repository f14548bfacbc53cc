import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import type { Doc } from "../_generated/dataModel";
import { internalQuery, type MutationCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { MINUTE, SECOND } from "../lib/time";
import { end, rest, vFailure, vJob } from "../lib/work/jobs";
import { userOfAccount, type Card } from "../messenger/model";
import { notice } from "./cards";
import { sendAnswer } from "./model";
import { respond } from "./responses";
import { botTables, vStep } from "./tables";

/** Answers under way, from their notice to their end. */

/** Between two looks at what is under way elsewhere. */
const POLL_MS = 3 * SECOND;
/** Longer than any research takes; what is not done by then is given up. */
const PATIENCE_MS = 8 * MINUTE;

export const FAILED = "Something went wrong on my side. Please try again later.";
const LATE = "This takes too long just now. Please try again later.";

const vAsked = botTables.botJobs.validator.pick("sender", "userId", "work");

/** What a job is about; `null` when it has been answered. */
export const task = internalQuery({
  args: { jobId: v.id("botJobs") },
  returns: v.union(vAsked, v.null()),
  handler: async (ctx, { jobId }) => {
    const row = await ctx.db.get("botJobs", jobId);
    return row === null ? null : parse(vAsked, row);
  },
});

/** Moves a job on by what came of a step: its answer is queued, or it waits for what is under way elsewhere. */
export const advance = change(
  { jobId: v.id("botJobs"), job: vJob, step: vStep },
  async (ctx, { jobId, job, step }) => {
    const row = await ctx.db.get("botJobs", jobId);
    if (row === null) {
      await end(ctx, job);
      return;
    }
    const { work, sender } = row;
    const isLate = Date.now() - row._creationTime > PATIENCE_MS;
    if (step.kind === "wait" && work.kind === "research" && !isLate) {
      const waits = await rest(ctx, job, POLL_MS);
      if (waits) await ctx.db.patch("botJobs", jobId, { work: { ...work, ticket: step.ticket } });
      return;
    }
    if (!(await end(ctx, job))) return;
    if (step.kind === "wait") return giveUp(ctx, row, LATE);
    await ctx.db.delete("botJobs", jobId);
    if (step.kind === "respond") await respond(ctx, sender, step.text, { isLate: work.kind === "prices" });
    if (step.kind !== "answer") return;
    // An account that was unlinked since hears nothing of the user any more.
    const userId = await userOfAccount(ctx, sender.messengerId);
    if (row.userId !== undefined && row.userId !== userId) return;
    const { paragraphs, buttons, picture } = step;
    await sendAnswer(ctx, sender, userId, paragraphs, { buttons, picture, replaces: placeOf(row) });
  },
);

/** A step was cut off. */
export const failed = change({ jobId: v.id("botJobs"), ...vFailure }, async (ctx, { jobId, isLast }) => {
  const row = await ctx.db.get("botJobs", jobId);
  if (row !== null && isLast) await giveUp(ctx, row, FAILED);
});

async function giveUp(ctx: MutationCtx, row: Doc<"botJobs">, reason: string): Promise<void> {
  await ctx.db.delete("botJobs", row._id);
  const userId = await userOfAccount(ctx, row.sender.messengerId);
  await sendAnswer(ctx, row.sender, userId, notice(reason), { replaces: placeOf(row) });
}

/** What an answer takes the place of. */
function placeOf({ notice: card, replaces }: Doc<"botJobs">): Card["replaces"] {
  return card === undefined ? replaces : { card };
}
