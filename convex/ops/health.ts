import { v, type Infer } from "convex/values";
import { internalQuery, type QueryCtx } from "../_generated/server";
import { CRON_PERIODS } from "../lib/cronRuns";
import { callsOfLastHour } from "../lib/providerCalls";
import { MINUTE, SECOND } from "../lib/time";
import { backlog, oldestWork } from "./backlog";

/** A cron that has missed two turns, and the platform's random delay of clock crons, is late. */
const CRON_SLACK_MS = 10 * MINUTE;
/** Work resumes within minutes: what has waited longer needs a person. */
const LATE_MS = 30 * MINUTE;
/** So many calls say something about a provider. */
const MANY_CALLS = 10;
const BAD_RATE = 0.5;

const vAge = v.union(v.number(), v.null());

const vChecks = v.object({
  crons: v.record(v.string(), vAge),
  outbox: v.object({ waiting: v.number(), oldestSeconds: vAge }),
  pending: v.record(v.string(), vAge),
  providers: v.record(
    v.string(),
    v.object({ calls: v.number(), failures: v.number(), errorRate: v.number() }),
  ),
});
type Checks = Infer<typeof vChecks>;

/**
 * How the service's own work goes at `now` (epoch ms); ages in seconds. Reads by index and within bounds: 20 crons, 100
 * cards, 20 rows of each kind of work, 500 counts of providers' calls. Usually fewer than 100 documents in all.
 */
export const read = internalQuery({
  args: { now: v.number() },
  returns: v.object({ ok: v.boolean(), checks: vChecks }),
  handler: async (ctx, { now }) => {
    const checks: Checks = {
      crons: await cronAges(ctx, now),
      outbox: await backlog(ctx, now),
      pending: await oldestWork(ctx, now),
      providers: Object.fromEntries(
        (await callsOfLastHour(ctx, now)).map(({ provider, calls, failures }) => [
          provider,
          { calls, failures, errorRate: Math.round((failures / calls) * 1_000) / 1_000 },
        ]),
      ),
    };
    return { ok: isWell(checks), checks };
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

function isWell({ crons, outbox, pending, providers }: Checks): boolean {
  const late = (seconds: number | null | undefined, ms: number) => (seconds ?? 0) * SECOND > ms;
  return !(
    Object.entries(CRON_PERIODS).some(([name, period]) => late(crons[name], 2 * period + CRON_SLACK_MS)) ||
    [outbox.oldestSeconds, ...Object.values(pending)].some((age) => late(age, LATE_MS)) ||
    Object.values(providers).some(({ calls, errorRate }) => calls >= MANY_CALLS && errorRate > BAD_RATE)
  );
}
