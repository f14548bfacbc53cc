import { v, type Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internalQuery, type QueryCtx } from "../_generated/server";
import { NEARLY_USED, getSpentToday } from "../platform/limits/budget";
import { CRON_PERIODS } from "../platform/changes";
import { FAILS_FROM, findHeadProblem } from "../platform/outside/calls";
import { NOBODY, queryBy, queryByBoth, queryDue } from "../platform/records";
import { HOUR, toIso, MINUTE, SECOND } from "../lib/time";
import { getComparisonDueAt } from "../alerts/model";
import { isOverdue, vOwnChecks } from "./checks";

/** The slack of a cron beyond two periods: the platform delays clock crons at random. */
const CRON_SLACK_MS = 10 * MINUTE;
/** A provider's last failure says little after this long. */
const FAILS_FOR_MS = HOUR;
/** The most cards and pieces of work that are counted. */
const COUNTED = 100;
const PROVIDERS = 50;

type Checks = Infer<typeof vOwnChecks>;

/**
 * The state of the service's own work at `now` (epoch ms), and the reasons for the operator to look (none if all is well);
 * ages in seconds. Reads by index and within bounds, usually fewer than 100 documents in all.
 */
export const readHealth = internalQuery({
  args: { now: v.number() },
  returns: v.object({ reasons: v.array(v.string()), checks: vOwnChecks }),
  handler: async (ctx, { now }) => {
    const { used, resetsAt, ...spent } = await getSpentToday(ctx, now);
    const checks: Checks = {
      crons: await readCronAges(ctx, now),
      outbox: await readOutbox(ctx, now),
      pending: await readOverdueWork(ctx, now),
      work: await countWork(ctx),
      providers: await readProviderStates(ctx, now),
      budget: { resetsAt: toIso(resetsAt), ...spent },
    };
    const troubles = [...(await listChainReasons(ctx, now)), ...(await tankReasons(ctx))];
    const reasons = [...listReasons(checks), ...troubles, ...listScarceParts(used)];
    return { reasons, checks };
  },
});

/** Seconds since each cron last did its work; `null` for one that has never run. */
async function readCronAges(ctx: QueryCtx, now: number): Promise<Checks["crons"]> {
  const names = Object.keys(CRON_PERIODS);
  const rows = await ctx.db.query("cronRuns").withIndex("by_name").take(100);
  const ranAt = new Map(rows.map((row) => [row.name, row.ranAt]));
  return Object.fromEntries(
    names.map((name) => {
      const last = ranAt.get(name);
      return [name, last === undefined ? null : Math.max(0, Math.round((now - last) / SECOND))];
    }),
  );
}

/** Messages that are neither delivered nor given up. */
async function readOutbox(ctx: QueryCtx, now: number): Promise<Checks["outbox"]> {
  const inState = (state: "queued" | "sending") =>
    ctx.db
      .query("messages")
      .withIndex("by_state_and_dueAt", (q) => q.eq("state", state))
      .take(COUNTED / 2);
  const waiting = [...(await inState("queued")), ...(await inState("sending"))];
  const begun = waiting.map(({ _creationTime }) => _creationTime);
  return { waiting: waiting.length, oldestSeconds: computeAge(now, begun) };
}

/** How long the oldest of each kind of unfinished work has been overdue; `null` without overdue work. */
async function readOverdueWork(ctx: QueryCtx, now: number): Promise<Checks["pending"]> {
  const { db } = ctx;
  const [work, order, report, shift, comparison] = await Promise.all([
    db
      .query("work")
      .withIndex("by_state_and_at", (q) => q.eq("state", "waiting"))
      .first(),
    queryDue(db.query("orders"), "nextCheckAt", now).first(),
    queryBy(db.query("paymentClaims"), "state", "settling").first(),
    db
      .query("shifts")
      .withIndex("by_status_and_nextCollectionAt", (q) => q.eq("status", "active"))
      .first(),
    getComparisonDueAt(ctx),
  ]);
  const late = (since: number | undefined) =>
    since === undefined || since > now ? null : computeAge(now, [since]);
  return {
    work: late(work?.at),
    alerts: late(comparison ?? undefined),
    orders: late(order?.nextCheckAt),
    paidReports: late(report?.createdAt),
    shifts: late(shift?.nextCollectionAt),
  };
}

/** The numbers of running and waiting pieces of work, and of those with failed attempts. */
async function countWork(ctx: QueryCtx): Promise<Checks["work"]> {
  const inState = (state: "running" | "waiting") =>
    ctx.db
      .query("work")
      .withIndex("by_state_and_at", (q) => q.eq("state", state))
      .take(COUNTED);
  const [running, waiting] = await Promise.all([inState("running"), inState("waiting")]);
  const failing = [...running, ...waiting].filter(({ failures }) => failures > 0);
  return { running: running.length, waiting: waiting.length, failing: Math.min(failing.length, COUNTED) };
}

async function readProviderStates(ctx: QueryCtx, now: number): Promise<Checks["providers"]> {
  const rows = await ctx.db.query("providerStates").withIndex("by_provider").take(PROVIDERS);
  return Object.fromEntries(
    rows.map(({ provider, failures, since, failedFrom, failedAt = 0, refuses }) => {
      const isWorking = failures < FAILS_FROM || failedAt < now - FAILS_FOR_MS;
      const why = isWorking || refuses === undefined ? {} : { refuses };
      const hasRecovered = failures < FAILS_FROM && failedFrom !== undefined;
      const last = hasRecovered ? { failedFrom: toIso(failedFrom) } : {};
      return [provider, { works: isWorking, since: toIso(since), ...why, ...last }];
    }),
  );
}

/** A relayer that had too little ether to give when it was last asked for some. */
async function tankReasons(ctx: QueryCtx): Promise<string[]> {
  const newest = queryByBoth(ctx.db.query("wallets"), "userId", NOBODY, "kind", "relayer").order("desc");
  const relayer = await newest.first();
  return relayer?.lowSince === undefined ? [] : ["the relayer has hardly any ETH: send it some"];
}

/** The trouble of the chain's newest block, as the last reader of it found. */
async function listChainReasons(ctx: QueryCtx, now: number): Promise<string[]> {
  const row = await getOneFrom(ctx.db, "providerStates", "by_provider", "chain");
  if (row?.staleHead === undefined || (row.failedAt ?? 0) < now - FAILS_FOR_MS) return [];
  const trouble = findHeadProblem(row.staleHead, now);
  return trouble === null ? [] : [`the chain stands still: ${trouble}`];
}

function computeAge(now: number, begun: readonly number[]): number | null {
  return begun.length === 0 ? null : Math.max(0, Math.round((now - Math.min(...begun)) / SECOND));
}

/** The parts of the budget that are nearly used up. */
function listScarceParts({ all, callers }: { all: number; callers: number }): string[] {
  const percent = (part: number) => `${Math.round(part * 100)} %`;
  return [
    ...(all >= NEARLY_USED ? [`${percent(all)} of today's budget is used up`] : []),
    ...(callers >= NEARLY_USED
      ? [`${percent(callers)} of the callers' part of today's budget is used up`]
      : []),
  ];
}

/** A sentence each, for the operator. */
function listReasons({ crons, outbox: waiting, pending, providers }: Checks): string[] {
  const minutes = (seconds: number | null | undefined) => Math.round(((seconds ?? 0) * SECOND) / MINUTE);
  return [
    ...Object.entries(CRON_PERIODS)
      .filter(([name, period]) => (crons[name] ?? 0) * SECOND > 2 * period + CRON_SLACK_MS)
      .map(([name]) => `the cron "${name}" last ran ${minutes(crons[name])} minutes ago`),
    ...(isOverdue(waiting.oldestSeconds)
      ? [`a message has waited for ${minutes(waiting.oldestSeconds)} minutes to be delivered`]
      : []),
    ...Object.entries(pending)
      .filter(([, seconds]) => isOverdue(seconds))
      .map(([kind, seconds]) => `unfinished work (${kind}) has waited for ${minutes(seconds)} minutes`),
    ...Object.entries(providers)
      .filter(([, { works }]) => !works)
      .map(([name, { since, refuses }]) => `calls of ${name} fail since ${since}: ${WHY[refuses ?? "none"]}`),
  ];
}

/** Why a provider fails, for the operator. */
const WHY = {
  key: "it refuses this service's key",
  account: "this service's account has no credits left",
  address: "it blocks this service's address",
  none: "it does not answer as it should",
} as const;
