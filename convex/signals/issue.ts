import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { cron } from "../lib/cronRuns";
import { isSet } from "../lib/env";
import { end, failureHandler, open, vFailure, vJob, workOn } from "../lib/work/jobs";
import { DAY, dayOf } from "../lib/time";
import { enqueueServiceCard } from "../messenger/notices";
import { recentHourlyCloses } from "../market/samples";
import { vClose } from "../market/tables";
import { publishedHead } from "./anchors";
import { issuedCard, picturesOf } from "./cards";
import { isDecided, issueSignal, noteMissing, recordFor, signalsOfDay } from "./model";
import { dayAfter, dayStart, HOURS, isIssueTime, TOKENS } from "./rules";
import { vIssue, vSignal, vToken, type Signal } from "./tables";

/** Issuing the day's signals: one job asks for both, and goes on until each token has one or the day is over. */

/** After 1, 4, 9, 16 and 25 minutes: within the hour, while the day's signal is still of use. */
const ATTEMPTS = 6;
/** The most days that are noted; after a longer standstill the service begins anew. */
const MOST_MISSED = 400;

/**
 * The daily job. A run before 08:00 is late for the day before, whose signal would be useless by then, so it issues
 * nothing.
 */
export const openDay = cron("issue the day's signals", async (ctx) => {
  const now = Date.now();
  if (!isIssueTime(now)) return;
  const day = dayOf(now);
  await noteMissedDays(ctx, day);
  const subject = `signals of ${day}`;
  const decided = await Promise.all(TOKENS.map((token) => isDecided(ctx, day, token)));
  if (decided.every(Boolean) || (await workOn(ctx, subject)) !== null) return;
  await open(
    ctx,
    internal.signals.actions.issue,
    { day },
    {
      queue: "models",
      attempts: ATTEMPTS,
      until: dayStart(day) + DAY,
      onFailure: failureHandler(internal.signals.issue.failed, { day }),
      subject,
    },
  );
});

/** Notes days on which the service stood still, so that no day is left out silently. */
async function noteMissedDays(ctx: MutationCtx, today: string): Promise<void> {
  const last = await ctx.db.query("signalEvents").withIndex("by_day").order("desc").first();
  if (last === null) return;
  const first = Math.max(dayStart(last.day), dayStart(today) - MOST_MISSED * DAY);
  for (let day = dayOf(first); day < today; day = dayAfter(day)) {
    const missing = { reason: "failed", detail: "The service did not run on this day" } as const;
    for (const token of TOKENS) await noteMissing(ctx, { day, token }, missing);
  }
}

const vTask = v.object({
  token: vToken,
  closes: v.array(vClose),
  /** The token's decided signals so far. */
  record: v.object({ wins: v.number(), losses: v.number(), reliability: v.union(v.string(), v.null()) }),
  yesterday: v.array(vSignal),
});
export type Task = Infer<typeof vTask>;

/** The tokens that are still to get a signal of the day, with what the model is told of each. */
export const tasks = internalQuery({
  args: { day: v.string(), now: v.number() },
  returns: v.array(vTask),
  handler: async (ctx, { day, now }): Promise<Task[]> => {
    const yesterday = await signalsOfDay(ctx, dayAfter(day, -1));
    const all = await Promise.all(
      TOKENS.map(async (token): Promise<Task[]> => {
        if (await isDecided(ctx, day, token)) return [];
        const closes = await recentHourlyCloses(ctx, token, { before: now, count: HOURS });
        const { wins, losses, reliability } = await recordFor(ctx, token);
        return [{ token, closes, record: { wins, losses, reliability: reliability.says }, yesterday }];
      }),
    );
    return all.flat();
  },
});

/**
 * Stores what the model proposed for a day's tokens: each with its event, all on one card.
 * @returns Whether every token is decided; then the job is over.
 */
export const store = internalMutation({
  args: {
    job: vJob,
    day: v.string(),
    issued: v.array(vIssue),
    refused: v.array(v.object({ token: vToken, detail: v.string() })),
  },
  returns: v.boolean(),
  handler: async (ctx, { job, day, issued, refused }) => {
    const signals: Signal[] = [];
    for (const one of issued) {
      const signal = await issueSignal(ctx, day, one);
      if (signal !== null) signals.push(signal);
    }
    for (const { token, detail } of refused) {
      await noteMissing(ctx, { day, token }, { reason: "refused", detail });
    }
    if (signals.length > 0) await announce(ctx, signals);
    const decided = await Promise.all(TOKENS.map((token) => isDecided(ctx, day, token)));
    const isOver = decided.every(Boolean);
    if (isOver) await end(ctx, job);
    return isOver;
  },
});

/** After the last attempt: the tokens without a signal get none. */
export const failed = change({ day: v.string(), ...vFailure }, async (ctx, { day, error, code, isLast }) => {
  if (!isLast) return;
  // What an unexpected error says is for the operator alone.
  const detail = code === undefined ? "An unexpected error" : error;
  for (const token of TOKENS) await noteMissing(ctx, { day, token }, { reason: "failed", detail });
});

async function announce(ctx: MutationCtx, signals: readonly Signal[]): Promise<void> {
  await enqueueServiceCard(ctx, {
    kind: "trading signals",
    paragraphs: issuedCard(signals, await publishedHead(ctx)),
    picture: await picturesOf(signals),
  });
  // This is before anybody can know their outcomes.
  if (isSet("ANCHOR_PRIVATE_KEY")) await ctx.scheduler.runAfter(0, internal.signals.actions.anchor, {});
}
