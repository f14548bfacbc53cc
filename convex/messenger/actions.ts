import type { FunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { optional } from "../lib/env";
import { messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { takeNoted } from "../lib/outside/calls";
import { open } from "../lib/security/seals";
import { iso, MINUTE } from "../lib/time";
import { worker } from "../lib/worker";
import { isReachable, sendMessage } from "../providers/messenger";
import { postWebhook } from "../providers/webhooks";
import type { Step, Try } from "./outbox";
import { botTokenSeal, type Picture } from "./tables";
import { vLane, type Result, type Try as Post } from "./webhooks/events";
import { secretSeal } from "./webhooks/tables";

/** What is sent: cards, and posts to webhooks. */

/** Delivers one card: claims it, sends part after part, and stores the outcome of each. */
export const deliver = worker({ messageId: v.id("messages") }, async (ctx, work) => {
  const advance = (step: Step | null): Promise<Try | null> =>
    ctx.runMutation(internal.messenger.outbox.advance, { ...work, step, noted: takeNoted() });
  for (let next = await advance(null); next !== null;) next = await advance(await stepOf(ctx, next));
});

/** Sends the next part, by the user's own bot or the default one; the default chat only by the default bot. */
async function stepOf(ctx: ActionCtx, next: Try): Promise<Step> {
  const { userId, sealedBotToken, picture, part } = next;
  let botToken: string | undefined;
  try {
    const own = sealedBotToken === null ? undefined : await open(sealedBotToken, botTokenSeal(userId));
    botToken = own ?? optional("MESSENGER_BOT_TOKEN");
  } catch (error) {
    return { kind: "refused", status: 403, reason: messageOf(error) };
  }
  const chatId = next.chatId ?? (sealedBotToken === null ? optional("MESSENGER_CHAT_ID") : undefined);
  const skip = (reason: string): Step => ({ kind: "skipped", reason });
  if (botToken === undefined) return skip("No bot is configured: set messengerBotToken and messengerChatId");
  if (chatId === undefined) return skip("No chat is configured: set messengerChatId");
  // A second send in doubt has to count: it waits until the messenger answers.
  if (next.patienceMs !== null && !(await isReachable(botToken)))
    return { kind: "wait", retryAfterMs: next.patienceMs, reason: "The messenger cannot be reached" };
  const png = picture === null ? null : await drawingOf(ctx, picture);
  // Nothing was sent: the card follows as text, as where the messenger refuses its picture.
  if (picture !== null && png === null)
    return { kind: "refused", status: 400, reason: "There is no picture" };
  const { threadId, buttons, edits } = next;
  return sendMessage(botToken, { chatId, threadId, text: part, png, buttons, edits });
}

/** The picture; `null` if there is nothing to draw, or drawing failed. */
async function drawingOf(ctx: ActionCtx, { handle, subject }: Picture): Promise<ArrayBuffer | null> {
  const drawing = handle as FunctionHandle<"action", { subject: string }, ArrayBuffer | null>;
  try {
    return await ctx.runAction(drawing, { subject });
  } catch (error) {
    log.error("messenger.undrawn", { error: messageOf(error) });
    return null;
  }
}

/** No batch begins later than this, so that the work has ended before its lease does. */
const WORKS_FOR_MS = 5 * MINUTE;

/** Posts everything due in a lane, batch after batch. */
export const carry = worker({ lane: vLane }, async (ctx, { lane }) => {
  const until = Date.now() + WORKS_FOR_MS;
  for (let now = Date.now(); now < until; now = Date.now()) {
    const posts: Post[] = await ctx.runQuery(internal.messenger.webhooks.events.batch, { lane, now });
    if (posts.length === 0) return "over";
    const results = await Promise.all(posts.map(attempt));
    await ctx.runMutation(internal.messenger.webhooks.events.mark, { results });
  }
  return "over";
});

async function attempt({ postId, tries, event, webhook }: Post): Promise<Result> {
  const attempted = { postId, tries };
  if (webhook === null) return { ...attempted, kind: "gone" };
  const { id, type, timestamp, data } = event;
  const body = `{"type":"${type}","timestamp":"${iso(timestamp)}","data":${data}}`;
  try {
    const secret = await open(webhook.sealedSigning, secretSeal(webhook));
    return { ...attempted, ...(await postWebhook({ url: webhook.url, secret, id, body })) };
  } catch (error) {
    return { ...attempted, kind: "failed", problem: messageOf(error) };
  }
}
