import * as z from "zod";
import type { SendOutcome } from "./sendOutcome";
import { deadlines } from "../lib/outside/deadlines";
import { setting } from "../lib/env";
import { cut } from "../lib/text/strings";
import { SECOND } from "../lib/time";
import { answered, askProvider, bodyOf, postJson, type Exchange } from "./call";

const UPSTREAM = "The messenger";

/**
 * The messenger's Bot API (core.telegram.org/bots/api). The bot token is part of the address, so addresses are never
 * logged and never part of an error.
 */

const answerShape = z.union([
  z.object({
    ok: z.literal(true),
    result: z.object({ message_id: z.int() }).optional().catch(undefined),
  }),
  z.object({
    ok: z.literal(false),
    description: z.string().optional(),
    parameters: z
      .object({
        retry_after: z.number().optional(),
        migrate_to_chat_id: z.union([z.number(), z.string()]).optional(),
      })
      .nullish(),
  }),
]);

/** The token as one path segment: its owner chose the characters, and none may lead to another address. */
function pathSegment(botToken: string): string {
  return encodeURIComponent(botToken).replaceAll("%3A", ":");
}

type Keyboard = readonly (readonly object[])[];

/**
 * Sends one message, or replaces another; repeating a replacement changes nothing.
 * @param text At most 4,096 characters after parsing; HTML if `html` is true, otherwise plain text.
 * @param keyboard Rows of buttons; [] for none.
 * @param edits The messenger's id of the message to replace.
 */
export async function sendMessage(
  botToken: string,
  message: { chatId: string; text: string; html: boolean; keyboard: Keyboard; edits: Place | null },
): Promise<SendOutcome> {
  const { edits, text } = message;
  const isCaption = edits?.isPicture === true;
  const body = {
    chat_id: message.chatId,
    ...(isCaption ? { caption: text } : { text, link_preview_options: { is_disabled: true } }),
    ...(message.html ? { parse_mode: "HTML" } : {}),
    ...(message.keyboard.length === 0 ? {} : { reply_markup: { inline_keyboard: message.keyboard } }),
  };
  if (edits === null) return outcomeOf(await askMethod(botToken, "sendMessage", postJson(body)));
  const method = isCaption ? "editMessageCaption" : "editMessageText";
  const edit = postJson({ ...body, message_id: edits.messageId });
  return edited(outcomeOf(await askMethod(botToken, method, edit)), edits);
}

/** The message to replace: its words are a text, or the caption of a picture. */
type Place = { messageId: number; isPicture: boolean };

/** A replacement with the same content counts as done. */
function edited(outcome: SendOutcome, { messageId }: Place): SendOutcome {
  const isThere = outcome.kind === "refused" && /message is not modified/i.test(outcome.reason);
  return isThere ? { kind: "sent", messageId } : outcome;
}

/**
 * Sends one picture, or replaces another message by it.
 * @param caption At most 1,024 characters after parsing, or ""; HTML if `html` is true, otherwise plain text.
 */
export async function sendPhoto(
  botToken: string,
  message: {
    chatId: string;
    png: ArrayBuffer;
    caption: string;
    html: boolean;
    keyboard: Keyboard;
    edits: Place | null;
  },
): Promise<SendOutcome> {
  const form = new FormData();
  const { edits } = message;
  form.set("chat_id", message.chatId);
  // A File with its own name: the platform loses the type of a Blob that is named here.
  form.set("photo", new File([message.png], "picture.png", { type: "image/png" }));
  const words: [string, string][] = message.caption === "" ? [] : [["caption", message.caption]];
  if (message.caption !== "" && message.html) words.push(["parse_mode", "HTML"]);
  if (edits === null) for (const [field, value] of words) form.set(field, value);
  else {
    form.set("message_id", String(edits.messageId));
    const media = { type: "photo", media: "attach://photo", ...Object.fromEntries(words) };
    form.set("media", JSON.stringify(media));
  }
  if (message.keyboard.length > 0) {
    form.set("reply_markup", JSON.stringify({ inline_keyboard: message.keyboard }));
  }
  const method = edits === null ? "sendPhoto" : "editMessageMedia";
  const outcome = outcomeOf(await askMethod(botToken, method, { method: "POST", body: form }));
  return edits === null ? outcome : edited(outcome, edits);
}

function askMethod(botToken: string, method: string, init: RequestInit): Promise<Exchange> {
  const url = `${setting("MESSENGER_API_URL")}/bot${pathSegment(botToken)}/${method}`;
  return askProvider("messenger", url, init, deadlines.messenger);
}

function outcomeOf(result: Exchange): SendOutcome {
  if (result.kind === "timeout") return { kind: "uncertain", reason: "The messenger did not answer in time" };
  if (result.kind === "unreachable")
    return { kind: "uncertain", reason: "The messenger could not be reached" };

  const parsed = answerShape.safeParse(result.body);
  if (parsed.success && parsed.data.ok) {
    return { kind: "sent", messageId: parsed.data.result?.message_id ?? null };
  }
  const failure = parsed.success && !parsed.data.ok ? parsed.data : undefined;
  const description = failure?.description;
  const reason =
    description === undefined ? `The messenger answered with status ${result.status}` : cut(description, 200);
  if (result.status === 429) {
    return { kind: "wait", retryAfterMs: (failure?.parameters?.retry_after ?? 5) * SECOND, reason };
  }
  if (result.status >= 500 || result.status < 400) return { kind: "uncertain", reason };
  const migratedTo = failure?.parameters?.migrate_to_chat_id;
  if (migratedTo !== undefined) return { kind: "migrated", chatId: String(migratedTo) };
  if (/can't parse entities/i.test(reason)) return { kind: "unparsable", reason };
  return { kind: "refused", status: result.status, reason };
}

/** Shows for five seconds, or until its next message, that the bot is typing. Failures are ignored. */
export async function showTyping(botToken: string, chatId: string): Promise<void> {
  await askMethod(botToken, "sendChatAction", postJson({ chat_id: chatId, action: "typing" }));
}

/** Whether the messenger can be reached: a harmless call, before a doubtful message is sent again. */
export async function isReachable(botToken: string): Promise<boolean> {
  const result = await askMethod(botToken, "getMe", { method: "GET" });
  return result.kind === "answer" && result.status < 500;
}

const meShape = z.object({ result: z.object({ username: z.string() }) });

/** The bot's name in the messenger, without the @; `null` if the messenger does not know the token. @throws AppError `upstream` */
export async function botUsername(botToken: string): Promise<string | null> {
  const answer = answered(UPSTREAM, await askMethod(botToken, "getMe", { method: "GET" }));
  if (answer.status === 401 || answer.status === 404) return null;
  return bodyOf(UPSTREAM, answer, meShape).result.username;
}
