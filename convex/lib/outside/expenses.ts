import type { Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import type { vBilled, vPayingClass } from "../tables";

/** The rows of what the billing providers cost. */

/** A class of callers' money for a day. */
export type Share = { day: string; payer: Infer<typeof vPayingClass>; provider: Infer<typeof vBilled> };
/** One of the rows that count it together, so that simultaneous calls do not conflict. */
export type Cell = Share & { shard: number };
export const SHARDS = 8;

export function anyShard(): number {
  return Math.floor(Math.random() * SHARDS);
}

export async function addSpent(ctx: MutationCtx, cell: Cell, micros: number): Promise<void> {
  const row = await find(ctx, cell);
  if (row === null) await ctx.db.insert("spending", { ...cell, micros });
  else await ctx.db.patch("spending", row._id, { micros: row.micros + micros });
}

export async function spentOn(ctx: QueryCtx, cell: Cell): Promise<number> {
  return (await find(ctx, cell))?.micros ?? 0;
}

async function find(ctx: QueryCtx, { day, payer, provider, shard }: Cell): Promise<Doc<"spending"> | null> {
  return ctx.db
    .query("spending")
    .withIndex("by_day", (q) =>
      q.eq("day", day).eq("payer", payer).eq("provider", provider).eq("shard", shard),
    )
    .unique();
}
