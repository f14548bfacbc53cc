import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import { messageOf } from "../lib/errors";
import { vCaller } from "../lib/limits";
import { providerAction } from "../lib/providerCalls";
import { beginRefresh, finishRefresh, vTicket, type Ticket } from "../lib/refreshes";
import { MINUTE } from "../lib/time";
import { shareObservation } from "./observations";
import { writeSnapshot } from "./snapshot";
import { vResult, vSourceStates } from "./tables";

/** The sources' longest wait, the writing with its repair turn, and a margin. */
const LEASE_MS = 5 * MINUTE;

const refreshKey = (focus: string) => `research:${focus}`;

/** The stored result of a focus, however old. */
export const current = internalQuery({
  args: { focus: v.string() },
  returns: v.union(v.object({ fetchedAt: v.number(), result: vResult, sources: vSourceStates }), v.null()),
  handler: async (ctx, { focus }) => {
    const row = await find(ctx, focus);
    return row === null ? null : { fetchedAt: row.generatedAt, result: row.result, sources: row.sources };
  },
});

/** Starts the research of a focus, or joins the one under way. */
export const begin = internalMutation({
  args: { focus: v.string(), caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { focus, caller }): Promise<Ticket> =>
    beginRefresh(ctx, { key: refreshKey(focus), leaseMs: LEASE_MS, caller }, async (attempt) => {
      const observationId = await shareObservation(ctx, focus, { urgent: true, wanted: "soon" });
      const work = { focus, attempt, observationId };
      await ctx.scheduler.runAfter(0, internal.research.onDemand.write, work);
    }),
});

/** Writes the result and stores it, or why there is none. */
export const write = providerAction({
  args: { focus: v.string(), attempt: v.number(), observationId: v.id("observations") },
  returns: v.null(),
  handler: async (ctx, { focus, attempt, observationId }) => {
    try {
      const occasion = "On-demand research snapshot";
      const { result, model, sources } = await writeSnapshot(ctx, {
        focus,
        observationId,
        occasion,
        wanted: "soon",
      });
      const stored = { focus, attempt, model, result, sources };
      await ctx.runMutation(internal.research.onDemand.store, stored);
    } catch (error) {
      await ctx.runMutation(internal.lib.refreshes.fail, {
        key: refreshKey(focus),
        attempt,
        failure: messageOf(error),
      });
    }
    return null;
  },
});

export const store = internalMutation({
  args: {
    focus: v.string(),
    attempt: v.number(),
    model: v.string(),
    result: vResult,
    sources: vSourceStates,
  },
  returns: v.null(),
  handler: async (ctx, { focus, attempt, model, result, sources }) => {
    if (!(await finishRefresh(ctx, refreshKey(focus), attempt, null))) return null;
    const stored = { focus, generatedAt: Date.now(), model, result, sources };
    const row = await find(ctx, focus);
    if (row === null) await ctx.db.insert("researchResults", stored);
    else await ctx.db.replace("researchResults", row._id, stored);
    return null;
  },
});

async function find(ctx: QueryCtx, focus: string) {
  return ctx.db
    .query("researchResults")
    .withIndex("by_focus", (q) => q.eq("focus", focus))
    .unique();
}
