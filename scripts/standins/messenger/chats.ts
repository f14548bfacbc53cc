/**
 * Part of the messenger's stand-in for local use: a bot's writing to chats. Written from the Bot API's documents
 * (sendMessage, sendPhoto, editMessageText, editMessageCaption, editMessageMedia, sendChatAction, answerCallbackQuery),
 * with its own words for refusals.
 */

import * as z from "zod";
import { readKeyboard, type Keyboard } from "./keyboard";
import { parseJson } from "../../json";
import { readPhoto, type Photo } from "./photo";
import { isNamed } from "./plainText";
import { refuse } from "./refusal";
import type { SentMessage } from "../records";
import { parseHtml } from "./html";

const ANSWER_LIMIT = 200;
/** An older query cannot be answered any more. */
const QUERY_MS = 15_000;

const ACTIONS = [
  ...["typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice"],
  ...["upload_document", "choose_sticker", "find_location", "record_video_note", "upload_video_note"],
];

const asText = z.union([z.string(), z.number().transform(String)]);
const addressed = z.looseObject({ chat_id: asText.default(""), parse_mode: z.string().default("") });
const messageShape = addressed.extend({ text: asText.default(""), reply_markup: z.unknown().optional() });
const photoShape = addressed.extend({
  photo: z.unknown().optional(),
  // In a form lines end with CRLF (fetch.spec.whatwg.org, multipart/form-data); the messenger drops carriage returns
  // (`clean_input_string` of github.com/tdlib/td).
  caption: asText.default("").transform((text) => text.replaceAll("\r", "")),
  reply_markup: z.unknown().optional(),
});
const editShape = messageShape.extend({
  message_id: z.coerce.number().int().default(0),
  caption: photoShape.shape.caption,
  /** JSON: in a form together with the picture that it names. */
  media: z.string().default(""),
  photo: z.unknown().optional(),
});
const mediaShape = z.looseObject({
  type: z.literal("photo"),
  media: z.literal("attach://photo"),
  caption: photoShape.shape.caption,
  parse_mode: z.string().default(""),
});
const actionShape = addressed.extend({ action: z.string().default("") });
const queryShape = z.looseObject({
  callback_query_id: asText.default(""),
  text: z.string().default(""),
  url: z.string().optional(),
});

/** A message in a chat. */
type Standing = {
  botToken: string;
  chatId: string;
  messageId: number;
  /** As shown. */
  text: string;
  /** As sent. */
  source: string;
  keyboard: Keyboard;
  isPhoto: boolean;
};

export type Chats = {
  /** @returns The method's result; `undefined` for any other method. @throws Refusal */
  run(method: string, botToken: string, parameters: unknown): unknown;
  nextMessageId(): number;
  /** The newest message of a chat that has a button with these words or this data. */
  withButton(chatId: string, named: string): { message: Standing; data: string } | null;
  /** A query that somebody's tap has created. */
  openQuery(): string;
  /** The picture of a message, while it is one of the last fifty. */
  picture(messageId: number): Uint8Array<ArrayBuffer> | null;
};

const MOST_PICTURES = 50;
type Sent = { photo: Photo; file: Uint8Array<ArrayBuffer> };

export function createChats(options: {
  now: () => number;
  accepted: (message: SentMessage) => void;
  sentBy: (botToken: string) => unknown;
  chatOf: (chatId: string) => unknown;
}): Chats {
  const { now, accepted, sentBy, chatOf } = options;
  const standing = new Map<string, Standing>();
  const queries = new Map<string, number>();
  const pictures = new Map<number, Uint8Array<ArrayBuffer>>();
  let lastMessageId = 0;
  let lastQuery = 0;

  const keepPicture = (messageId: number, file: Uint8Array<ArrayBuffer>): void => {
    pictures.delete(messageId);
    pictures.set(messageId, file);
    for (const oldest of pictures.keys()) if (pictures.size > MOST_PICTURES) pictures.delete(oldest);
  };

  const shown = (message: Standing): unknown => ({
    message_id: message.messageId,
    from: sentBy(message.botToken),
    chat: chatOf(message.chatId),
    date: Math.floor(now() / 1_000),
    ...(message.isPhoto ? { photo: [], caption: message.text } : { text: message.text }),
    ...(message.keyboard.length === 0 ? {} : { reply_markup: { inline_keyboard: message.keyboard } }),
  });
  const stand = (method: string, message: Standing, sent?: Sent): unknown => {
    standing.set(keyOf(message), message);
    const photo = sent?.photo;
    if (sent !== undefined) keepPicture(message.messageId, sent.file);
    const { botToken, chatId, messageId, source, keyboard } = message;
    accepted({
      ...{ botToken, method, chatId, text: source, at: now(), messageId },
      ...(photo === undefined ? {} : { photo }),
      ...(keyboard.length === 0 ? {} : { keyboard }),
    });
    return shown(message);
  };

  const sendMessage = (botToken: string, parameters: unknown): unknown => {
    const parsed = messageShape.safeParse(parameters);
    if (!parsed.success) return refuse("message text must be a string");
    const { chat_id: chatId, text: source, parse_mode: mode, reply_markup: markup } = parsed.data;
    requireChat(chatId);
    const text = readText(source, mode, MESSAGE);
    if (text === "") return refuse("message text is empty");
    const keyboard = readKeyboard(markup);
    const messageId = ++lastMessageId;
    return stand("sendMessage", { botToken, chatId, messageId, text, source, keyboard, isPhoto: false });
  };

  const sendPhoto = async (botToken: string, parameters: unknown): Promise<unknown> => {
    const parsed = photoShape.safeParse(parameters);
    if (!parsed.success) return refuse("there is no photo in the request");
    const { chat_id: chatId, caption: source, parse_mode: mode, reply_markup: markup } = parsed.data;
    requireChat(chatId);
    const text = readText(source, mode, CAPTION);
    const keyboard = readKeyboard(markup);
    const photo = await readPhoto(parsed.data.photo);
    const messageId = ++lastMessageId;
    const message = { botToken, chatId, messageId, text, source, keyboard, isPhoto: true };
    return stand("sendPhoto", message, photo);
  };

  const editMessage = async (
    method: "editMessageText" | "editMessageCaption" | "editMessageMedia",
    botToken: string,
    parameters: unknown,
  ): Promise<unknown> => {
    const parsed = editShape.safeParse(parameters);
    if (!parsed.success) return refuse("message text must be a string");
    const { chat_id: chatId, message_id: messageId, reply_markup: markup } = parsed.data;
    const isText = method === "editMessageText";
    const media = mediaShape.safeParse(parseJson(parsed.data.media)).data;
    if (method === "editMessageMedia" && media === undefined) return refuse("wrong media in the request");
    const { caption: source, parse_mode: mode } =
      media ?? (isText ? { ...parsed.data, caption: parsed.data.text } : parsed.data);
    requireChat(chatId);
    const before = standing.get(keyOf({ botToken, chatId, messageId }));
    if (before === undefined) return refuse("message to edit not found");
    const text = readText(source, mode, isText ? MESSAGE : CAPTION);
    if (isText && text === "") return refuse("message text is empty");
    if (isText && before.isPhoto) return refuse("there is no text in the message to edit");
    if (method === "editMessageCaption" && !before.isPhoto)
      return refuse("there is no caption in the message to edit");
    const photo = media === undefined ? undefined : await readPhoto(parsed.data.photo);
    const keyboard = readKeyboard(markup);
    const isSame = before.source === source && JSON.stringify(before.keyboard) === JSON.stringify(keyboard);
    if (photo === undefined && isSame) {
      return refuse(
        "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
      );
    }
    const isPhoto = before.isPhoto || photo !== undefined;
    return stand(method, { botToken, chatId, messageId, text, source, keyboard, isPhoto }, photo);
  };

  const sendChatAction = (botToken: string, parameters: unknown): unknown => {
    const parsed = actionShape.safeParse(parameters);
    const { chat_id: chatId = "", action = "" } = parsed.success ? parsed.data : {};
    requireChat(chatId);
    if (!ACTIONS.includes(action)) return refuse("wrong parameter action in request");
    accepted({ botToken, method: "sendChatAction", chatId, text: action, at: now() });
    return true;
  };

  const answerCallbackQuery = (parameters: unknown): unknown => {
    const parsed = queryShape.safeParse(parameters);
    const { callback_query_id: id = "", text = "" } = parsed.success ? parsed.data : {};
    const askedAt = queries.get(id);
    if (askedAt === undefined || now() - askedAt > QUERY_MS) {
      return refuse("query is too old and response timeout expired or query ID is invalid");
    }
    if (text.length > ANSWER_LIMIT) return refuse("MESSAGE_TOO_LONG");
    queries.delete(id);
    return true;
  };

  return {
    run: (method, botToken, parameters) => {
      switch (method) {
        case "sendmessage":
          return sendMessage(botToken, parameters);
        case "sendphoto":
          return sendPhoto(botToken, parameters);
        case "editmessagetext":
          return editMessage("editMessageText", botToken, parameters);
        case "editmessagecaption":
          return editMessage("editMessageCaption", botToken, parameters);
        case "editmessagemedia":
          return editMessage("editMessageMedia", botToken, parameters);
        case "sendchataction":
          return sendChatAction(botToken, parameters);
        case "answercallbackquery":
          return answerCallbackQuery(parameters);
        default:
          return undefined;
      }
    },
    nextMessageId: () => ++lastMessageId,
    picture: (messageId) => pictures.get(messageId) ?? null,
    withButton: (chatId, named) => {
      for (const message of [...standing.values()].reverse()) {
        const button = message.keyboard
          .flat()
          .find(
            ({ text, callback_data: data }) => data !== undefined && (isNamed(text, named) || data === named),
          );
        if (message.chatId === chatId && button?.callback_data !== undefined) {
          return { message, data: button.callback_data };
        }
      }
      return null;
    },
    openQuery: () => {
      const id = String(4_000_000_000 + ++lastQuery);
      queries.set(id, now());
      return id;
    },
  };
}

function keyOf({ botToken, chatId, messageId }: Pick<Standing, "botToken" | "chatId" | "messageId">): string {
  return `${botToken} ${chatId} ${messageId}`;
}

/** @throws Refusal */
function requireChat(chatId: string): void {
  if (chatId === "") refuse("chat_id is empty");
  if (!/^(?:-?\d{1,16}|@[A-Za-z0-9_]+)$/.test(chatId)) refuse("chat not found");
}

/** The longest text, and its name in a refusal. */
type Bounds = { limit: number; what: string };
const MESSAGE: Bounds = { limit: 4_096, what: "message" };
const CAPTION: Bounds = { limit: 1_024, what: "message caption" };

/** @throws Refusal */
function readText(source: string, mode: string, { limit, what }: Bounds): string {
  if (mode !== "" && mode.toLowerCase() !== "html") return refuse("unsupported parse_mode");
  const read = mode === "" ? { ok: true as const, text: source } : parseHtml(source);
  if (!read.ok) return refuse(`can't parse entities: ${read.problem}`);
  const text = read.text.trim();
  return text.length > limit ? refuse(`${what} is too long`) : text;
}
