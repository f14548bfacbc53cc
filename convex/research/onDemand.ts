import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type ActionCtx } from "../_generated/server";
import type { Payer } from "../lib/budget";
import { vCaller } from "../lib/limits";
import { providerAction } from "../lib/providerCalls";
import { failRefresh, finishRefresh, takeRefresh, vTicket, type Ticket } from "../lib/refreshes";
import { beginInLane, vTurn } from "../lib/renewals";
import { MINUTE } from "../lib/time";
import { claimObservation, collectNow, vShared } from "./observations";
import { writeSnapshot } from "./snapshot";
import { vResult, vSourceStates } from "./shapes";

/** The sources' longest wait, the writing with its repair turn, and a margin. */
const LEASE_MS = 5 * MINUTE;

const refreshKey = (focus: string) => `research:${focus}`;

/** The stored result of a focus, however old. */
export const current = internalQuery({
  args: { focus: v.string() },
  returns: v.union(v.object({ fetchedAt: v.number(), result: vResult, sources: vSourceStates }), v.null()),
  handler: async (ctx, { focus }) => {
    const row = await getOneFrom(ctx.db, "researchResults", "by_focus", focus);
    return row === null ? null : { fetchedAt: row.generatedAt, result: row.result, sources: row.sources };
  },
});

/**
 * Starts the research of a focus, or joins the one under way.
 * @throws AppError `rate_limited`, also when too much is being asked for or the day's budget is used up.
 */
export const begin = internalMutation({
  args: { focus: v.string(), caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { focus, caller }): Promise<Ticket> =>
    beginInLane(ctx, { key: refreshKey(focus), caller }, internal.research.onDemand.write, { focus }),
});

/** Begins the work once it has its place; `null` when nobody wants it any more. */
export const take = internalMutation({
  args: { focus: v.string(), ...vTurn },
  returns: v.union(vShared, v.null()),
  handler: async (ctx, { focus, attempt, payer }) => {
    const wanted = await takeRefresh(ctx, { key: refreshKey(focus), attempt }, LEASE_MS);
    return wanted ? claimObservation(ctx, focus, payer) : null;
  },
});

/** Writes the result and stores it, or why there is none. A source that is slower is collected to its end behind it. */
export const write = providerAction({
  args: { focus: v.string(), ...vTurn },
  returns: v.null(),
  handler: async (ctx, work) => {
    const shared = await ctx.runMutation(internal.research.onDemand.take, work);
    if (shared === null) return null;
    await Promise.all([collectNow(ctx, shared), writeFrom(ctx, shared.observationId, work)]);
    return null;
  },
});

async function writeFrom(
  ctx: ActionCtx,
  observationId: Id<"observations">,
  { focus, attempt, payer }: { focus: string; attempt: number; payer: Payer },
): Promise<void> {
  try {
    const occasion = "On-demand research snapshot";
    const { result, model, sources } = await writeSnapshot(ctx, {
      focus,
      observationId,
      occasion,
      wanted: "soon",
      payer,
    });
    const stored = { focus, attempt, model, result, sources };
    await ctx.runMutation(internal.research.onDemand.store, stored);
  } catch (error) {
    await failRefresh(ctx, refreshKey(focus), attempt, error);
  }
}

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
    const row = await getOneFrom(ctx.db, "researchResults", "by_focus", focus);
    if (row === null) await ctx.db.insert("researchResults", stored);
    else await ctx.db.replace("researchResults", row._id, stored);
    return null;
  },
});
