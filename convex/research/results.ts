import { v, type Infer } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import { vCaller } from "../lib/limits/callers";
import { answerAt, beginRefresh, questionKey } from "../lib/cache";
import { vTicket, type Ticket } from "../lib/tables";
import { vResult, type Result } from "./tables";

/** On-demand results: answers of `lib/cache`, by focus ("" for the whole market) and by the question on it, if any. */

type Subject = { focus: string; question?: string };
const vSubject = { focus: v.string(), question: v.optional(v.string()) };

export const keyOf = ({ focus, question }: Subject): string =>
  `research:${focus}${question === undefined ? "" : `:${questionKey(question)}`}`;

const vStored = v.object({ fetchedAt: v.number(), result: vResult });

/** The stored result, however old. */
export async function resultOn(ctx: QueryCtx, subject: Subject): Promise<Infer<typeof vStored> | null> {
  const row = await answerAt(ctx, keyOf(subject));
  return row === null ? null : { fetchedAt: row.fetchedAt, result: resultIn(row.body) };
}

export function resultIn(body: string): Result {
  return parse(vResult, JSON.parse(body));
}

/** The same for actions. */
export const current = internalQuery({
  args: vSubject,
  returns: v.union(vStored, v.null()),
  handler: resultOn,
});

/**
 * Starts research on a focus, or on a question about it, or joins the running one.
 * @throws AppError `rate_limited`, also if too many requests wait or the day's budget is used up.
 */
export const begin = internalMutation({
  args: { ...vSubject, caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { caller, ...subject }): Promise<Ticket> =>
    beginRefresh(ctx, { key: keyOf(subject), caller }, internal.research.actions.writeResult, subject),
});
