import type { Doc, Id } from "../../_generated/dataModel";
import type { QueryCtx } from "../../_generated/server";
import type { Slot } from "./tables";

/** The work of issuing signals, as it is stored. */

export async function findRun(
  ctx: QueryCtx,
  { arm, slot, token }: Pick<Slot, "arm" | "slot" | "token">,
): Promise<Doc<"signalRuns"> | null> {
  return ctx.db
    .query("signalRuns")
    .withIndex("by_slot", (q) => q.eq("arm", arm).eq("slot", slot).eq("token", token))
    .unique();
}

/** A run that is under way; `null` for one that has ended. */
export async function findOpenRun(ctx: QueryCtx, runId: Id<"signalRuns">): Promise<Doc<"signalRuns"> | null> {
  const run = await ctx.db.get("signalRuns", runId);
  return run?.state === "writing" ? run : null;
}
