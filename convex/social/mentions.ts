import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { lostWork } from "../lib/cronRuns";
import { isOn } from "../lib/env";
import { failureOf } from "../lib/errors";
import { charge } from "../lib/limits";
import { MINUTE, SECOND, NEVER } from "../lib/time";
import { enqueueCard } from "../messenger/model";
import { linkedCard, movedCard } from "./cards";
import { endMention } from "./endings";
import { authorById } from "./model";
import { redeemProof } from "./proofs";
import { socialTables } from "./tables";

/** The rows of mentions, from their arrival to their end; `states.md` draws their states. */

/** A try that said nothing for this long was lost: longer than its call to the model and its questions to the chain. */
export const TRY_MS = 2 * MINUTE;
/** How often a mention is tried. */
export const TRIES = 4;
/** An order that waited longer is not what its author wants any more. */
const PATIENCE_MS = 15 * MINUTE;
/** A post that took longer to come here, or comes again, is no order. */
const LATEST_MS = 15 * MINUTE;
/** When the network's ids begin: they carry the ms since then above their 22 lowest bits. */
const FIRST_ID_AT = 1_288_834_974_657n;
const BATCH = 50;

const vPost = socialTables.mentions.validator.pick(
  "tweetId",
  "authorId",
  "authorHandle",
  "text",
  "postedAt",
  "objection",
);

/** Stores the posts that are new, and sees that somebody looks at each. @returns How many were new. */
export const receive = internalMutation({
  args: { posts: v.array(vPost) },
  returns: v.number(),
  handler: async (ctx, { posts }) => {
    const now = Date.now();
    let accepted = 0;
    for (const post of posts) {
      const known = await getOneFrom(ctx.db, "mentions", "by_tweetId", post.tweetId);
      if (known !== null) continue;
      const mentionId = await ctx.db.insert("mentions", {
        ...post,
        receivedAt: now,
        status: "pending",
        attempt: 0,
        leaseUntil: now + TRY_MS,
      });
      await ctx.scheduler.runAfter(0, internal.social.mentions.begin, { mentionId, attempt: 1 });
      accepted++;
    }
    return accepted;
  },
});

/** Begins a try: decides what needs no model, and hands the rest on. */
export const begin = internalMutation({
  args: { mentionId: v.id("mentions"), attempt: v.number() },
  returns: v.null(),
  handler: async (ctx, { mentionId, attempt }) => {
    const row = await ctx.db.get("mentions", mentionId);
    if (row === null || row.status !== "pending" || row.leaseUntil === NEVER || row.attempt !== attempt - 1) {
      return null;
    }
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
      return null;
    }
    const author = await authorById(ctx, row.authorId);
    if (author !== null && row.userId === undefined) {
      await ctx.db.patch("mentions", mentionId, { userId: author.userId });
    }
    const objection = await objectionTo(ctx, row, author, now);
    if (objection !== null) {
      await endMention(ctx, mentionId, objection, now);
      return null;
    }
    await ctx.db.patch("mentions", mentionId, { attempt, leaseUntil: now + TRY_MS });
    await ctx.scheduler.runAfter(0, internal.social.handling.carryOut, { mentionId, attempt });
    return null;
  },
});

async function objectionTo(
  ctx: MutationCtx,
  row: Doc<"mentions">,
  author: Doc<"socialAuthors"> | null,
  now: number,
) {
  if (author === null || (row.userId !== undefined && row.userId !== author.userId)) {
    return { status: "ignored" as const, reason: "The author's account is not linked to any user" };
  }
  if (!author.enabled) return { status: "ignored" as const, reason: "Social trading is switched off" };
  if (row.objection !== undefined) return { status: "ignored" as const, reason: row.objection };
  const written = row.postedAt ?? Number((BigInt(row.tweetId) >> 22n) + FIRST_ID_AT);
  if (written < row.receivedAt - LATEST_MS) {
    return { status: "ignored" as const, reason: "The post is too old to be carried out" };
  }
  // Timestamps have whole seconds.
  if (written < author.linkedAt - (author.linkedAt % SECOND)) {
    return { status: "ignored" as const, reason: "The post is older than its author's link" };
  }
  if (isOn("TRADING_PAUSED")) return { status: "failed" as const, reason: "Sends and swaps are paused" };
  if (now - row.receivedAt > PATIENCE_MS || row.attempt >= TRIES) {
    return { status: "failed" as const, reason: "It could not be carried out in time: nothing was moved" };
  }
  return row.attempt === 0 && (await isTooMany(ctx, author.userId))
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
export const settle = internalMutation({
  args: { mentionId: v.id("mentions") },
  returns: v.null(),
  handler: async (ctx, { mentionId }) => {
    const row = await ctx.db.get("mentions", mentionId);
    const trade = row?.tradeId === undefined ? null : await ctx.db.get("trades", row.tradeId);
    if (trade === null || trade.status === "pending") return null;
    const ending =
      trade.status === "confirmed"
        ? { status: "processed" as const }
        : { status: "failed" as const, reason: trade.error ?? "The transaction failed" };
    await endMention(ctx, mentionId, ending, Date.now());
    return null;
  },
});

/** For the cron: begins another try of every mention whose try was lost. */
export const resumeLost = lostWork(async (ctx, now) => {
  const lost = await ctx.db
    .query("mentions")
    // Not one of 0.1.0, which has none: its trade may be open.
    .withIndex("by_status_and_leaseUntil", (q) =>
      q.eq("status", "pending").gte("leaseUntil", 0).lte("leaseUntil", now),
    )
    .take(BATCH);
  for (const { _id, attempt } of lost) {
    await ctx.db.patch("mentions", _id, { leaseUntil: now + TRY_MS });
    await ctx.scheduler.runAfter(0, internal.social.mentions.begin, {
      mentionId: _id,
      attempt: attempt + 1,
    });
  }
});
