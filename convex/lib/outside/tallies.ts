import { v } from "convex/values";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { addSpent } from "./spending";
import { vProvider, vSpending } from "../tables";
import { HOUR, MINUTE } from "../time";
import type { Count, Noted, Provider } from "./notes";

/** Notes about providers, as rows. */

export const vNoted = v.object({
  counts: v.array(v.object({ provider: vProvider, calls: v.number(), failures: v.number() })),
  spent: v.array(vSpending),
});

const BUCKET_MS = 5 * MINUTE;
/** How many rows share 5 minutes: actions that end together rarely write the same one. */
const PARTS = 32;
/** The most rows of an hour: 13 buckets, the oldest partly outside it. */
const HOUR_OF_ROWS = 13 * PARTS;

export async function keepNoted(ctx: MutationCtx, { counts, spent: costs }: Noted): Promise<void> {
  if (counts.length > 0) await count(ctx, counts);
  for (const cost of costs) await addSpent(ctx, cost);
}

async function count(ctx: MutationCtx, counts: readonly Count[]): Promise<void> {
  const bucket = Math.floor(Date.now() / BUCKET_MS) * BUCKET_MS;
  const part = Math.floor(Math.random() * PARTS);
  const row = await ctx.db
    .query("providerCalls")
    .withIndex("by_bucket", (q) => q.eq("bucket", bucket).eq("part", part))
    .unique();
  if (row === null) await ctx.db.insert("providerCalls", { bucket, part, counts: [...counts] });
  else await ctx.db.patch("providerCalls", row._id, { counts: summed([...row.counts, ...counts]) });
}

/** Calls and failures of each provider that was asked in the last hour (and up to 5 minutes more). */
export async function callsOfLastHour(ctx: QueryCtx, now: number): Promise<Count[]> {
  const rows = await ctx.db
    .query("providerCalls")
    .withIndex("by_bucket", (q) => q.gt("bucket", now - HOUR - BUCKET_MS))
    .take(HOUR_OF_ROWS);
  return summed(rows.flatMap(({ counts }) => counts));
}

function summed(counts: readonly Count[]): Count[] {
  const sums = new Map<Provider, Count>();
  for (const { provider, calls, failures } of counts) {
    const sum = sums.get(provider) ?? { provider, calls: 0, failures: 0 };
    sums.set(provider, { provider, calls: sum.calls + calls, failures: sum.failures + failures });
  }
  return [...sums.values()];
}
