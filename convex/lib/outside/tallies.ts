import { v } from "convex/values";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { vBilled, vPayingClass, vProvider } from "../tables";
import { HOUR, MINUTE } from "../time";
import type { Count, Noted, Provider } from "./notes";
import { addSpent, anyShard } from "./spending";

/** What was noted of providers, in rows. */

export const vNoted = v.object({
  counts: v.array(v.object({ provider: vProvider, calls: v.number(), failures: v.number() })),
  spent: v.array(v.object({ day: v.string(), payer: vPayingClass, provider: vBilled, micros: v.number() })),
});

const BUCKET_MS = 5 * MINUTE;
/** So many rows share a provider's 5 minutes: actions that end together rarely write the same one. */
const SHARDS = 8;
/** The most rows that an hour can have: 13 buckets (the oldest in part) of all providers. */
const HOUR_OF_ROWS = 13 * vProvider.members.length * SHARDS;

export async function keepNoted(ctx: MutationCtx, { counts, spent: costs }: Noted): Promise<void> {
  const bucket = Math.floor(Date.now() / BUCKET_MS) * BUCKET_MS;
  const shard = Math.floor(Math.random() * SHARDS);
  for (const { provider, calls, failures } of counts) {
    const row = await ctx.db
      .query("providerCalls")
      .withIndex("by_bucket", (q) => q.eq("bucket", bucket).eq("provider", provider).eq("shard", shard))
      .unique();
    if (row === null) await ctx.db.insert("providerCalls", { bucket, provider, shard, calls, failures });
    else {
      const sum = { calls: row.calls + calls, failures: row.failures + failures };
      await ctx.db.patch("providerCalls", row._id, sum);
    }
  }
  for (const { micros, ...of } of costs) await addSpent(ctx, { ...of, shard: anyShard() }, micros);
}

/** Calls and failures of each provider that was asked in the last hour (and up to 5 minutes more). */
export async function callsOfLastHour(ctx: QueryCtx, now: number): Promise<Count[]> {
  const rows = await ctx.db
    .query("providerCalls")
    .withIndex("by_bucket", (q) => q.gt("bucket", now - HOUR - BUCKET_MS))
    .take(HOUR_OF_ROWS);
  const sums = new Map<Provider, Count>();
  for (const { provider, calls, failures } of rows) {
    const sum = sums.get(provider) ?? { provider, calls: 0, failures: 0 };
    sums.set(provider, { provider, calls: sum.calls + calls, failures: sum.failures + failures });
  }
  return [...sums.values()];
}
