import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { isOn } from "../lib/env";
import { failureOf, isErrorCode } from "../lib/errors";
import { charge } from "../lib/limits/charges";
import { MINUTE, SECOND } from "../lib/time";
import { reasonOf } from "../lib/text/failures";
import { open, failureHandler, vFailure } from "../lib/work/jobs";
import { enqueueCard } from "../messenger/model";
import { linkedCard, movedCard } from "./cards";
import { endMention } from "./endings";
import { underWayAt, vTry } from "./execution";
import { authorById } from "./model";
import { redeemProof } from "./proofs";
import { vIntent } from "./validators";
import { socialTables } from "./tables";

/** The rows of mentions, from their arrival to their end; `states.md` draws their states. */

/** The most attempts at a mention: at once, a minute later, and four minutes after that. */
const ATTEMPTS = 3;
/** Its author no longer wants an order that has waited longer. */
const PATIENCE_MS = 15 * MINUTE;
const TOO_LATE = "It could not be executed in time: nothing was moved";
/** A post that arrives later than this, or is repeated later, is not an order. */
const LATEST_MS = 15 * MINUTE;
/** The epoch of the network's ids: they carry the ms since then above their 22 lowest bits. */
const FIRST_ID_AT = 1_288_834_974_657n;

const vPost = socialTables.mentions.validator.pick(
  "tweetId",
  "authorId",
  "authorHandle",
  "text",
  "postedAt",
  "objection",
);

/** Stores the new posts, and schedules the judgement of each. @returns How many were new. */
export const receive = internalMutation({
  args: { posts: v.array(vPost) },
  returns: v.number(),
  handler: async (ctx, { posts }) => {
    let accepted = 0;
    for (const post of posts) {
      const known = await getOneFrom(ctx.db, "mentions", "by_tweetId", post.tweetId);
      if (known !== null) continue;
      const mentionId = await ctx.db.insert("mentions", {
        ...post,
        receivedAt: Date.now(),
        status: "pending",
      });
      await ctx.scheduler.runAfter(0, internal.social.mentions.judge, { mentionId });
      accepted++;
    }
    return accepted;
  },
});

/** Decides what needs no model, and starts the work for the rest. */
export const judge = change({ mentionId: v.id("mentions") }, async (ctx, { mentionId }) => {
  const row = await ctx.db.get("mentions", mentionId);
  if (row?.status !== "pending" || (await isEnded(ctx, row, 1))) return;
  const onFailure = failureHandler(internal.social.mentions.failed, { mentionId });
  const terms = { subject: mentionId, attempts: ATTEMPTS, until: row.receivedAt + PATIENCE_MS, onFailure };
  await open(ctx, internal.social.desk.carryOut, { mentionId }, terms);
});

/** The input of an attempt; `null` if another one has replaced it, or there is nothing to execute any more. */
export const begin = internalMutation({
  args: vTry,
  returns: v.union(
    v.object({ text: v.string(), userId: v.optional(v.string()), intent: v.union(vIntent, v.null()) }),
    v.null(),
  ),
  handler: async (ctx, { mentionId, job }) => {
    const row = await underWayAt(ctx, { mentionId, job });
    if (row === null || (job.attempt > 1 && (await isEnded(ctx, row, job.attempt)))) return null;
    const { text, userId, intent = null } = row;
    return { text, intent, ...(userId === undefined ? {} : { userId }) };
  },
});

/** Ends a mention that has nothing to execute. @param attempt The attempt that would begin, from 1. */
async function isEnded(ctx: MutationCtx, row: Doc<"mentions">, attempt: number): Promise<boolean> {
  const { _id: mentionId } = row;
  const now = Date.now();
  const proven = await redeemProof(ctx, row, now);
  if (proven !== null) {
    await endMention(ctx, mentionId, { status: "ignored", reason: "It proved its author's account" }, now);
    const { userId, earlier } = proven;
    await ctx.db.patch("mentions", mentionId, { userId });
    const handle = row.authorHandle ?? row.authorId;
    await enqueueCard(ctx, { userId, kind: "account linked", paragraphs: linkedCard(handle) });
    if (earlier !== null) {
      await enqueueCard(ctx, { userId: earlier, kind: "account unlinked", paragraphs: movedCard(handle) });
    }
    return true;
  }
  const author = await authorById(ctx, row.authorId);
  if (author !== null && row.userId === undefined) {
    await ctx.db.patch("mentions", mentionId, { userId: author.userId });
  }
  const objection = await objectionTo(ctx, row, author, { now, attempt });
  if (objection !== null) await endMention(ctx, mentionId, objection, now);
  return objection !== null;
}

async function objectionTo(
  ctx: MutationCtx,
  row: Doc<"mentions">,
  author: Doc<"socialAuthors"> | null,
  { now, attempt }: { now: number; attempt: number },
) {
  if (author === null || (row.userId !== undefined && row.userId !== author.userId)) {
    return { status: "ignored" as const, reason: "The author's account is not linked to any user" };
  }
  if (!author.enabled) return { status: "ignored" as const, reason: "Social trading is switched off" };
  if (row.objection !== undefined) return { status: "ignored" as const, reason: row.objection };
  const written = row.postedAt ?? Number((BigInt(row.tweetId) >> 22n) + FIRST_ID_AT);
  if (written < row.receivedAt - LATEST_MS) {
    return { status: "ignored" as const, reason: "The post is too old to be executed" };
  }
  // Timestamps have whole seconds.
  if (written < author.linkedAt - (author.linkedAt % SECOND)) {
    return { status: "ignored" as const, reason: "The post is older than its author's link" };
  }
  if (isOn("TRADING_PAUSED")) return { status: "failed" as const, reason: "Sends and swaps are paused" };
  if (now - row.receivedAt > PATIENCE_MS) return { status: "failed" as const, reason: TOO_LATE };
  return attempt === 1 && (await isTooMany(ctx, author.userId))
    ? { status: "ignored" as const, reason: "Too many mentions in a short time" }
    : null;
}

/** Every mention that gets this far costs a call to the model. */
async function isTooMany(ctx: MutationCtx, userId: string): Promise<boolean> {
  try {
    await charge(ctx, "chat", { userId, address: null });
    return false;
  } catch (error) {
    if (failureOf(error)?.code === "rate_limited") return true;
    throw error;
  }
}

/** Ends a mention as its trade has ended. */
export const settle = change({ mentionId: v.id("mentions") }, async (ctx, { mentionId }) => {
  const row = await ctx.db.get("mentions", mentionId);
  const trade = row?.tradeId === undefined ? null : await ctx.db.get("trades", row.tradeId);
  if (trade === null || trade.status === "pending") return;
  const ending =
    trade.status === "confirmed"
      ? { status: "processed" as const }
      : { status: "failed" as const, reason: trade.error ?? "The transaction failed" };
  await endMention(ctx, mentionId, ending, Date.now());
});

/** After a failed attempt: the one rule begins another if the failure may pass. A limit of the service is the order's fault. */
export const failed = change(
  { mentionId: v.id("mentions"), ...vFailure },
  async (ctx, { mentionId, error, code, isLast }) => {
    if (!isLast && (code === undefined || code === "upstream")) return;
    const row = await ctx.db.get("mentions", mentionId);
    if (row === null) return;
    const isKnown = code !== undefined && isErrorCode(code);
    const isLate = Date.now() - row.receivedAt > PATIENCE_MS;
    const status = code === "invalid_request" ? "ignored" : "failed";
    const why = isKnown
      ? { reason: error, words: reasonOf({ code, message: error }) }
      : { reason: "Internal error", words: "Something went wrong on my side." };
    await endMention(ctx, mentionId, { status, ...(isLate ? { reason: TOO_LATE } : why) }, Date.now());
  },
);
