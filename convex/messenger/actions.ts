import type { FunctionHandle } from "convex/server";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getOptional } from "../lib/env";
import { getErrorMessage } from "../lib/errors";
import { log } from "../lib/log";
import { takeUsage } from "../platform/outside/calls";
import { openSeal } from "../lib/seals";
import { toIso, MINUTE, SECOND, sleep } from "../lib/time";
import { defineWorker } from "../platform/worker";
import { isReachable, sendMessage, type SentFile } from "../providers/messenger";
import { postWebhook } from "../providers/webhooks";
import type { SendOutcome } from "../providers/sendOutcome";
import type { Part, PartOutcome } from "./delivery";
import { deriveSecretText } from "./model";
import type { SendStep, SendAttempt } from "./outbox";
import { getBotTokenSeal, SECRET_MARK, type Picture } from "./tables";
import { vLane, type PostResult, type PostAttempt as Post } from "./webhooks/events";
import { getSecretSeal } from "./webhooks/tables";

/** Sends cards, and posts events to webhooks. */

/** How many cards are under way at once. */
const UNDER_WAY = 25;
/** Between two parts: the messenger takes 30 messages a second of a bot. */
const PACE_MS = 40;
/** Outcomes that come within this time are stored together. */
const GATHER_MS = 200;
/** How soon a card that was queued meanwhile begins where every part under way takes long. */
const LOOK_MS = SECOND;

/** Delivers every card that is due, many at once: sends part after part, and stores the outcomes. */
export const deliverCards = defineWorker({}, async (ctx, { job }) => {
  const until = Date.now() + WORKS_FOR_MS;
  const underWay = new Set<Promise<void>>();
  const chats = new Set<string>();
  const pictures: Pictures = new Map();
  const outcomes: PartOutcome[] = [];
  let freeAt = 0;
  const begin = async ({ messageId, chat, ...attempt }: Part): Promise<void> => {
    const at = Math.max(Date.now(), freeAt);
    freeAt = at + PACE_MS;
    await sleep(at - Date.now());
    outcomes.push({ messageId, chat, step: await sendPart(ctx, attempt, pictures) });
    chats.delete(chat);
  };
  for (let isFirst = true; isFirst || underWay.size > 0; isFirst = false) {
    if (!isFirst) await Promise.race([...underWay, sleep(LOOK_MS)]);
    if (underWay.size > 1) await sleep(GATHER_MS);
    const parts: Part[] = await ctx.runMutation(internal.messenger.delivery.advanceCards, {
      job,
      outcomes: outcomes.splice(0),
      underWay: [...chats],
      isFirst,
      most: Date.now() < until ? UNDER_WAY : 0,
      usage: takeUsage(),
    });
    for (const part of parts) {
      chats.add(part.chat);
      const sending = begin(part).finally(() => underWay.delete(sending));
      underWay.add(sending);
    }
  }
});

/** Sends the next part, by the user's own bot or the default one; the default chat only by the default bot. */
async function sendPart(ctx: ActionCtx, next: SendAttempt, pictures: Pictures): Promise<SendStep> {
  const { userId, sealedBotToken, picture, part } = next;
  let botToken: string | undefined;
  let text: string;
  try {
    const ownToken =
      sealedBotToken === null ? undefined : await openSeal(sealedBotToken, getBotTokenSeal(userId));
    botToken = ownToken ?? getOptional("MESSENGER_BOT_TOKEN");
    text = next.secret === null ? part : part.replace(SECRET_MARK, deriveSecretText(next.secret));
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
  const { threadId, buttons, edits } = next;
  const send = (file: SentFile | null) =>
    sendMessage(botToken, { chatId, threadId, text, file, buttons, edits });
  return picture === null ? send(null) : sendPicture(ctx, pictures, botToken, picture, send);
}

/**
 * The pictures of a delivery by bot and picture: the messenger's id, "" for one that cannot be drawn, `null` while it has
 * none.
 */
type Pictures = Map<string, Promise<string | null>>;

/**
 * Sends a picture: it is drawn and uploaded once, and its other readers get the messenger's own copy. Another file is made
 * for its reader alone.
 */
async function sendPicture(
  ctx: ActionCtx,
  pictures: Pictures,
  botToken: string,
  picture: Picture,
  send: (file: SentFile) => Promise<SendOutcome>,
): Promise<SendOutcome> {
  const { handle, subject, file: name } = picture;
  let uploaded: SendOutcome | null = null;
  const upload = async (): Promise<string | null> => {
    const bytes = await draw(ctx, picture);
    if (bytes === null) return "";
    uploaded = await send({ bytes, name });
    return uploaded.kind === "sent" ? (uploaded.fileId ?? null) : null;
  };
  const key = [botToken, handle, subject].join(" ");
  const before = name === undefined ? pictures.get(key) : undefined;
  const sent = (before ?? Promise.resolve(null)).then((fileId) => fileId ?? upload());
  if (name === undefined) pictures.set(key, sent);
  const fileId = await sent;
  if (uploaded !== null) return uploaded;
  return fileId === null || fileId === "" ? NO_PICTURE : send({ fileId });
}

/** A card's picture or file; `null` if there is none, or its function failed. */
async function draw(
  ctx: ActionCtx,
  { handle, subject }: Pick<Picture, "handle" | "subject">,
): Promise<ArrayBuffer | null> {
  const drawing = handle as FunctionHandle<"action", { subject: string }, ArrayBuffer | null>;
  try {
    return await ctx.runAction(drawing, { subject });
  } catch (error) {
    log.error("messenger.undrawn", { error: getErrorMessage(error) });
    return null;
  }
}

/** Nothing was sent: the text follows, as where the messenger refuses a picture. */
const NO_PICTURE = { kind: "refused", status: 400, reason: "There is no picture" } as const;

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
