import * as z from "zod";
import type { SendOutcome } from "./sendOutcome";
import { deadlines } from "../platform/outside/deadlines";
import { getSetting } from "../lib/env";
import { cut } from "../lib/text/strings";
import { SECOND } from "../lib/time";
import { requireAnswer, askProvider, noAnswerError, parseBody, buildJsonPost, type Exchange } from "./call";

const UPSTREAM = "The messenger";

/**
 * The messenger's Bot API (core.telegram.org/bots/api). The bot token is part of the address, so addresses are never
 * logged and never part of an error.
 */

const answerShape = z.object({
  ok: z.boolean(),
  description: z.string().optional(),
  parameters: z
    .object({
      retry_after: z.number().optional(),
      migrate_to_chat_id: z.union([z.number(), z.string()]).optional(),
    })
    .nullish(),
  /** Of a message with a picture: its sizes, of which any id stands for the picture. */
  result: z
    .object({ photo: z.array(z.object({ file_id: z.string() })) })
    .optional()
    .catch(undefined),
});

/** The token as one path segment: its owner chose the characters, and none may lead to another address. */
function encodePathSegment(botToken: string): string {
  return encodeURIComponent(botToken).replaceAll("%3A", ":");
}

/** It opens a page, or sends a command; `callback_data` has at most 64 bytes, and is not trusted. */
type Button = { text: string } & ({ href: string } | { command: string });

/** The message to replace: its words are a text, or the caption of a picture. */
type Replaced = { messageId: number; isPicture: boolean };

/** A picture or another file (`name`), or a picture by the messenger's id of it for this bot. */
export type SentFile = { bytes: ArrayBuffer; name: string | undefined } | { fileId: string };

type Message = {
  chatId: string;
  /** The topic in the chat; `null` for none. */
  threadId: number | null;
  /** HTML, at most 4,096 characters after parsing; below a picture at most 1,024, or "". */
  text: string;
  /** Sent with it. */
  file: SentFile | null;
  /** Rows of them. */
  buttons: readonly (readonly Button[])[];
  /** The message to replace; repeating a replacement changes nothing. */
  edits: Replaced | null;
};

/** Sends one message, or replaces another. */
export async function sendMessage(botToken: string, message: Message): Promise<SendOutcome> {
  const outcome = toSendOutcome(await askMethod(botToken, chooseMethod(message), buildBody(message)));
  const isThere = outcome.kind === "refused" && /message is not modified/i.test(outcome.reason);
  // A replacement with the same content counts as done.
  return message.edits !== null && isThere ? { kind: "sent" } : outcome;
}

function chooseMethod({ file, edits }: Message): string {
  const isPicture = file !== null && ("fileId" in file || file.name === undefined);
  if (edits === null) return file === null ? "sendMessage" : isPicture ? "sendPhoto" : "sendDocument";
  if (file !== null) return "editMessageMedia";
  return edits.isPicture ? "editMessageCaption" : "editMessageText";
}

function buildBody(message: Message): RequestInit {
  const { text, file, edits } = message;
  const where = { ...buildAddress(message), ...buildKeyboard(message) };
  const caption = text === "" ? {} : { caption: text, parse_mode: "HTML" };
  if (file === null) {
    const textFields = { text, parse_mode: "HTML", link_preview_options: { is_disabled: true } };
    return buildJsonPost({ ...where, ...(edits?.isPicture === true ? caption : textFields) });
  }
  if ("fileId" in file) {
    const media = { type: "photo", media: file.fileId, ...caption };
    return buildJsonPost({ ...where, ...(edits === null ? { photo: file.fileId, ...caption } : { media }) });
  }
  const { bytes, name: fileName } = file;
  const kind = fileName === undefined ? "photo" : "document";
  const media = { type: kind, media: `attach://${kind}`, ...caption };
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...where, ...(edits === null ? caption : { media }) }))
    form.append(name, typeof value === "string" ? value : JSON.stringify(value));
  // The platform's `set` loses a file's name and type.
  const type = fileName === undefined ? "image/png" : "application/json";
  form.append(kind, new File([bytes], fileName ?? "picture.png", { type }));
  return { method: "POST", body: form };
}

/** Buttons that open a page are left out where the messenger could not open it: on a local stack. */
function buildKeyboard({ buttons }: Message): { reply_markup?: { inline_keyboard: object[][] } } {
  const rows = buttons.map((row) =>
    row.flatMap((button): object[] => {
      const { text } = button;
      if ("command" in button) return [{ text, callback_data: button.command }];
      return button.href.startsWith("https://") ? [{ text, url: button.href }] : [];
    }),
  );
  const keyboard = rows.filter((row) => row.length > 0);
  return keyboard.length === 0 ? {} : { reply_markup: { inline_keyboard: keyboard } };
}

/** Where a message goes. A replacement finds its topic itself. */
function buildAddress({ chatId, threadId, edits }: Message): Record<string, string | number> {
  if (edits !== null) return { chat_id: chatId, message_id: edits.messageId };
  return threadId === null ? { chat_id: chatId } : { chat_id: chatId, message_thread_id: threadId };
}

function askMethod(botToken: string, method: string, init: RequestInit): Promise<Exchange> {
  const url = `${getSetting("MESSENGER_API_URL")}/bot${encodePathSegment(botToken)}/${method}`;
  return askProvider("messenger", url, init, deadlines.messenger);
}

function toSendOutcome(result: Exchange): SendOutcome {
  if (result.kind !== "answer")
    return { kind: "uncertain", reason: noAnswerError(UPSTREAM, result.kind).message };
  const { ok = false, description, parameters, result: sent } = answerShape.safeParse(result.body).data ?? {};
  const fileId = sent?.photo.at(-1)?.file_id;
  if (ok) return { kind: "sent", ...(fileId === undefined ? {} : { fileId }) };
  const reason =
    description === undefined ? `The messenger answered with status ${result.status}` : cut(description, 200);
  if (result.status === 429) {
    return { kind: "wait", retryAfterMs: (parameters?.retry_after ?? 5) * SECOND, reason };
  }
  if (result.status >= 500 || result.status < 400) return { kind: "uncertain", reason };
  const migratedTo = parameters?.migrate_to_chat_id;
  if (migratedTo !== undefined) return { kind: "migrated", chatId: String(migratedTo) };
  return { kind: "refused", status: result.status, reason };
}

/** Shows for five seconds, or until its next message, that the bot is typing. Failures are ignored, and `end` cuts the call. */
export async function showTyping(
  botToken: string,
  { chatId, threadId }: { chatId: string; threadId?: number | undefined },
  end: AbortSignal,
): Promise<void> {
  const thread = threadId === undefined ? {} : { message_thread_id: threadId };
  const post = buildJsonPost({ chat_id: chatId, ...thread, action: "typing" });
  await askMethod(botToken, "sendChatAction", { ...post, signal: end });
}

/** Whether the messenger can be reached: a harmless call, before a doubtful message is sent again. */
export async function isReachable(botToken: string): Promise<boolean> {
  const result = await askMethod(botToken, "getMe", { method: "GET" });
  return result.kind === "answer" && result.status < 500;
}

/**
 * The bot's name in the messenger, without the @; `null` if the messenger does not know the token.
 * @throws AppError `upstream`
 */
export async function getBotUsername(botToken: string): Promise<string | null> {
  const answer = requireAnswer(UPSTREAM, await askMethod(botToken, "getMe", { method: "GET" }));
  if (answer.status === 401 || answer.status === 404) return null;
  return parseBody(UPSTREAM, answer, z.object({ result: z.object({ username: z.string() }) })).result
    .username;
}

const memberShape = z.object({ result: z.object({ status: z.string() }) });

/**
 * Whether an account is an administrator of a group or channel now; not, where the messenger refuses to say.
 * @throws AppError `upstream`
 */
export async function isAdministrator(
  botToken: string,
  { chatId, messengerId }: { chatId: string; messengerId: string },
): Promise<boolean> {
  const post = buildJsonPost({ chat_id: chatId, user_id: Number(messengerId) });
  const answer = requireAnswer(UPSTREAM, await askMethod(botToken, "getChatMember", post));
  if (answer.status === 400 || answer.status === 403) return false;
  const { status } = parseBody(UPSTREAM, answer, memberShape).result;
  return status === "creator" || status === "administrator";
}

const webhookShape = z.object({
  result: z.object({ url: z.string(), last_error_message: z.string().optional() }),
});

/** The address of a bot's webhook ("" for none), and the last problem of its delivery. @throws AppError `upstream` */
export async function getWebhookInfo(botToken: string): Promise<{ url: string; trouble: string | null }> {
  const answer = await askMethod(botToken, "getWebhookInfo", { method: "GET" });
  const { url, last_error_message: trouble } = parseBody(UPSTREAM, answer, webhookShape).result;
  return { url, trouble: trouble ?? null };
}

/** `channel_post` comes from channels only, where administrators alone write. */
const UPDATES = ["message", "channel_post", "callback_query"];

/** Sets where a bot's messages go, and its menu of commands. @throws AppError `upstream` */
export async function registerWebhook(
  botToken: string,
  set: { webhook: string; secret: string; menu: readonly { command: string; description: string }[] },
): Promise<void> {
  const { webhook: url, secret: secret_token } = set;
  const hook = { url, secret_token, allowed_updates: UPDATES };
  const calls = { setWebhook: hook, setMyCommands: { commands: set.menu } };
  for (const [method, body] of Object.entries(calls)) {
    const result = await askMethod(botToken, method, buildJsonPost(body));
    parseBody(UPSTREAM, result, z.object({ ok: z.literal(true) }));
  }
}
