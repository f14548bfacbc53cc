import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import { sha256Hex } from "../lib/crypto";
import { deadlines } from "../lib/deadlines";
import { messageOf } from "../lib/errors";
import { vCaller } from "../lib/limits";
import { providerAction } from "../lib/providerCalls";
import { beginRefresh, finishRefresh, vTicket, type Ticket } from "../lib/refreshes";
import { iso, MINUTE } from "../lib/time";
import { completeStructured } from "../providers/structured";
import { describeMarket } from "./model";
import { tokenQuestion } from "./prompts";
import { vTokenFigures } from "./tables";

const LEASE_MS = 2.5 * MINUTE;

const vAnswer = v.object({
  token: v.union(vTokenFigures, v.null()),
  answer: v.string(),
  model: v.string(),
});

/** Questions that differ in case and spacing alone are one. */
const hashOf = (question: string) => sha256Hex(question.toLowerCase().replace(/\s+/g, " "));
const refreshKey = (hash: string) => `token:${hash}`;

/** The stored answer to a question, however old. */
export const current = internalQuery({
  args: { question: v.string() },
  returns: v.union(v.object({ ...vAnswer.fields, fetchedAt: v.number() }), v.null()),
  handler: async (ctx, { question }) => {
    const row = await find(ctx, hashOf(question));
    if (row === null) return null;
    const { token, answer, model, fetchedAt } = row;
    return { token, answer, model, fetchedAt };
  },
});

/** Starts answering a question, or joins the answer being made. */
export const begin = internalMutation({
  args: { question: v.string(), caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { question, caller }): Promise<Ticket> => {
    const hash = hashOf(question);
    return beginRefresh(ctx, { key: refreshKey(hash), leaseMs: LEASE_MS, caller }, (attempt) =>
      ctx.scheduler.runAfter(0, internal.market.tokens.refresh, { hash, question, attempt }),
    );
  },
});

/** Asks the gateway, with the last snapshot of the market as context. */
export const refresh = providerAction({
  args: { hash: v.string(), question: v.string(), attempt: v.number() },
  returns: v.null(),
  handler: async (ctx, { hash, question, attempt }) => {
    try {
      const market = await ctx.runQuery(internal.market.snapshots.current, { focus: "" });
      const answer = await completeStructured(
        ctx,
        tokenQuestion(question, iso(Date.now()), market === null ? null : describeMarket(market)),
        { turnMs: deadlines.llmScheduled, attempts: 2 },
      );
      const result = { ...answer.value, model: answer.model };
      await ctx.runMutation(internal.market.tokens.store, { hash, attempt, result });
    } catch (error) {
      await ctx.runMutation(internal.lib.refreshes.fail, {
        key: refreshKey(hash),
        attempt,
        failure: messageOf(error),
      });
    }
    return null;
  },
});

export const store = internalMutation({
  args: { hash: v.string(), attempt: v.number(), result: vAnswer },
  returns: v.null(),
  handler: async (ctx, { hash, attempt, result }) => {
    if (!(await finishRefresh(ctx, refreshKey(hash), attempt, null))) return null;
    const answer = { questionHash: hash, fetchedAt: Date.now(), ...result };
    const row = await find(ctx, hash);
    if (row === null) await ctx.db.insert("tokenAnswers", answer);
    else await ctx.db.replace("tokenAnswers", row._id, answer);
    return null;
  },
});

async function find(ctx: QueryCtx, hash: string) {
  return ctx.db
    .query("tokenAnswers")
    .withIndex("by_questionHash", (q) => q.eq("questionHash", hash))
    .unique();
}
