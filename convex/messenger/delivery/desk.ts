import type { FunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { optional } from "../../lib/env";
import { messageOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { takeNoted } from "../../lib/outside/notes";
import { open } from "../../lib/security/seals";
import { worker } from "../../lib/work/desk";
import { isReachable, sendMessage, sendPhoto } from "../../providers/messenger";
import { botTokenSeal } from "../model";
import type { Picture } from "../tables";
import type { Step, Try } from "./outbox";

/** Delivers one card: claims it, sends part after part, and stores the outcome of each. */
export const deliver = worker({ messageId: v.id("messages") }, async (ctx, work) => {
  const advance = (step: Step | null): Promise<Try | null> =>
    ctx.runMutation(internal.messenger.delivery.outbox.advance, { ...work, step, noted: takeNoted() });
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
    return { kind: "closed", state: "failed", reason: messageOf(error) };
  }
  const chatId = next.chatId ?? (sealedBotToken === null ? optional("MESSENGER_CHAT_ID") : undefined);
  const skip = (reason: string): Step => ({ kind: "closed", state: "skipped", reason });
  if (botToken === undefined) return skip("No bot is configured: set messengerBotToken and messengerChatId");
  if (chatId === undefined) return skip("No chat is configured: set messengerChatId");
  // A second send in doubt has to count: it waits until the messenger answers.
  if (next.isDoubtful && !(await isReachable(botToken))) return { kind: "away" };
  const to = { chatId, threadId: next.threadId, keyboard: next.keyboard, edits: next.edits };
  if (picture === null) return sendMessage(botToken, { ...to, text: part });
  const png = await drawingOf(ctx, picture);
  return png === null ? { kind: "undrawn" } : sendPhoto(botToken, { ...to, png, caption: part });
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
