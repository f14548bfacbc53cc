import type { FunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getOptional, getRequired } from "../lib/env";
import { getErrorMessage } from "../lib/errors";
import { log } from "../lib/log";
import { takeUsage } from "../platform/outside/calls";
import { openSeal } from "../lib/seals";
import { toIso, MINUTE, SECOND } from "../lib/time";
import { defineWorker } from "../platform/worker";
import { findChatId, isReachable, sendMessage } from "../providers/messenger";
import { postWebhook } from "../providers/webhooks";
import type { SendOutcome } from "../providers/sendOutcome";
import type { NewsAttempt } from "./broadcasts";
import { parsePlace } from "./model";
import type { SendStep, SendAttempt } from "./outbox";
import { getBotTokenSeal, SECRET_MARK, type Picture } from "./tables";
import { vLane, type PostResult, type PostAttempt as Post } from "./webhooks/events";
import { getSecretSeal } from "./webhooks/tables";

/** Sends cards, and posts events to webhooks. */

/** Delivers one card: claims it, sends part after part, and stores the outcome of each. */
export const deliverCard = defineWorker({ messageId: v.id("messages") }, async (ctx, work) => {
  const advance = (step: SendStep | null): Promise<SendAttempt | null> =>
    ctx.runMutation(internal.messenger.outbox.advanceCard, { ...work, step, usage: takeUsage() });
  for (let next = await advance(null); next !== null;) next = await advance(await sendPart(ctx, next));
});

/** Sends the next part, by the user's own bot or the default one; the default chat only by the default bot. */
async function sendPart(ctx: ActionCtx, next: SendAttempt): Promise<SendStep> {
  const { userId, sealedBotToken, picture, part } = next;
  let botToken: string | undefined;
  try {
    const ownToken =
      sealedBotToken === null ? undefined : await openSeal(sealedBotToken, getBotTokenSeal(userId));
    botToken = ownToken ?? getOptional("MESSENGER_BOT_TOKEN");
  } catch (error) {
    return { kind: "refused", status: 403, reason: getErrorMessage(error) };
  }
  const chatId = next.chatId ?? (sealedBotToken === null ? getOptional("MESSENGER_CHAT_ID") : undefined);
  const skip = (reason: string): SendStep => ({ kind: "skipped", reason });
  if (botToken === undefined) return skip("No bot is configured: set messengerBotToken and messengerChatId");
  if (chatId === undefined) return skip("No chat is configured: set messengerChatId");
  // The second attempt after an unknown outcome is the last one: wait until the messenger is reachable.
  if (next.patienceMs !== null && !(await isReachable(botToken)))
    return { kind: "wait", retryAfterMs: next.patienceMs, reason: "The messenger cannot be reached" };
  const made = picture === null ? null : await callHandle<ArrayBuffer>(ctx, picture);
  if (picture !== null && made === null) return NO_PICTURE;
  const secret = next.secret === null ? null : await callHandle<string>(ctx, next.secret);
  if (next.secret !== null && secret === null) return skip("There is no secret");
  const { threadId, buttons, edits } = next;
  const text = secret === null ? part : part.replace(SECRET_MARK, secret);
  const file = made === null ? null : { bytes: made, name: picture?.file };
  return sendMessage(botToken, { chatId, threadId, text, file, buttons, edits });
}

/** What a card's function makes of its subject; `null` if there is nothing, or it failed. */
async function callHandle<Made>(
  ctx: ActionCtx,
  { handle, subject }: Pick<Picture, "handle" | "subject">,
): Promise<Made | null> {
  const making = handle as FunctionHandle<"action", { subject: string }, Made | null>;
  try {
    return await ctx.runAction(making, { subject });
  } catch (error) {
    log.error("messenger.unmade", { error: getErrorMessage(error) });
    return null;
  }
}

/** An attempt at a broadcast ends after this long, and gives its place to the cards that wait. */
const AT_ONCE_MS = 5 * SECOND;

/** Sends news to chat after chat, in attempts of a few seconds. Its picture is drawn once and then sent by its id. */
export const sendBroadcast = defineWorker({ broadcastId: v.id("broadcasts") }, async (ctx, work) => {
  const until = Date.now() + AT_ONCE_MS;
  const botToken = getRequired("MESSENGER_BOT_TOKEN");
  const isAway = !(await isReachable(botToken));
  const serviceChat = isAway ? null : await findServiceChat(botToken);
  const advance = (outcome: SendOutcome | null): Promise<NewsAttempt | null> => {
    const rest = isAway ? { restMs: MINUTE } : Date.now() >= until ? { restMs: 0 } : {};
    const stored = { ...work, ...rest, outcome, serviceChat, usage: takeUsage() };
    return ctx.runMutation(internal.messenger.broadcasts.advanceBroadcast, stored);
  };
  let png: ArrayBuffer | null = null;
  for (let next = await advance(null); next !== null;) {
    const { chatId, threadId, part: text, buttons } = next;
    const asked = next.picture;
    if (asked !== null && typeof asked !== "string") png ??= await callHandle<ArrayBuffer>(ctx, asked);
    const drawn = asked === null || png === null ? null : { bytes: png, name: undefined };
    const file = typeof asked === "string" ? { fileId: asked } : drawn;
    const isMissing = asked !== null && file === null;
    const message = { chatId, threadId, text, file, buttons, edits: null };
    next = await advance(isMissing ? NO_PICTURE : await sendMessage(botToken, message));
  }
});

/** Nothing was sent: the text follows, as where the messenger refuses a picture. */
const NO_PICTURE = { kind: "refused", status: 400, reason: "There is no picture" } as const;

/** The id of the service's own chat, which may be set by its public name; `null` without one. */
async function findServiceChat(botToken: string): Promise<string | null> {
  const { chatId } = parsePlace(getOptional("MESSENGER_CHAT_ID") ?? "");
  return chatId.startsWith("@") ? findChatId(botToken, chatId) : chatId === "" ? null : chatId;
}

/** No batch starts later than this, so that the work ends before its lease does. */
const WORKS_FOR_MS = 5 * MINUTE;

/** Posts the due events of a lane, batch after batch. */
export const postEvents = defineWorker({ lane: vLane }, async (ctx, { lane }) => {
  const until = Date.now() + WORKS_FOR_MS;
  for (let now = Date.now(); now < until; now = Date.now()) {
    const posts: Post[] = await ctx.runQuery(internal.messenger.webhooks.events.getNextBatch, { lane, now });
    if (posts.length === 0) return "over";
    const results = await Promise.all(posts.map(attempt));
    await ctx.runMutation(internal.messenger.webhooks.events.storePostResults, { results });
  }
  return "over";
});

async function attempt({ postId, tries, event, webhook }: Post): Promise<PostResult> {
  const attempted = { postId, tries };
  if (webhook === null) return { ...attempted, kind: "gone" };
  const { id, type, timestamp, data } = event;
  const body = `{"type":"${type}","timestamp":"${toIso(timestamp)}","data":${data}}`;
  try {
    const secret = await openSeal(webhook.sealedSigning, getSecretSeal(webhook));
    return { ...attempted, ...(await postWebhook({ url: webhook.url, secret, id, body })) };
  } catch (error) {
    return { ...attempted, kind: "failed", problem: getErrorMessage(error) };
  }
}
