import type { FunctionHandle } from "convex/server";
import { getOneFrom } from "convex-helpers/server/relationships";
import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { getOptional } from "../lib/env";
import { getErrorMessage } from "../lib/errors";
import { hasLeft } from "../platform/limits/charges";
import { log } from "../lib/log";
import { applyChange } from "../lib/objects";
import { NOBODY } from "../platform/records";
import { DAY, MINUTE, SECOND } from "../lib/time";
import { markUnconfirmed } from "./format";
import {
  ANSWER,
  findConfig,
  findFormerLink,
  findLinkedChat,
  NOTIFICATION,
  parsePlace,
  findUserOfMessenger,
} from "./model";
import { isNewsTo, moveSubscription, recordAcceptance } from "./subscriptions";
import { vButtons, vPicture, vReplaced, vSecret } from "./tables";
import { vSendOutcome } from "../providers/sendOutcome";

/** A card after it was queued: its state after each attempt, and its storage. `messenger/delivery` takes the cards. */

/*
 * The state after an attempt. Pure.
 *
 * The messenger has no idempotency key, so a part whose outcome is unknown (a timeout, a broken connection, a server
 * error, an attempt that was cut off before it stored the outcome) is sent once more and never a third time.
 *
 * A picture is sent with the first part. If it cannot be drawn or the messenger refuses it, the card is sent as text.
 * Where the message to replace, or the topic, is gone, the card is a message of its own in the chat.
 */

type Row = Pick<
  Doc<"messages">,
  "parts" | "partsSent" | "picture" | "replaces" | "threadId" | "state" | "dueAt" | "doubts" | "postponements"
>;
/** What changes of a row; `undefined` removes a field. */
type Change = Partial<Omit<Row, "picture" | "replaces" | "threadId">> &
  Partial<Pick<Doc<"messages">, "error" | "sentAt" | "chatId">> & {
    [Gone in "picture" | "replaces" | "threadId"]?: undefined;
  };

/** The outcome of an attempt at the next part. */
export const vSendStep = v.union(
  ...vSendOutcome.members,
  /** No bot or no chat is configured. */
  v.object({ kind: v.literal("skipped"), reason: v.string() }),
);
export type SendStep = Infer<typeof vSendStep>;

const MAX_POSTPONEMENTS = 10;

/** Begins an attempt at a card; `null` if the card is settled. */
export function beginAttempt(row: Row, now: number): Change | null {
  const isCutOff = row.state === "sending";
  if (!isCutOff && row.state !== "queued") return null;
  // The last attempt never reported its outcome: its part may have arrived.
  if (isCutOff && row.doubts >= 1) return { state: "failed", error: "The delivery was interrupted twice" };
  return { state: "sending", doubts: row.doubts + (isCutOff ? 1 : 0), dueAt: now };
}

/** The card's next state after the outcome of its next part. */
export function getNextState(row: Row, step: SendStep, now: number): Change {
  switch (step.kind) {
    case "sent": {
      const moved = { partsSent: row.partsSent + 1, doubts: 0, dueAt: now };
      return moved.partsSent < row.parts.length ? moved : { ...moved, state: "sent", sentAt: now };
    }
    case "wait":
      return postpone(row, step.retryAfterMs, step.reason, now);
    case "uncertain":
      if (row.doubts >= 1) return { state: "failed", error: step.reason };
      return { ...postpone(row, getBackoffMs(row), step.reason, now), doubts: row.doubts + 1 };
    case "migrated":
      return { chatId: step.chatId, ...postpone(row, 0, "The chat has moved", now) };
    case "refused":
      return getStateAfterRefusal(row, step, now);
    case "skipped":
      return { state: "skipped", error: step.reason };
  }
}

/** Drops what the messenger may have refused in the first part, one thing at a time. */
function getStateAfterRefusal(
  row: Row,
  { status, reason }: { status: number; reason: string },
  now: number,
): Change {
  const again = () => postpone(row, 0, reason, now);
  if (status === 403) return { state: "failed", error: reason };
  if (row.threadId !== undefined && /thread|topic/i.test(reason)) return { threadId: undefined, ...again() };
  if (row.partsSent === 0 && row.picture !== undefined) return { ...withoutPicture(row), ...again() };
  if (row.partsSent === 0 && row.replaces !== undefined) return { replaces: undefined, ...again() };
  return { state: "failed", error: reason };
}

/** The card as text. A picture's empty caption is dropped. */
function withoutPicture({ parts }: Row): Change {
  return { picture: undefined, parts: parts[0] === "" ? parts.slice(1) : parts };
}

function postpone(row: Row, delayMs: number, reason: string, now: number): Change {
  if (row.postponements >= MAX_POSTPONEMENTS) return { state: "failed", error: reason };
  return { state: "queued", dueAt: now + delayMs, postponements: row.postponements + 1, error: reason };
}

/** 30 s, 1 min, 2 min, … one hour. */
function getBackoffMs({ postponements }: Pick<Row, "postponements">): number {
  return Math.min(30 * SECOND * 2 ** postponements, 60 * MINUTE);
}

export const vSendAttempt = v.object({
  userId: v.string(),
  /** The next part. */
  part: v.string(),
  /** The function that draws the picture; the part is its caption. */
  picture: v.union(vPicture, v.null()),
  /** The function that returns the secret in the part. */
  secret: v.union(vSecret, v.null()),
  buttons: vButtons,
  /** The message that the part replaces. */
  edits: v.union(vReplaced, v.null()),
  /** `null`: the default bot. */
  sealedBotToken: v.union(v.string(), v.null()),
  /** `null`: the service's own. */
  chatId: v.union(v.string(), v.null()),
  threadId: v.union(v.number(), v.null()),
  /** The pause while the messenger is unreachable, in ms, for a part that may have arrived already; `null` for any other. */
  patienceMs: v.union(v.number(), v.null()),
});
export type SendAttempt = Infer<typeof vSendAttempt>;

/**
 * Begins an attempt at a card (`step` is null), or stores the outcome of the current part.
 * @returns The next part to send, if any.
 */
export const advanceCard = internalMutation({
  args: { messageId: v.id("messages"), step: v.union(vSendStep, v.null()) },
  returns: v.union(vSendAttempt, v.null()),
  handler: async (ctx, { messageId, step }) => {
    const row = await ctx.db.get("messages", messageId);
    const isCurrent = row !== null && (step === null || row.state === "sending");
    const now = Date.now();
    const change = !isCurrent ? null : step === null ? beginAttempt(row, now) : getNextState(row, step, now);
    if (row === null || change === null) return null;
    if (step?.kind === "migrated") {
      const from = (await getRoute(ctx, row)).chatId ?? getOptional("MESSENGER_CHAT_ID");
      if (from !== undefined) await moveChat(ctx, from, step.chatId);
    }
    const isTaken = change.state === "sent";
    if (row.news !== undefined && (isTaken || (change.state === "failed" && step?.kind === "refused")))
      await recordAcceptance(ctx, row.chatId ?? "", isTaken);
    return applyStep(ctx, row, change);
  },
});

/** Stores that a group has become a supergroup under a new id, which replaces the old one wherever it is set. */
export async function moveChat(ctx: MutationCtx, from: string, to: string): Promise<void> {
  await moveSubscription(ctx, from, to);
  const earlier = await getOneFrom(ctx.db, "chatMoves", "by_from", from);
  if (earlier === null) await ctx.db.insert("chatMoves", { from, to });
  else if (earlier.to !== to) await ctx.db.patch("chatMoves", earlier._id, { to });
}

async function applyStep(
  ctx: MutationCtx,
  row: Doc<"messages">,
  change: Change,
): Promise<SendAttempt | null> {
  await ctx.db.patch("messages", row._id, change);
  const after = applyChange(row, change);
  if (after.state === "sending") return beginNextAttempt(ctx, after);
  if (after.state === "queued") {
    await ctx.scheduler.runAt(after.dueAt, internal.messenger.delivery.resumeDelivery, {});
    return null;
  }
  await settleCard(ctx, after);
  if (row.news !== undefined) await ctx.db.delete("messages", row._id);
  else if (row.sealedBotToken !== undefined || row.secret !== undefined)
    await ctx.db.patch("messages", row._id, { sealedBotToken: undefined, secret: undefined });
  return null;
}

/** The bot and chat of a card: its own chat, else the user's, else the account of the user's link. */
async function getRoute(ctx: QueryCtx, row: Doc<"messages">) {
  const config = await findConfig(ctx, row.userId);
  const linked = await findLinkedChat(ctx, row.userId);
  const sealedBotToken =
    row.bot === "default" ? null : (row.sealedBotToken ?? config?.sealedBotToken ?? null);
  const chosenChat = row.chatId ?? config?.chatId ?? linked;
  const { chatId = null, threadId } = chosenChat === null ? {} : parsePlace(chosenChat);
  const chatOrDefault =
    chatId ?? (sealedBotToken === null ? getOptional("MESSENGER_CHAT_ID") : undefined) ?? "";
  const moved = (await getOneFrom(ctx.db, "chatMoves", "by_from", chatOrDefault))?.to;
  return {
    config,
    linked,
    sealedBotToken,
    chatId: moved ?? chatId,
    threadId: row.threadId ?? threadId ?? null,
  };
}

/**
 * Whether a chat is one person's: groups and channels have a negative id or a name, and the service's own chat is the
 * operator's.
 */
function isPrivate(chatId: string | null): boolean {
  return chatId !== null && /^\d+$/.test(chatId) && chatId !== getOptional("MESSENGER_CHAT_ID");
}

async function beginNextAttempt(ctx: MutationCtx, row: Doc<"messages">): Promise<SendAttempt | null> {
  const skip = async (error: string): Promise<null> => {
    await applyStep(ctx, row, { state: "skipped", error });
    return null;
  };
  const { userId, kind, partsSent } = row;
  const { config, linked, chatId, threadId, sealedBotToken } = await getRoute(ctx, row);
  const now = Date.now();
  let part = row.parts[partsSent] ?? "";
  if (row.news !== undefined && !(await isNewsTo(ctx, chatId ?? "", row)))
    return skip("It is no news to this chat any more");
  // Cards without a user are the service's own.
  if (sealedBotToken === null && userId !== NOBODY) {
    // A chat with a confirmed link gets its user's account notices and buttons, so other users must not write to it.
    const whose = chatId === null ? null : await findUserOfMessenger(ctx, chatId);
    if (whose !== null && whose !== userId)
      return skip("The default bot does not write to this chat for this user");
    const former = (await findFormerLink(ctx, userId, now))?.messengerId;
    const isOwn = chatId !== null && (chatId === linked || chatId === former);
    if (kind !== ANSWER && !isOwn) {
      // A limit of the chat, however many users have set it.
      const isFirst = partsSent + row.doubts + row.postponements === 0;
      if (isFirst && !(await hasLeft(ctx, "namedChat", `chat:${chatId ?? "the service's own"}`)))
        return skip("This chat gets too many cards from people who named it");
      const isForeign = kind === NOTIFICATION;
      if (isForeign && !isPrivate(chatId))
        return skip("The default bot brings words of users to private chats only");
      if (isForeign && row.parts.length > 1) {
        part = `${part}\n\n…`;
        await ctx.db.patch("messages", row._id, { parts: [part] });
      }
      if (chatId !== null) part = markUnconfirmed(part, isForeign);
    }
  }
  if (config !== null && row.chatId === undefined && now - config.updatedAt > DAY)
    await ctx.db.patch("messengerConfigs", config._id, { updatedAt: now });
  return {
    userId,
    part,
    picture: partsSent === 0 ? (row.picture ?? null) : null,
    secret: partsSent === 0 ? (row.secret ?? null) : null,
    buttons: partsSent === row.parts.length - 1 ? (row.buttons ?? []) : [],
    edits: partsSent === 0 ? (row.replaces ?? null) : null,
    sealedBotToken,
    chatId,
    threadId,
    patienceMs: row.doubts > 0 ? getBackoffMs(row) : null,
  };
}

async function settleCard(ctx: MutationCtx, row: Doc<"messages">): Promise<void> {
  const sent = row.state === "sent";
  if (!sent) log.warn("messenger.unsent", { messageId: row._id, kind: row.kind, state: row.state });
  if (row.onSettled === undefined) return;
  const { subject } = row.onSettled;
  const handle = row.onSettled.handle as FunctionHandle<
    "mutation",
    { subject: string; sent: boolean; error?: string }
  >;
  const error = sent || row.error === undefined ? {} : { error: row.error };
  try {
    await ctx.runMutation(handle, { subject, sent, ...error });
  } catch (failure) {
    // A failure of the caller's function must not roll this back: a part whose outcome is lost would be sent again.
    log.error("messenger.untold", { messageId: row._id, kind: row.kind, error: getErrorMessage(failure) });
  }
}
