import { omit } from "convex-helpers";
import { getOneFrom } from "convex-helpers/server/relationships";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery } from "../_generated/server";
import { change } from "../lib/changes";
import { sha256Hex } from "../lib/security/digests";
import { vCaller } from "../lib/limits/callers";
import { vTicket, type Ticket } from "../lib/tables";
import { beginInLane, finishInLane, vResultOf } from "../lib/renewals";
import { vRowSource, vTokenFigures } from "./validators";

const vAnswer = v.object({
  token: v.union(vTokenFigures, v.null()),
  answer: v.string(),
  model: v.string(),
  priceSource: v.union(vRowSource, v.null()),
  /** Epoch ms. */
  figuresAt: v.number(),
});

/** Questions that differ only in case and spacing are the same. */
const hashOf = (question: string) => sha256Hex(question.toLowerCase().replace(/\s+/g, " "));

/** The stored answer to a question, however old. */
export const current = internalQuery({
  args: { question: v.string() },
  returns: v.union(v.object({ ...vAnswer.fields, fetchedAt: v.number() }), v.null()),
  handler: async (ctx, { question }) => {
    const row = await getOneFrom(ctx.db, "tokenAnswers", "by_questionHash", hashOf(question));
    return row === null ? null : omit(row, ["_id", "_creationTime", "questionHash"]);
  },
});

/** Starts an answer to a question, or joins the running one. @throws AppError `rate_limited` */
export const begin = internalMutation({
  args: { question: v.string(), caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { question, caller }): Promise<Ticket> => {
    const hash = hashOf(question);
    const refresh = { key: `token:${hash}`, caller };
    return beginInLane(ctx, refresh, internal.market.desk.writeAnswer, { hash, question });
  },
});

export const store = change(
  { of: vResultOf, hash: v.string(), result: vAnswer },
  async (ctx, { of, hash, result }) => {
    if (!(await finishInLane(ctx, of))) return;
    const answer = { questionHash: hash, fetchedAt: Date.now(), ...result };
    const row = await getOneFrom(ctx.db, "tokenAnswers", "by_questionHash", hash);
    if (row === null) await ctx.db.insert("tokenAnswers", answer);
    else await ctx.db.replace("tokenAnswers", row._id, answer);
  },
);
