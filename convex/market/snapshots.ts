import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery } from "../_generated/server";
import { answerAt, beginRefresh, questionKey } from "../lib/cache";
import { vCaller } from "../lib/limits/callers";
import { vTicket, type Ticket } from "../lib/tables";
import { MARKET_KEY, readBack } from "./snapshot";
import { vMarketSnapshot } from "./validators";

/** The snapshot of the market and the answers to questions, both kept by `lib/cache`, and how they are renewed. */

/** The stored snapshot, however old. */
export const current = internalQuery({
  args: {},
  returns: v.union(vMarketSnapshot, v.null()),
  handler: async (ctx) => {
    const row = await answerAt(ctx, MARKET_KEY);
    return row === null ? null : readBack(row.body);
  },
});

/**
 * Starts a refresh, or joins the running one.
 * @throws AppError `rate_limited`, also if too many requests wait or the day's budget is used up.
 */
export const begin = internalMutation({
  args: { caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { caller }): Promise<Ticket> =>
    beginRefresh(ctx, { key: MARKET_KEY, caller }, internal.market.actions.renew, {}),
});

/** Starts an answer to a question, or joins the running one. @throws AppError `rate_limited` */
export const beginAnswer = internalMutation({
  args: { question: v.string(), caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { question, caller }): Promise<Ticket> => {
    const refresh = { key: `token:${questionKey(question)}`, caller };
    return beginRefresh(ctx, refresh, internal.market.actions.writeAnswer, { question });
  },
});
