import type { MutationCtx } from "../../_generated/server";
import type { Infer } from "convex/values";
import { rowsByBoth } from "../records/rows";
import type { vSpending } from "../tables";

/** The rows of what the billing providers cost. */

/** What calls have cost, in millionths of a USD, and the callers whose part it is. */
export type Spending = Infer<typeof vSpending>;

/** How many rows count a class's calls of a provider together, so that simultaneous calls seldom conflict. */
const SHARDS = 4;
/** Providers, payers and shards of a day. */
export const ROWS_OF_DAY = 3 * 6 * SHARDS;

export async function addSpent(ctx: MutationCtx, { holders, micros, ...of }: Spending): Promise<void> {
  const shard = Math.floor(Math.random() * SHARDS);
  const row = await ctx.db
    .query("spending")
    .withIndex("by_day", (q) =>
      q.eq("day", of.day).eq("payer", of.payer).eq("provider", of.provider).eq("shard", shard),
    )
    .unique();
  if (row === null) await ctx.db.insert("spending", { ...of, shard, micros });
  else await ctx.db.patch("spending", row._id, { micros: row.micros + micros });
  for (const holder of holders) {
    const own = await rowsByBoth(ctx.db.query("callerSpending"), "day", of.day, "holder", holder).unique();
    if (own === null) await ctx.db.insert("callerSpending", { day: of.day, holder, micros });
    else await ctx.db.patch("callerSpending", own._id, { micros: own.micros + micros });
  }
}
