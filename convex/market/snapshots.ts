import { omit } from "convex-helpers";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { vCaller } from "../lib/limits/callers";
import { beginRefresh, finishRefresh, vResultOf } from "../lib/cache";
import { sha256Hex } from "../lib/security/digests";
import { vTicket, type Ticket } from "../lib/tables";
import { answerRow, latestRow, readBack, written } from "./snapshot";
import { vMarketFigures, vMarketSource, vRowSource, vTokenFigures } from "./validators";

/** The stored snapshot of the market and the stored answers to questions, and how they are renewed. */

const vSnapshot = v.object({
  fetchedAt: v.number(),
  figures: vMarketFigures,
  sources: v.array(vMarketSource),
});
const vList = v.object({ figures: v.string(), model: v.string(), at: v.number() });

/** The stored snapshot, however old. */
export const current = internalQuery({
  args: {},
  returns: v.union(vSnapshot, v.null()),
  handler: async (ctx) => {
    const row = await latestRow(ctx);
    return row === null ? null : readBack(row);
  },
});

/** The same as the text of `GET /mcp/market`. */
export const answer = internalQuery({
  args: {},
  returns: v.union(v.object({ fetchedAt: v.number(), body: v.string() }), v.null()),
  handler: async (ctx) => {
    const row = await latestRow(ctx);
    return row === null ? null : { fetchedAt: row.fetchedAt, body: row.body };
  },
});

/** The gateway's list as it was last given; `null` if there is none. */
export const list = internalQuery({
  args: {},
  returns: v.union(vList, v.null()),
  handler: async (ctx) => (await latestRow(ctx))?.list ?? null,
});

/**
 * Starts a refresh, or joins the running one.
 * @throws AppError `rate_limited`, also if too many requests wait or the day's budget is used up.
 */
export const begin = internalMutation({
  args: { caller: vCaller, forService: v.optional(v.boolean()) },
  returns: vTicket,
  handler: async (ctx, { caller, forService = false }): Promise<Ticket> => {
    const refresh = { key: "market:", caller, ...(forService ? { rank: "service" as const } : {}) };
    return beginRefresh(ctx, refresh, internal.market.actions.renew, {});
  },
});

/** Stores a snapshot; the gateway's list is kept until there is another. */
export const store = change(
  { of: vResultOf, figures: vMarketFigures, sources: v.array(vMarketSource), list: v.optional(vList) },
  async (ctx, { of, figures, sources, list: given }) => {
    if (!(await finishRefresh(ctx, of))) return;
    const fetchedAt = Date.now();
    const row = await latestRow(ctx);
    const kept = given ?? row?.list;
    const body = written({ fetchedAt, figures, sources });
    const next = { fetchedAt, body, ...(kept === undefined ? {} : { list: kept }) };
    if (row === null) await ctx.db.insert("marketSnapshots", next);
    else await ctx.db.replace("marketSnapshots", row._id, next);
  },
);

/** Keeps the gateway's list beside the snapshot. */
export const keepList = change({ list: vList }, async (ctx, { list: given }) => {
  const row = await latestRow(ctx);
  if (row !== null) await ctx.db.patch("marketSnapshots", row._id, { list: given });
});

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
const stored = (ctx: QueryCtx, question: string) => answerRow(ctx, hashOf(question));

/** The stored answer to a question, however old. */
export const answerTo = internalQuery({
  args: { question: v.string() },
  returns: v.union(vAnswer.extend({ fetchedAt: v.number() }), v.null()),
  handler: async (ctx, { question }) => {
    const row = await stored(ctx, question);
    return row === null ? null : omit(row, ["_id", "_creationTime", "questionHash"]);
  },
});

/** Starts an answer to a question, or joins the running one. @throws AppError `rate_limited` */
export const beginAnswer = internalMutation({
  args: { question: v.string(), caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { question, caller }): Promise<Ticket> => {
    const refresh = { key: `token:${hashOf(question)}`, caller };
    return beginRefresh(ctx, refresh, internal.market.actions.writeAnswer, { question });
  },
});

export const storeAnswer = change(
  { of: vResultOf, question: v.string(), result: vAnswer },
  async (ctx, { of, question, result }) => {
    if (!(await finishRefresh(ctx, of))) return;
    const row = await stored(ctx, question);
    const next = { questionHash: hashOf(question), fetchedAt: Date.now(), ...result };
    if (row === null) await ctx.db.insert("tokenAnswers", next);
    else await ctx.db.replace("tokenAnswers", row._id, next);
  },
);
