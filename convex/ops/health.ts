import { v, type Infer } from "convex/values";
import { internalQuery, type QueryCtx } from "../_generated/server";
import { NEARLY_USED, spentToday } from "../lib/budget/usage";
import { CRON_PERIODS } from "../lib/cronRuns";
import { laneCounts } from "../lib/work/lanes";
import { callsOfLastHour } from "../lib/outside/tallies";
import { rowsBy } from "../lib/records/rows";
import { DAY, iso, MINUTE, SECOND } from "../lib/time";
import { backlog, oldestWork, workCounts } from "./backlog";
import { vOwnChecks } from "./validators";
import { isFailing, isLate } from "./troubles";

/** A cron that has missed two turns, and the platform's random delay of clock crons, is late. */
const CRON_SLACK_MS = 10 * MINUTE;
/** How long the operator sees a swap that bought too little. */
const TOLD_FOR_MS = 7 * DAY;
const SHORT_SWAP =
  'within the week a swap has bought less than its call guaranteed: see "swap fell short" in auditEvents, and set TRADING_PAUSED until it is understood';

/** Links are counted up to here. */
const COUNTED_LINKS = 100;

type Checks = Infer<typeof vOwnChecks>;

/**
 * The state of the service's own work, and reasons why somebody should look (none if all is well), at `now` (epoch ms);
 * ages in seconds. Reads by index and within bounds: 25 crons, 100 cards, 20 rows of each kind of work, 100 waiting
 * jobs of each lane, 100 pieces of work of each state, 100 links, 800 counts of providers' calls, 72 sums of their costs.
 * Usually fewer than 100 documents in all.
 */
export const read = internalQuery({
  args: { now: v.number() },
  returns: v.object({ reasons: v.array(v.string()), checks: vOwnChecks }),
  handler: async (ctx, { now }) => {
    const spent = await spentToday(ctx, now);
    // Links over HTTP without the operator's secret: nobody has shown that the accounts agreed.
    const unconfirmed = await rowsBy(ctx.db.query("messengerLinks"), "confirmedAt", undefined).take(
      COUNTED_LINKS,
    );
    const checks: Checks = {
      crons: await cronAges(ctx, now),
      outbox: await backlog(ctx, now),
      pending: await oldestWork(ctx, now),
      lanes: await laneCounts(ctx),
      work: await workCounts(ctx),
      links: { unconfirmed: unconfirmed.length },
      providers: Object.fromEntries(
        (await callsOfLastHour(ctx, now)).map(({ provider, calls, failures }) => [
          provider,
          { calls, failures, errorRate: Math.round((failures / calls) * 1_000) / 1_000 },
        ]),
      ),
      budget: {
        resetsAt: iso(spent.resetsAt),
        limitUsd: spent.limitUsd,
        spentUsd: spent.spentUsd,
        providers: spent.providers,
      },
    };
    const short = ctx.db.query("orders").withIndex("by_shortAt", (q) => q.gte("shortAt", now - TOLD_FOR_MS));
    const reasons = [
      ...((await short.first()) === null ? [] : [SHORT_SWAP]),
      ...reasonsOf(checks),
      ...scarce(spent.used),
    ];
    return { reasons, checks };
  },
});

/** Seconds since each cron last did its work; `null` for one that has never run. */
async function cronAges(ctx: QueryCtx, now: number): Promise<Checks["crons"]> {
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

/** What is nearly used up, and whose it is. */
function scarce({ all, callers }: { all: number; callers: number }): string[] {
  const percent = (part: number) => `${Math.round(part * 100)} %`;
  return [
    ...(all >= NEARLY_USED ? [`${percent(all)} of today's budget is used up`] : []),
    ...(callers >= NEARLY_USED
      ? [`${percent(callers)} of what callers may spend of today's budget is used up`]
      : []),
  ];
}

/** A sentence each, for the operator. */
function reasonsOf({ crons, outbox, pending, providers }: Checks): string[] {
  const minutes = (seconds: number | null | undefined) => Math.round(((seconds ?? 0) * SECOND) / MINUTE);
  return [
    ...Object.entries(CRON_PERIODS)
      .filter(([name, period]) => (crons[name] ?? 0) * SECOND > 2 * period + CRON_SLACK_MS)
      .map(([name]) => `the cron "${name}" last ran ${minutes(crons[name])} minutes ago`),
    ...(isLate(outbox.oldestSeconds)
      ? [`a message has waited for ${minutes(outbox.oldestSeconds)} minutes to be delivered`]
      : []),
    ...Object.entries(pending)
      .filter(([, seconds]) => isLate(seconds))
      .map(([kind, seconds]) => `unfinished work (${kind}) has waited for ${minutes(seconds)} minutes`),
    ...Object.entries(providers)
      .filter(([, calls]) => isFailing(calls))
      .map(
        ([name, { calls, failures }]) => `${failures} of ${calls} calls of ${name} failed within the hour`,
      ),
  ];
}
