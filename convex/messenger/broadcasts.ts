import { getOneFrom } from "convex-helpers/server/relationships";
import { parse } from "convex-helpers/validators";
import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { isSet } from "../lib/env";
import { HOUR, SECOND } from "../lib/time";
import { flushUsage, vProviderUsage } from "../platform/outside/calls";
import { completeWork, enqueueWork, getRunningWork, snoozeWork, vJob } from "../platform/work";
import { vSendOutcome, type SendOutcome } from "../providers/sendOutcome";
import { renderCard, withPicture } from "./format";
import { enqueueServiceCard, isDelivering, type OutgoingCard } from "./model";
import { getNextState, moveChat } from "./outbox";
import { findSubscription, isReceiver, noteTaken } from "./subscriptions";
import { messengerTables, vButtons, vPicture, type Topic } from "./tables";

/**
 * News for every chat that subscribes to its topic: one piece of work an event, chat after chat in the order of their ids.
 * Each chat's outcome is stored before the next one is sent anything, so a lost attempt repeats at most the message that it
 * was sending. Every other card goes first.
 */

type Broadcast = Doc<"broadcasts">;
type Turn = NonNullable<Broadcast["turn"]>;

/** The most messages to one chat, repeated ones included. */
const MOST_CALLS = 3;
/** Later it is no news. */
const NEWS_MS = 6 * HOUR;
/** While other cards are delivered, it looks so often whether that has ended: both share the bot's 30 messages a second. */
const FOR_CARDS_MS = SECOND;
/** How many chats one transaction looks at to find the next one that gets the card. */
const MOST_LOOKS = 500;

/** Sends news to the service's own chat, and begins its broadcast, in the transaction that decides it. */
export async function announce(
  ctx: MutationCtx,
  topic: Topic,
  card: Omit<OutgoingCard, "userId" | "chatId">,
): Promise<void> {
  await enqueueServiceCard(ctx, card);
  if (!isSet("MESSENGER_BOT_TOKEN") || (await ctx.db.query("subscriptions").first()) === null) return;
  const { paragraphs, picture } = card;
  const rendered = renderCard(paragraphs);
  const content = picture === undefined ? { parts: rendered } : { parts: withPicture(rendered), picture };
  const broadcastId = await ctx.db.insert("broadcasts", { topic, ...content, cursor: "" });
  const terms = { queue: "broadcasts", until: Date.now() + NEWS_MS } as const;
  await enqueueWork(ctx, internal.messenger.actions.sendBroadcast, { broadcastId }, terms);
}

const vNewsAttempt = v.object({
  chatId: v.string(),
  threadId: v.union(v.number(), v.null()),
  part: v.string(),
  /** To draw, or the messenger's id of it. */
  picture: v.union(vPicture, v.string(), v.null()),
  buttons: vButtons,
});
export type NewsAttempt = Infer<typeof vNewsAttempt>;

/**
 * Stores the outcome of the call under way (`null` at the beginning of an attempt), and begins the next one.
 * @returns `null` if there is none now: the broadcast has ended, waits, or gives other cards the place.
 */
export const advanceBroadcast = internalMutation({
  args: {
    broadcastId: v.id("broadcasts"),
    job: vJob,
    outcome: v.union(vSendOutcome, v.null()),
    /** `null` without one. */
    serviceChat: v.union(v.string(), v.null()),
    /** Ends the attempt, to go on after so many ms. */
    restMs: v.optional(v.number()),
    usage: vProviderUsage,
  },
  returns: v.union(vNewsAttempt, v.null()),
  handler: async (ctx, { broadcastId, job, outcome, serviceChat, restMs = -1, usage }) => {
    await flushUsage(ctx, usage);
    if ((await getRunningWork(ctx, job)) === null) return null;
    const before = await ctx.db.get("broadcasts", broadcastId);
    if (before?.turn !== undefined && outcome !== null) await storeOutcome(ctx, before, before.turn, outcome);
    const row = await ctx.db.get("broadcasts", broadcastId);
    const cardsMs = (await isDelivering(ctx)) ? FOR_CARDS_MS : 0;
    const waitMs = Math.max(restMs, cardsMs, (row?.turn?.dueAt ?? 0) - Date.now());
    const isWaiting = restMs >= 0 || waitMs > 0;
    const turn = row === null ? null : isWaiting ? "later" : await findTurn(ctx, row, serviceChat);
    if (row !== null && turn !== null && turn !== "later") return beginCall(ctx, row, turn);
    if (turn === "later") await snoozeWork(ctx, job, Math.max(0, waitMs));
    else await completeWork(ctx, job);
    if (row !== null && turn === null) await ctx.db.delete("broadcasts", row._id);
    return null;
  },
});

/** Stores the outcome of a call, by the rules of the outbox; at the end of the turn, whether the chat takes cards. */
async function storeOutcome(
  ctx: MutationCtx,
  { _id, cursor, ...row }: Broadcast,
  before: Turn,
  outcome: SendOutcome,
): Promise<void> {
  const turn = { ...before, ...getNextState(before, outcome, Date.now()) };
  if (outcome.kind === "migrated") await moveChat(ctx, before.chatId, outcome.chatId);
  const hasEnded = turn.state === "sent" || turn.state === "failed" || turn.calls >= MOST_CALLS;
  const subscription = await findSubscription(ctx, turn.chatId);
  if (hasEnded && subscription !== null && (turn.state === "sent" || outcome.kind === "refused"))
    await noteTaken(ctx, subscription, turn.state === "sent");
  // A chat whose new id is further on has its turn there.
  const isOver = hasEnded || turn.chatId > cursor;
  const fileId = row.fileId ?? (outcome.kind === "sent" ? outcome.fileId : undefined);
  await ctx.db.patch("broadcasts", _id, { fileId, turn: isOver ? undefined : parse(vTurn, turn) });
}

const vTurn = messengerTables.broadcasts.validator.fields.turn;

/**
 * The turn that goes on or begins next; `null` if every chat has had its turn, or the news is too old; `later` if many chats
 * were passed over.
 */
async function findTurn(
  ctx: MutationCtx,
  { _id, _creationTime, topic, turn, cursor, parts, picture }: Broadcast,
  serviceChat: string | null,
): Promise<Turn | "later" | null> {
  const now = Date.now();
  if (now - _creationTime > NEWS_MS) return null;
  const moved = await getOneFrom(ctx.db, "chatMoves", "by_from", serviceChat ?? "");
  const terms = { topic, serviceChat: moved?.to ?? serviceChat, now };
  // It may have been switched off since, or have used up its calls with a lost attempt.
  const current = turn === undefined ? null : await findSubscription(ctx, turn.chatId);
  if (turn !== undefined && turn.calls < MOST_CALLS && current !== null && isReceiver(current, terms))
    return turn;
  let looks = 0;
  const chats = ctx.db.query("subscriptions").withIndex("by_chatId", (q) => q.gt("chatId", cursor));
  for await (const one of chats) {
    if (!isReceiver(one, terms) && ++looks < MOST_LOOKS) continue;
    const { chatId, threadId } = one;
    await ctx.db.patch("broadcasts", _id, { cursor: chatId });
    if (looks === MOST_LOOKS) return "later";
    const content = { parts, ...(picture === undefined ? {} : { picture }) };
    const place = { chatId, ...(threadId === undefined ? {} : { threadId }) };
    const begun = {
      partsSent: 0,
      state: "queued",
      dueAt: now,
      doubts: 0,
      postponements: 0,
      calls: 0,
    } as const;
    return { ...place, ...content, ...begun };
  }
  return null;
}

async function beginCall(
  ctx: MutationCtx,
  { _id, topic, fileId }: Broadcast,
  turn: Turn,
): Promise<NewsAttempt> {
  const { chatId, threadId = null, parts, partsSent, picture = null, calls } = turn;
  // Counted before it is made, so that the call of a lost attempt counts, too.
  await ctx.db.patch("broadcasts", _id, { turn: { ...turn, calls: calls + 1 } });
  const isLast = partsSent === parts.length - 1;
  return {
    chatId,
    threadId,
    part: parts[partsSent] ?? "",
    picture: partsSent > 0 || picture === null ? null : (fileId ?? picture),
    buttons: isLast ? [[{ text: "🔕 Stop these", command: `unsubscribe ${topic}` }]] : [],
  };
}
