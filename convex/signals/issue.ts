import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import { defineMutation, defineCron } from "../platform/changes";
import { completeWork, buildFailureHandler, enqueueWork, vFailure, vJob, findWork } from "../platform/work";
import { DAY, toDay } from "../lib/time";
import { broadcast } from "../messenger/subscriptions";
import { createPicture, buildSignalsCard } from "./cards";
import { scheduleAnchor, getPublishedHead } from "./chain";
import { recapWeek } from "./history";
import { isDayDecided, isDecided, issueSignal, noteMissing, getRecord } from "./model";
import { getDayAfter, getDayStart, isIssueTime, toSignalId, SIGNAL_TOKENS } from "./rules";
import { vAnswer, vToken, type Signal } from "./tables";

/** The issue of the day's signals: one job requests them until each token has a signal or the day is over. */

/** Retries after 1, 4, 9, 16 and 25 minutes: within the hour, while the day's signal is still useful. */
const ATTEMPTS = 6;
/** The most missed days that become events: a longer outage is no part of the record. */
const MOST_MISSED = 400;

/**
 * The daily job; it also starts a week's recap that was lost. A run before 08:00 is a late one of the day before, whose
 * signals would be useless by then: it issues nothing.
 */
export const openDay = defineCron("issue the day's signals", async (ctx) => {
  const now = Date.now();
  if (!isIssueTime(now)) return;
  const day = toDay(now);
  await noteMissedDays(ctx, day);
  await recapWeek(ctx);
  const subject = `signals of ${day}`;
  if ((await isDayDecided(ctx, day)) || (await findWork(ctx, subject)) !== null) return;
  const onFailure = buildFailureHandler(internal.signals.issue.storeIssueFailure, { day });
  const terms = {
    queue: "models",
    attempts: ATTEMPTS,
    until: getDayStart(day) + DAY,
    onFailure,
    subject,
  } as const;
  await enqueueWork(ctx, internal.signals.actions.issue, { day }, terms);
});

/** Records the days of an outage, so that no day is missing without an event. */
async function noteMissedDays(ctx: MutationCtx, today: string): Promise<void> {
  const last = await ctx.db.query("signalEvents").withIndex("by_day").order("desc").first();
  if (last === null) return;
  const first = Math.max(getDayStart(last.day), getDayStart(today) - MOST_MISSED * DAY);
  for (let day = toDay(first); day < today; day = getDayAfter(day))
    await recordNone(ctx, day, "The service did not run on this day");
}

/** Records that the undecided tokens get no signal on a day. */
async function recordNone(ctx: MutationCtx, day: string, detail: string): Promise<void> {
  for (const token of SIGNAL_TOKENS) await noteMissing(ctx, { day, token }, { reason: "failed", detail });
}

const vIssueTask = v.object({
  token: vToken,
  /** The token's decided signals so far. */
  record: v.object({ wins: v.number(), losses: v.number(), reliability: v.union(v.string(), v.null()) }),
});
export type IssueTask = Infer<typeof vIssueTask>;

/** The tokens without a decision for the day, each with its record for the prompt. */
export const listTasks = internalQuery({
  args: { day: v.string() },
  returns: v.array(vIssueTask),
  handler: async (ctx, { day }): Promise<IssueTask[]> => {
    const all: IssueTask[] = [];
    for (const token of SIGNAL_TOKENS) {
      if (await isDecided(ctx, day, token)) continue;
      const { wins, losses, reliability } = await getRecord(ctx, token);
      all.push({ token, record: { wins, losses, reliability: reliability.says } });
    }
    return all;
  },
});

/**
 * Stores the model's answers for a day's tokens: each with its event, all on one card.
 * @returns Whether every token is decided; then the job is complete.
 */
export const storeSignals = internalMutation({
  args: { job: vJob, day: v.string(), answers: v.array(vAnswer) },
  returns: v.boolean(),
  handler: async (ctx, { job, day, answers }) => {
    const signals: Signal[] = [];
    for (const one of answers) {
      if ("refused" in one) {
        await noteMissing(ctx, { day, token: one.token }, { reason: "refused", detail: one.refused });
        continue;
      }
      const signal = await issueSignal(ctx, day, one);
      if (signal !== null) signals.push(signal);
    }
    if (signals.length > 0) {
      await broadcast(ctx, "signals", {
        kind: "trading signals",
        paragraphs: buildSignalsCard("Trading signals", signals, await getPublishedHead(ctx)),
        picture: await createPicture("signals", signals.map(toSignalId).join(",")),
      });
      // An anchor at the issue proves that the signals are older than their outcomes.
      await scheduleAnchor(ctx);
    }
    const isDone = await isDayDecided(ctx, day);
    if (isDone) await completeWork(ctx, job);
    return isDone;
  },
});

/** Ends the day after the last attempt: the tokens without a signal get none. */
export const storeIssueFailure = defineMutation(
  { day: v.string(), ...vFailure },
  async (ctx, { day, error, code, isLast }) => {
    // The text of an unexpected error is for the operator only.
    if (isLast) await recordNone(ctx, day, code === undefined ? "An unexpected error" : error);
  },
);
