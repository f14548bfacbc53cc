import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { defineMutation } from "../platform/changes";
import { isOn, getSetting } from "../lib/env";
import { AppError, getErrorData, isErrorCode } from "../lib/errors";
import { explainRefusal } from "../messenger/format";
import { charge } from "../platform/limits/charges";
import { toChecksum } from "../lib/money/base";
import { formatUnits } from "../lib/money/amounts";
import { MINUTE, SECOND } from "../lib/time";
import {
  cancel,
  buildFailureHandler,
  enqueueWork,
  getRunningWork,
  vFailure,
  vJob,
  type Job,
} from "../platform/work";
import { enqueueCard } from "../messenger/model";
import { findRecipient } from "../identity/model";
import { isEnded, openOrder, recordUnreadable } from "../wallets/orders/model";
import { vPayer, vUserRequest, type UserRequest } from "../wallets/tables";
import { toPayer } from "../wallets/book";
import { findWallet } from "../wallets/model";
import { buildAuthorLinkedCard, buildMentionCard, buildMovedCard } from "./cards";
import { findAuthor, MOST_A_DAY, MOST_A_TRADE, redeemProof } from "./authors";
import { readCommand, type TradeCommand } from "./commands";
import { socialTables, type MentionStatus } from "./tables";

/** Mentions, from their arrival to their end. */

/** The most attempts at a mention: at once, a minute later, and four minutes after that. */
const ATTEMPTS = 3;

/** An author no longer expects an older order to be carried out. */
const PATIENCE_MS = 15 * MINUTE;
const TOO_LATE = "It could not be executed in time: nothing was moved. Post it again if you still want it";

/** A post that is delivered later than this, or again, is no order. */
const LATEST_MS = 15 * MINUTE;

/** The epoch of the network's ids: they carry the ms since then above their 22 lowest bits. */
const FIRST_ID_AT = 1_288_834_974_657n;
const SLIPPAGE_BPS = 100;

const vPost = socialTables.mentions.validator.pick(
  "tweetId",
  "authorId",
  "authorHandle",
  "text",
  "postedAt",
  "objection",
);

/** Stores a new post, and schedules its judgement. @returns Whether it was new. */
export const storeMention = internalMutation({
  args: { post: vPost },
  returns: v.boolean(),
  handler: async (ctx, { post }) => {
    if ((await getOneFrom(ctx.db, "mentions", "by_tweetId", post.tweetId)) !== null) return false;
    const row = { ...post, receivedAt: Date.now(), status: "pending" as const };
    const mentionId = await ctx.db.insert("mentions", row);
    await ctx.scheduler.runAfter(0, internal.social.mentions.judgeMention, { mentionId });
    return true;
  },
});

/** Decides whether a mention is an order, and starts the work for it. */
export const judgeMention = defineMutation({ mentionId: v.id("mentions") }, async (ctx, { mentionId }) => {
  const row = await ctx.db.get("mentions", mentionId);
  if (row?.status !== "pending" || (await hasProved(ctx, row))) return;
  const author = await findAuthor(ctx, row.authorId);
  const userId = author?.userId;
  await ctx.db.patch("mentions", mentionId, { userId, confidence: readCommand(row.text).confidence });
  const judged = await ctx.db.get("mentions", mentionId);
  if (judged === null || (await agreeOn(ctx, judged)) === null) return;
  const onFailure = buildFailureHandler(internal.social.mentions.failMention, { mentionId });
  const terms = { subject: mentionId, attempts: ATTEMPTS, until: row.receivedAt + PATIENCE_MS, onFailure };
  await enqueueWork(ctx, internal.social.execution.executeMention, { mentionId }, terms);
});

/** Whether a mention was the proof of an account; then it ends. */
async function hasProved(ctx: MutationCtx, row: Doc<"mentions">): Promise<boolean> {
  const proven = await redeemProof(ctx, row, Date.now());
  if (proven === null) return false;
  await endMention(ctx, row._id, { status: "ignored", reason: "It proved its author's account" });
  const { userId, earlier } = proven;
  await ctx.db.patch("mentions", row._id, { userId });
  const handle = row.authorHandle ?? row.authorId;
  await enqueueCard(ctx, { userId, kind: "account linked", paragraphs: buildAuthorLinkedCard(handle) });
  if (earlier !== null)
    await enqueueCard(ctx, { userId: earlier, kind: "account unlinked", paragraphs: buildMovedCard(handle) });
  return true;
}

/** Identifies one attempt: a late result of an earlier attempt changes nothing. */
const vMentionAttempt = { mentionId: v.id("mentions"), job: vJob };

/** The mention of an attempt; `null` if another attempt has replaced it, or the mention has ended. */
async function findRunningMention(
  ctx: QueryCtx,
  { mentionId, job }: { mentionId: Id<"mentions">; job: Job },
) {
  return (await getRunningWork(ctx, job)) === null ? null : ctx.db.get("mentions", mentionId);
}

/** Begins an attempt: the paying wallet, and the order, whose amount is to be resolved; `null` if it has ended. */
export const beginMention = internalMutation({
  args: vMentionAttempt,
  returns: v.union(v.object({ wallet: vPayer, request: vUserRequest }), v.null()),
  handler: async (ctx, one) => {
    const row = await findRunningMention(ctx, one);
    const agreed = row === null ? null : await agreeOn(ctx, row);
    if (row === null || agreed === null) return null;
    const { command, userId, wallet } = agreed;
    if (one.job.attempt === 1 && (await isTooMany(ctx, userId))) {
      await endMention(ctx, row._id, {
        status: "ignored",
        reason: "Too many mentions in a short time: wait a minute, then post again",
      });
      return null;
    }
    return { wallet: await toPayer(ctx, wallet), request: toOrderRequest(command) };
  },
});

async function isTooMany(ctx: MutationCtx, userId: string): Promise<boolean> {
  try {
    await charge(ctx, "order", { userId, address: null });
    return false;
  } catch (error) {
    if (getErrorData(error)?.code === "rate_limited") return true;
    throw error;
  }
}

/**
 * Opens the trade: one transaction decides permission and limits, opens the order and links the two rows.
 * @returns `null` if the trade is not allowed.
 * @throws AppError `invalid_request` beyond a limit in 24 hours.
 */
export const openTrade = internalMutation({
  args: {
    ...vMentionAttempt,
    /** The resolved amount, its value and the price of one ether: digits, the latter two in micro-USD. */
    amount: v.string(),
    value: v.string(),
    etherPrice: v.string(),
  },
  returns: v.union(v.id("orders"), v.null()),
  handler: async (ctx, { mentionId, job, amount, value, etherPrice }) => {
    const row = await findRunningMention(ctx, { mentionId, job });
    const agreed = row === null ? null : await agreeOn(ctx, row);
    if (row === null || agreed === null) return null;
    const { userId, command, wallet } = agreed;
    if (BigInt(value) > MOST_A_TRADE) {
      const reason = `A trade by mention may be worth at most ${formatUnits(MOST_A_TRADE, 6)} USD: post a smaller one`;
      await endMention(ctx, mentionId, { status: "ignored", reason });
      return null;
    }
    const onSettled: string = await createFunctionHandle(internal.social.mentions.settleMention);
    const order = await openOrder(ctx, {
      userId,
      walletId: wallet.walletId,
      request: { ...toOrderRequest(command), amount },
      idempotencyKey: `x:${row.tweetId}`,
      value,
      etherPrice,
      // The author has linked this account, and signed in to do so.
      by: "post",
      most: MOST_A_DAY,
      address: null,
      mentioned: { mentionId, action: command.action, onSettled },
    });
    await ctx.db.patch("mentions", mentionId, { tradeId: order._id });
    // From here on the order continues alone.
    await cancel(ctx, mentionId);
    return order._id;
  },
});

function toOrderRequest({ fromToken, toToken, size, recipient }: TradeCommand): UserRequest {
  const sized = { amount: "0", size };
  if (toToken !== null) return { kind: "swap", fromToken, toToken, ...sized, slippageBps: SLIPPAGE_BPS };
  const toAddress = toChecksum(recipient ?? "");
  if (toAddress === null) throw new AppError("internal", "A send has no recipient");
  return { kind: "send", token: fromToken, toAddress, ...sized };
}

type Agreed = { userId: string; command: TradeCommand; wallet: Doc<"wallets"> };

/** The command of a mention whose author may give it; otherwise ends the mention, and returns `null`. */
async function agreeOn(ctx: MutationCtx, row: Doc<"mentions">): Promise<Agreed | null> {
  const now = Date.now();
  const end = async (status: "ignored" | "failed", reason: string): Promise<null> => {
    await endMention(ctx, row._id, { status, reason });
    return null;
  };
  const author = await findAuthor(ctx, row.authorId);
  if (author === null || row.userId !== author.userId)
    return end("ignored", "The author's account is not linked to any user");
  const { userId } = author;
  if (!author.enabled)
    return end("ignored", "Social trading is switched off: switch it on in the web application");
  if (row.objection !== undefined) return end("ignored", row.objection);
  const written = row.postedAt ?? Number((BigInt(row.tweetId) >> 22n) + FIRST_ID_AT);
  if (written < row.receivedAt - LATEST_MS)
    return end("ignored", "The post is too old to be executed: write a new one");
  // Timestamps have whole seconds.
  if (written < author.linkedAt - (author.linkedAt % SECOND))
    return end("ignored", "The post is older than its author's link: write a new one");
  if (now - row.receivedAt > PATIENCE_MS) return end("failed", TOO_LATE);
  const reading = readCommand(row.text);
  if (reading.kind === "none") {
    // Recorded as a trade of unknown action.
    const { reason } = reading;
    const tradeId = await recordUnreadable(ctx, { userId, mentionId: row._id, error: reason });
    await ctx.db.patch("mentions", row._id, { tradeId });
    return end("ignored", reason);
  }
  if (!(reading.confidence > Number(getSetting("SOCIAL_TRADE_CONFIDENCE"))))
    return end(
      "ignored",
      "It is not certain enough what the post asks for: write only the command, such as: buy 10 USD of ETH",
    );
  if (isOn("TRADING_PAUSED")) return end("failed", "Sends and swaps are paused");
  const { command } = reading;
  if (command.recipient !== null) {
    const address = toChecksum(command.recipient);
    const listed = address === null ? null : await findRecipient(ctx, userId, address);
    if (listed === null || listed.countsFrom > now)
      return end(
        "ignored",
        "The recipient is not on the user's list, or was added less than two hours ago: add it, and wait two hours",
      );
  }
  const wallet = await findWallet(ctx, userId, "custody");
  return wallet === null
    ? end("failed", "No wallet was found for this user: connect first")
    : { userId, command, wallet };
}

/** Ends a mention as its trade has ended. */
export const settleMention = defineMutation({ mentionId: v.id("mentions") }, async (ctx, { mentionId }) => {
  const row = await ctx.db.get("mentions", mentionId);
  const trade = row?.tradeId === undefined ? null : await ctx.db.get("orders", row.tradeId);
  if (trade === null || !isEnded(trade)) return;
  const { error: reason } = trade;
  await endMention(
    ctx,
    mentionId,
    reason === undefined ? { status: "processed" } : { status: "failed", reason },
  );
});

/** Ends a mention after a failed attempt, unless another attempt may succeed. */
export const failMention = defineMutation(
  { mentionId: v.id("mentions"), ...vFailure },
  async (ctx, { mentionId, error, code, isLast }) => {
    if (!isLast && (code === undefined || code === "upstream")) return;
    const row = await ctx.db.get("mentions", mentionId);
    if (row === null) return;
    const isKnown = code !== undefined && isErrorCode(code);
    const why = isKnown
      ? { reason: error, words: explainRefusal({ code, message: error }) }
      : { reason: "Internal error", words: "Something went wrong on my side." };
    const isLate = Date.now() - row.receivedAt > PATIENCE_MS;
    // A refusal by a cap is the author's own rule, and no failure.
    const status = code === "invalid_request" || code === "rate_limited" ? "ignored" : "failed";
    await endMention(ctx, mentionId, { status, ...(isLate ? { reason: TOO_LATE } : why) });
  },
);

/** `words`: the reason as the author reads it, where it differs from the stored one. */
type Ending = { status: Exclude<MentionStatus, "pending">; reason?: string; words?: string };

/** Ends a pending mention and notifies its author's user. Idempotent. */
async function endMention(
  ctx: MutationCtx,
  mentionId: Id<"mentions">,
  { status, reason, words = reason }: Ending,
): Promise<void> {
  const row = await ctx.db.get("mentions", mentionId);
  if (row === null || row.status !== "pending") return;
  const said = reason === undefined ? {} : { reason };
  await ctx.db.patch("mentions", mentionId, { status, ...said, endedAt: Date.now() });
  await cancel(ctx, mentionId);
  if (row.userId === undefined) return;
  const trade = row.tradeId === undefined ? null : await ctx.db.get("orders", row.tradeId);
  await enqueueCard(ctx, {
    userId: row.userId,
    kind: "mention",
    paragraphs: buildMentionCard(row, { status, reason: words }, trade),
  });
}
