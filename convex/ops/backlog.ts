import type { QueryCtx } from "../_generated/server";
import { SECOND } from "../lib/time";

/** What waits to be done, for the operator. */

/** Cards are counted up to here. */
const COUNTED = 100;
/** Unfinished work of a kind: the oldest is looked for among so many, those that are looked after first. */
const LOOKED_AT = 20;

/** Cards that are neither delivered nor given up: how many (100 means that or more), and the age of the oldest in seconds. */
export async function backlog(
  ctx: QueryCtx,
  now: number,
): Promise<{ waiting: number; oldestSeconds: number | null }> {
  const inState = (state: "queued" | "sending") =>
    ctx.db
      .query("messages")
      .withIndex("by_state_and_dueAt", (q) => q.eq("state", state))
      .take(COUNTED / 2);
  const waiting = [...(await inState("queued")), ...(await inState("sending"))];
  return { waiting: waiting.length, oldestSeconds: age(now, since(waiting, "_creationTime")) };
}

/**
 * The age in seconds of the oldest unfinished piece of work of each kind: since it was asked for, or, for what has a time
 * of its own (the first four), since it was due. `null`: nothing waits.
 */
export async function oldestWork(ctx: QueryCtx, now: number): Promise<Record<string, number | null>> {
  const { db } = ctx;
  const active = "active";
  const collection = await db
    .query("shifts")
    .withIndex("by_status_and_nextCollectionAt", (q) => q.eq("status", active).lte("nextCollectionAt", now))
    .first();
  const report = await db
    .query("shifts")
    .withIndex("by_status_and_nextReportAt", (q) => q.eq("status", active).lte("nextReportAt", now))
    .first();
  const deposit = await db
    .query("depositHints")
    .withIndex("by_nextCheckAt", (q) => q.lte("nextCheckAt", now))
    .first();
  const transaction = await db
    .query("transactions")
    .withIndex("by_nextCheckAt", (q) => q.lte("nextCheckAt", now))
    .first();
  const observations = await db
    .query("observations")
    .withIndex("by_state_and_leaseUntil", (q) => q.eq("state", "collecting"))
    .take(LOOKED_AT);
  const claims = (state: "settling" | "generating") =>
    db
      .query("paymentClaims")
      .withIndex("by_state_and_leaseUntil", (q) => q.eq("state", state))
      .take(LOOKED_AT);
  const watches = (state: "claimed" | "prompting" | "polling") =>
    db
      .query("whaleWatches")
      .withIndex("by_state_and_leaseUntil", (q) => q.eq("state", state))
      .take(LOOKED_AT);
  const signalRuns = await db
    .query("signalRuns")
    .withIndex("by_state_and_leaseUntil", (q) => q.eq("state", "writing"))
    .take(LOOKED_AT);
  const recaps = await db
    .query("weeklyRecaps")
    .withIndex("by_state_and_leaseUntil", (q) => q.eq("state", "writing"))
    .take(LOOKED_AT);
  const mentions = await db
    .query("mentions")
    .withIndex("by_status_and_resumeAt", (q) => q.eq("status", "pending"))
    .take(LOOKED_AT);
  const botJobs = await db.query("botJobs").withIndex("by_dueAt").take(LOOKED_AT);
  const run = await db
    .query("agentRuns")
    .withIndex("by_status", (q) => q.eq("status", "running"))
    .first();

  const paidReports = [...(await claims("settling")), ...(await claims("generating"))];
  const whales = [
    ...(await watches("claimed")),
    ...(await watches("prompting")),
    ...(await watches("polling")),
  ];
  return {
    shiftCollections: age(now, collection?.nextCollectionAt),
    shiftReports: age(now, report?.nextReportAt),
    depositChecks: age(now, deposit?.nextCheckAt),
    transactions: age(now, transaction?.nextCheckAt),
    observations: age(now, since(observations, "requestedAt")),
    paidReports: age(now, since(paidReports, "createdAt")),
    whaleWatches: age(now, since(whales, "startedAt")),
    signals: age(now, since(signalRuns, "_creationTime")),
    weeklyRecaps: age(now, since(recaps, "openedAt")),
    mentions: age(now, since(mentions, "receivedAt")),
    botAnswers: age(now, since(botJobs, "createdAt")),
    agentRuns: age(now, run?.startedAt),
  };
}

function since<Field extends string>(
  rows: readonly Record<Field, number>[],
  field: Field,
): number | undefined {
  return rows.length === 0 ? undefined : Math.min(...rows.map((row) => row[field]));
}

function age(now: number, begun: number | undefined): number | null {
  return begun === undefined ? null : Math.max(0, Math.round((now - begun) / SECOND));
}
