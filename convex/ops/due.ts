import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import { type MutationCtx, type QueryCtx } from "../_generated/server";
import { defineMutation, recordCronRun } from "../platform/changes";
import type { FunctionReference } from "convex/server";
import { getErrorMessage } from "../lib/errors";
import { log } from "../lib/log";
import { queryDue } from "../platform/records";
import { getLostSince } from "../platform/work";
import { MINUTE } from "../lib/time";
import { startSampling } from "../market/samples";
import { beginReading } from "../payments/deposits";
import { beginFollowing } from "../whales/alerts";
import { getUndeliveredSince } from "../messenger/delivery";
import { getComparisonDueAt } from "../alerts/model";
import { queryDueLooks } from "../wallets/past/looks";

/**
 * Once a minute, finds due work of every domain: a row holds its due time, and an index finds the first. Due work runs in a
 * transaction of its own, so that a failure stays within its domain; a domain without due work costs one read.
 */

/** @returns Epoch ms since when work is due; null without due work. */
type DuePoll = (ctx: QueryCtx, now: number) => Promise<number | null>;
type Due = { since: DuePoll; takeUp: FunctionReference<"mutation", "internal"> };

const DUE: Record<string, Due> = {
  "open orders": {
    since: async ({ db }, now) =>
      (await queryDue(db.query("orders"), "nextCheckAt", now).first())?.nextCheckAt ?? null,
    takeUp: internal.wallets.orders.steps.takeUpDue,
  },
  "looks at wallets": {
    since: async (ctx, now) => (await queryDueLooks(ctx, now).first())?.lookAt ?? null,
    takeUp: internal.wallets.past.looks.takeUpLooks,
  },
  alerts: { since: getComparisonDueAt, takeUp: internal.alerts.watch.checkAlerts },
  "posts to webhooks": { since: getPostsDueSince, takeUp: internal.messenger.webhooks.events.startPosting },
  cards: { since: getUndeliveredSince, takeUp: internal.messenger.delivery.resumeDelivery },
  work: { since: getLostSince, takeUp: internal.platform.work.resumeLost },
};

/** Work that has been due for longer is stuck. */
const OVERDUE_MS = 15 * MINUTE;
/** Work that starts every few minutes, in this transaction: separate calls would double their number. */
const BEGUN = [
  { every: 1, begin: beginReading },
  { every: 5, begin: beginFollowing },
  { every: 5, begin: startSampling },
];

const NAME = "take up what is due";

/** For the cron, every minute. It counts as having run only if nothing is overdue, so that health reports the rest. */
export const takeUp = defineMutation({}, async (ctx) => {
  const now = Date.now();
  const overdue: string[] = [];
  for (const [name, due] of Object.entries(DUE)) {
    const since = await due.since(ctx, now);
    if (since === null) continue;
    await ctx.scheduler.runAfter(0, due.takeUp, {});
    if (since < now - OVERDUE_MS) overdue.push(name);
  }
  // A new deployment starts all of it at once, so that its pages are not empty.
  const isFirst = (await getOneFrom(ctx.db, "cronRuns", "by_name", NAME)) === null;
  overdue.push(...(await beginTimely(ctx, now, isFirst)));
  if (overdue.length === 0) await recordCronRun(ctx, NAME);
  else log.error("due.overdue", { what: overdue.join(", ") });
});

/** @returns The errors of work that did not start. */
async function beginTimely(ctx: MutationCtx, now: number, isFirst: boolean): Promise<string[]> {
  const failures: string[] = [];
  for (const { every, begin } of BEGUN) {
    if (!isFirst && Math.floor(now / MINUTE) % every !== 0) continue;
    try {
      await begin(ctx);
    } catch (error) {
      failures.push(getErrorMessage(error));
    }
  }
  return failures;
}

async function getPostsDueSince({ db }: QueryCtx, now: number): Promise<number | null> {
  for (const state of ["due", "retrying"] as const) {
    const post = await db
      .query("webhookPosts")
      .withIndex("by_state_and_dueAt", (q) => q.eq("state", state).lte("dueAt", now))
      .first();
    if (post !== null) return post.dueAt;
  }
  return null;
}
