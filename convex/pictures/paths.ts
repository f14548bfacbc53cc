import { v, type Infer } from "convex/values";
import { internalQuery, type QueryCtx } from "../_generated/server";
import { keyOf, slotOf } from "../market/facts";
import { factIn } from "../market/facts";
import type { Kind } from "../lib/facts";
import type { Wanted } from "../market/tables";

/** How a price has moved in the collected facts: one point per half hour that has one. */

/** Twelve hours. It is a limit because a row of every coin's figures is large. */
const MOST_SLOTS = 25;

const vPoint = v.object({
  /** Epoch ms: when the source saw it. */
  at: v.number(),
  /** USD. */
  priceUsd: v.number(),
  /** Its name, as readers know it. */
  source: v.string(),
});

/**
 * The prices of a token between two moments (epoch ms, at most twelve hours apart), oldest first: the last trades on an
 * exchange, or CoinGecko's prices where there are fewer than `enough` of those. The two are not mixed: in a quiet hour
 * they differ by more than a price moves.
 */
export const prices = internalQuery({
  args: { token: v.string(), from: v.number(), to: v.number(), enough: v.number() },
  returns: v.array(vPoint),
  handler: async (ctx, { token, from, to, enough }) => {
    const traded = await pointsOf(ctx, { collector: "day", subject: token }, "lastTrade", {
      token,
      from,
      to,
    });
    if (traded.length >= enough) return traded;
    return pointsOf(ctx, { collector: "markets", subject: "" }, "price", { token, from, to });
  },
});

async function pointsOf(
  ctx: QueryCtx,
  wanted: Wanted,
  kind: Kind,
  { token, from, to }: { token: string; from: number; to: number },
): Promise<Infer<typeof vPoint>[]> {
  const rows = await ctx.db
    .query("facts")
    .withIndex("by_key", (q) => q.eq("key", keyOf(wanted)).gte("slot", slotOf(from)).lte("slot", slotOf(to)))
    .take(MOST_SLOTS);
  return rows.flatMap((row) => {
    const { collectedAt } = row;
    const fact = factIn(row, token, kind);
    if (fact === null || typeof fact.value !== "number") return [];
    const { value: priceUsd, observedAt: at, source } = fact;
    return collectedAt >= from && collectedAt <= to ? [{ at, priceUsd, source }] : [];
  });
}
