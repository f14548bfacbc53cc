import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { vCaller } from "../lib/limits/callers";
import { beginRefresh, finishRefresh, vResultOf } from "../lib/cache";
import { sha256Hex } from "../lib/security/digests";
import { vTicket, type Ticket } from "../lib/tables";
import { vResult } from "./tables";

/** On-demand results: the cache, and who refreshes it. */

/** A focus ("" for the whole market), and the question that a result on it answers, if any. */
type Subject = { focus: string; question?: string };
const vSubject = { focus: v.string(), question: v.optional(v.string()) };

/** The key of a stored result; questions that differ only in case and spacing are the same. */
function placeOf({ focus, question }: Subject): { focus: string; questionHash?: string } {
  if (question === undefined) return { focus };
  return { focus, questionHash: sha256Hex(question.toLowerCase().replace(/\s+/g, " ")) };
}

/** The stored result, however old. */
export async function resultOn(ctx: QueryCtx, subject: Subject): Promise<Doc<"researchResults"> | null> {
  const { focus, questionHash } = placeOf(subject);
  return ctx.db
    .query("researchResults")
    .withIndex("by_focus", (q) => q.eq("focus", focus).eq("questionHash", questionHash))
    .unique();
}

/** The same for actions. */
export const current = internalQuery({
  args: vSubject,
  returns: v.union(v.object({ fetchedAt: v.number(), result: vResult }), v.null()),
  handler: async (ctx, subject) => {
    const row = await resultOn(ctx, subject);
    return row === null ? null : { fetchedAt: row.generatedAt, result: row.result };
  },
});

/**
 * Starts research on a focus, or on a question about it, or joins the running one.
 * @throws AppError `rate_limited`, also if too many requests wait or the day's budget is used up.
 */
export const begin = internalMutation({
  args: { ...vSubject, caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { caller, ...subject }): Promise<Ticket> => {
    const { focus, questionHash } = placeOf(subject);
    const key = ["research", focus, ...(questionHash === undefined ? [] : [questionHash])].join(":");
    return beginRefresh(ctx, { key, caller }, internal.research.actions.writeResult, subject);
  },
});

export const store = change(
  { of: vResultOf, ...vSubject, model: v.string(), result: vResult },
  async (ctx, { of, model, result, ...subject }) => {
    if (!(await finishRefresh(ctx, of))) return;
    const stored = { ...placeOf(subject), generatedAt: Date.now(), model, result };
    const row = await resultOn(ctx, subject);
    if (row === null) await ctx.db.insert("researchResults", stored);
    else await ctx.db.replace("researchResults", row._id, stored);
  },
);
