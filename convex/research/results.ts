import { v, type Infer } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery } from "../_generated/server";
import { vCaller } from "../lib/limits/callers";
import { answerAt, beginRefresh } from "../lib/cache";
import { vTicket, type Ticket } from "../lib/tables";
import { vResult, type Result } from "./tables";

/** On-demand results: answers of `lib/cache`, by focus ("" for the whole market). */

export const keyOf = (focus: string): string => `research:${focus}`;

const vStored = v.object({ fetchedAt: v.number(), result: vResult });

/** The stored result, however old. */
export const current = internalQuery({
  args: { focus: v.string() },
  returns: v.union(vStored, v.null()),
  handler: async (ctx, { focus }): Promise<Infer<typeof vStored> | null> => {
    const row = await answerAt(ctx, keyOf(focus));
    return row === null ? null : { fetchedAt: row.fetchedAt, result: resultIn(row.body) };
  },
});

export function resultIn(body: string): Result {
  return parse(vResult, JSON.parse(body));
}

/**
 * Starts research on a focus, or joins the running one.
 * @throws AppError `rate_limited`, also if too many requests wait or the day's budget is used up.
 */
export const begin = internalMutation({
  args: { focus: v.string(), caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { caller, focus }): Promise<Ticket> =>
    beginRefresh(ctx, { key: keyOf(focus), caller }, internal.research.actions.writeResult, { focus }),
});
