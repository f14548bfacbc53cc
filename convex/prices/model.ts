import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { MINUTE } from "../lib/time";
import type { HourlyClose, Price, PricedToken } from "./tables";

/** How long a sample is reused. */
const REUSED_FOR_MS = MINUTE;

/** A token's newest sample, however old. */
export async function newestSample(ctx: QueryCtx, token: string): Promise<Doc<"priceSamples"> | null> {
  return ctx.db
    .query("priceSamples")
    .withIndex("by_token_and_takenAt", (q) => q.eq("token", token))
    .order("desc")
    .first();
}

/** The newest sample if it can still be reused at `now` (epoch ms). */
export async function youngSample(
  ctx: QueryCtx,
  token: string,
  now: number,
): Promise<Doc<"priceSamples"> | null> {
  const newest = await newestSample(ctx, token);
  return newest !== null && now - newest.takenAt <= REUSED_FOR_MS ? newest : null;
}

/** A row without the database's own fields. */
export function priceOf({ token, priceUsd, source, observedAt, takenAt }: Doc<"priceSamples">): Price {
  return { token, priceUsd, source, observedAt, takenAt };
}

/**
 * The closes of the latest hours that had ended by `before` (epoch ms), newest last. Hours without a sample are
 * missing, so neighbours may be more than an hour apart.
 */
export async function recentHourlyCloses(
  ctx: QueryCtx,
  token: PricedToken,
  { before, count }: { before: number; count: number },
): Promise<HourlyClose[]> {
  const rows = await ctx.db
    .query("hourlyCloses")
    .withIndex("by_token_and_hourEndsAt", (q) => q.eq("token", token).lte("hourEndsAt", before))
    .order("desc")
    .take(count);
  return rows.reverse().map(({ hourEndsAt, priceUsd, source }) => ({ hourEndsAt, priceUsd, source }));
}
