import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type ActionCtx } from "../_generated/server";
import type { Payer } from "../lib/budget";
import { vCaller } from "../lib/limits";
import { providerAction } from "../lib/providerCalls";
import { failRefresh, finishRefresh, takeRefresh, vTicket, type Ticket } from "../lib/refreshes";
import { beginInLane, vTurn } from "../lib/renewals";
import { MINUTE } from "../lib/time";
import { placeOf, resultOn, type Subject } from "./model";
import { claimObservation, collectNow, vShared } from "./observations";
import { writeSnapshot } from "./snapshot";
import { vResult, vSourceStates } from "./shapes";

/** The sources' longest wait, the writing with its repair turn, and a margin. */
const LEASE_MS = 5 * MINUTE;

const vSubject = { focus: v.string(), question: v.optional(v.string()) };

function refreshKey(subject: Subject): string {
  const { focus, questionHash } = { questionHash: undefined, ...placeOf(subject) };
  return questionHash === undefined ? `research:${focus}` : `research:${focus}:${questionHash}`;
}

/** The stored result, however old. */
export const current = internalQuery({
  args: vSubject,
  returns: v.union(v.object({ fetchedAt: v.number(), result: vResult, sources: vSourceStates }), v.null()),
  handler: async (ctx, subject) => {
    const row = await resultOn(ctx, subject);
    return row === null ? null : { fetchedAt: row.generatedAt, result: row.result, sources: row.sources };
  },
});

/**
 * Starts the research of a focus, or of a question on it, or joins the one under way.
 * @throws AppError `rate_limited`, also when too much is being asked for or the day's budget is used up.
 */
export const begin = internalMutation({
  args: { ...vSubject, caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { caller, ...subject }): Promise<Ticket> =>
    beginInLane(ctx, { key: refreshKey(subject), caller }, internal.research.onDemand.write, subject),
});

/** Begins the work once it has its place; `null` when nobody wants it any more. */
export const take = internalMutation({
  args: { ...vSubject, ...vTurn },
  returns: v.union(vShared, v.null()),
  handler: async (ctx, { attempt, payer, ...subject }) => {
    const wanted = await takeRefresh(ctx, { key: refreshKey(subject), attempt }, LEASE_MS);
    return wanted ? claimObservation(ctx, subject.focus, payer) : null;
  },
});

/** Writes the result and stores it, or why there is none. A source that is slower is collected to its end behind it. */
export const write = providerAction({
  args: { ...vSubject, ...vTurn },
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
  { attempt, payer, ...subject }: Subject & { attempt: number; payer: Payer },
): Promise<void> {
  try {
    const occasion = "On-demand research snapshot";
    const { result, model, sources } = await writeSnapshot(ctx, {
      ...subject,
      observationId,
      occasion,
      wanted: "soon",
      payer,
    });
    const stored = { ...subject, attempt, model, result, sources };
    await ctx.runMutation(internal.research.onDemand.store, stored);
  } catch (error) {
    await failRefresh(ctx, refreshKey(subject), attempt, error);
  }
}

export const store = internalMutation({
  args: {
    ...vSubject,
    attempt: v.number(),
    model: v.string(),
    result: vResult,
    sources: vSourceStates,
  },
  returns: v.null(),
  handler: async (ctx, { attempt, model, result, sources, ...subject }) => {
    if (!(await finishRefresh(ctx, refreshKey(subject), attempt, null))) return null;
    const stored = { ...placeOf(subject), generatedAt: Date.now(), model, result, sources };
    const row = await resultOn(ctx, subject);
    if (row === null) await ctx.db.insert("researchResults", stored);
    else await ctx.db.replace("researchResults", row._id, stored);
    return null;
  },
});
