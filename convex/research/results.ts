import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery } from "../_generated/server";
import { change } from "../lib/changes";
import { vCaller } from "../lib/limits/callers";
import { finishRefresh, takeRefresh } from "../lib/refreshes";
import { vTicket, type Ticket } from "../lib/tables";
import { beginInLane, vTurn } from "../lib/renewals";
import { MINUTE } from "../lib/time";
import { vJob } from "../lib/work/jobs";
import { placeOf, resultOn, type Subject } from "./model";
import { claimObservation, vShared } from "./observations";
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
 * Starts research on a focus, or on a question about it, or joins the running one.
 * @throws AppError `rate_limited`, also if too many requests wait or the day's budget is used up.
 */
export const begin = internalMutation({
  args: { ...vSubject, caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { caller, ...subject }): Promise<Ticket> =>
    beginInLane(ctx, { key: refreshKey(subject), caller }, internal.research.desk.writeResult, subject),
});

/** Begins the work once it has its place; `null` if nobody wants it any more. */
export const take = internalMutation({
  args: { ...vSubject, ...vTurn, job: vJob },
  returns: v.union(vShared, v.null()),
  handler: async (ctx, { key, attempt, payer, focus, job }) => {
    const wanted = await takeRefresh(ctx, { key, attempt }, LEASE_MS);
    return wanted ? claimObservation(ctx, job, focus, payer) : null;
  },
});

export const store = change(
  {
    ...vSubject,
    key: v.string(),
    attempt: v.number(),
    model: v.string(),
    result: vResult,
    sources: vSourceStates,
  },
  async (ctx, { key, attempt, model, result, sources, ...subject }) => {
    if ((await finishRefresh(ctx, { key, attempt }, null)) === null) return;
    const stored = { ...placeOf(subject), generatedAt: Date.now(), model, result, sources };
    const row = await resultOn(ctx, subject);
    if (row === null) await ctx.db.insert("researchResults", stored);
    else await ctx.db.replace("researchResults", row._id, stored);
  },
);
