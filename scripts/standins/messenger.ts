/**
 * A stand-in for the Telegram Bot API, for local use: it validates like the Bot API, with the same texts of refusals, and
 * delivers nothing. `say` and `tap` simulate a person.
 */

import * as z from "zod";
import { parseJson } from "../json";
import { sendJson, type Call } from "./http";
import {
  CAPTION,
  isNamed,
  MESSAGE,
  readKeyboard,
  readDocument,
  readPhoto,
  readText,
  Refusal,
  refuse,
  type Document,
  type Keyboard,
  type Photo,
  type StoredPhoto,
} from "./messengerForms";
import { hash } from "./random";

/** A message, an edit or a chat action that the messenger accepted. */
export type SentMessage = {
  botToken: string;
  method: string;
  chatId: string;
  /** As sent, with markup: a picture's caption, or a chat action's name. */
  text: string;
  at: number;
  /** Absent for a chat action. */
  messageId?: number;
  photo?: Photo;
  /** A file that is no picture. */
  document?: Document;
  /** The messenger's id of the picture. */
  fileId?: string;
  /** Whether it was sent by that id. */
  isStored?: boolean;
  /** Rows of buttons below it. */
  keyboard?: Keyboard;
};

/** An older query cannot be answered any more. */
const QUERY_MS = 15_000;
const MOST_PICTURES = 50;
const ACTIONS = ["typing", "upload_photo"];

const asText = z.union([z.string(), z.number().transform(String)]).default("");
/** In a form lines end with CRLF (fetch.spec.whatwg.org, multipart/form-data); the messenger drops carriage returns. */
const caption = asText.transform((text) => text.replaceAll("\r", ""));
const parametersShape = z.looseObject({
  chat_id: asText,
  message_id: z.coerce.number().int().default(0),
  parse_mode: z.string().default(""),
  text: asText,
  caption,
  reply_markup: z.unknown().optional(),
  photo: z.unknown().optional(),
  document: z.unknown().optional(),
  /** JSON: in a form together with the picture that it names. */
  media: z.union([z.string(), z.looseObject({}).transform((media) => JSON.stringify(media))]).default(""),
  action: z.string().default(""),
  callback_query_id: asText,
  user_id: asText,
});
type Parameters = z.infer<typeof parametersShape>;

const mediaShape = z.looseObject({
  type: z.literal("photo"),
  /** The form's file, or the id of one that the bot has sent. */
  media: z.string(),
  caption,
  parse_mode: z.string().default(""),
});

const webhookShape = z.looseObject({
  url: z.string().default(""),
  secret_token: z.string().optional(),
  allowed_updates: z.array(z.string()).optional(),
});

const commandShape = z.object({
  command: z.string().regex(/^[a-z0-9_]{1,32}$/),
  description: z.string().min(1).max(256),
});
const commandsShape = z.looseObject({ commands: z.array(commandShape).max(100) });

const personShape = {
  /** Negative for a group. */
  chatId: z.coerce.number().int(),
  /** The sender; in a private chat it is the chat's own person. */
  from: z
    .strictObject({ id: z.int().positive(), username: z.string().min(1).optional() })
    .partial()
    .optional(),
};
const sayShape = z.strictObject({ ...personShape, text: z.string().min(1).max(MESSAGE.limit) });
const tapShape = z.strictObject({ ...personShape, button: z.string().min(1) });

/** In a private chat `kicked` means that the person has blocked the bot; in others its bot's own id can be a member. */
const memberShape = z.strictObject({
  chatId: z.coerce.number().int(),
  userId: z.int().positive(),
  status: z.enum(["creator", "administrator", "member", "restricted", "left", "kicked"]),
});

/** A webhook's answer: one call of a method, whose outcome is not reported. */
const callShape = z.looseObject({ method: z.string() });

type Editing = "editMessageText" | "editMessageCaption" | "editMessageMedia";

/** A message in a chat. */
type ChatMessage = {
  botToken: string;
  chatId: string;
  messageId: number;
  /** As shown. */
  text: string;
  /** As sent. */
  source: string;
  keyboard: Keyboard;
  isPhoto: boolean;
  fileId?: string | undefined;
};

type Delivered = { updateId: number; status: number };

/**
 * @param options.accepted Receives every message that the Bot API would have delivered.
 * @param options.deliver Sends an update to the application's webhook, as the Bot API would.
 */
export function createMessenger(options: {
  now: () => number;
  accepted: (message: SentMessage) => void;
  deliver: ((update: unknown) => Promise<Response>) | undefined;
}) {
  const { now, accepted } = options;
  const webhooks = new Map<string, z.infer<typeof webhookShape>>();
  const messagesByKey = new Map<string, ChatMessage>();
  const queries = new Map<string, number>();
  const pictures = new Map<number, Uint8Array<ArrayBuffer>>();
  const photos = new Map<string, Map<string, StoredPhoto>>();
  const members = new Map<string, z.infer<typeof memberShape>["status"]>();
  let lastMessageId = 0;
  let lastUpdateId = 0;
  let lastQuery = 4_000_000_000;

  const toView = ({ botToken, messageId, chatId, text, isPhoto, fileId, keyboard }: ChatMessage) => ({
    ...{
      message_id: messageId,
      from: bot(botToken),
      chat: readChat(chatId),
      date: Math.floor(now() / 1_000),
    },
    ...(isPhoto ? { photo: fileId === undefined ? [] : [{ file_id: fileId }], caption: text } : { text }),
    ...(keyboard.length === 0 ? {} : { reply_markup: { inline_keyboard: keyboard } }),
  });

  /** Keeps a new picture under an id of its own. */
  const store = (botToken: string, sent: Awaited<ReturnType<typeof readPhoto>>): StoredPhoto => {
    const fileId = sent.fileId ?? `AgACAgIAAxkDAAI${hash(`${botToken} ${lastMessageId} ${now()}`)}`;
    const kept = { ...sent, fileId };
    photos.set(botToken, (photos.get(botToken) ?? new Map<string, StoredPhoto>()).set(fileId, kept));
    return kept;
  };

  const readPicture = async (botToken: string, given: unknown) => {
    const sent = await readPhoto(given, photos.get(botToken) ?? new Map<string, StoredPhoto>());
    return { ...store(botToken, sent), isStored: sent.fileId !== undefined };
  };

  /** @throws Refusal where the bot may not write. */
  const requireOpen = (botToken: string, chatId: string): void => {
    if (members.get(`${chatId} ${chatId}`) === "kicked")
      throw new Refusal("Forbidden: bot was blocked by the user", 403);
    if (members.get(`${chatId} ${parseInt(botToken, 10)}`) === "kicked")
      throw new Refusal("Forbidden: bot was kicked from the supergroup chat", 403);
  };

  const stand = (
    method: string,
    message: ChatMessage,
    sent: Partial<Awaited<ReturnType<typeof readPicture>>> & { document?: Document } = {},
  ) => {
    const { photo, file, document, fileId, isStored } = sent;
    const { botToken, chatId, messageId, source, keyboard } = message;
    messagesByKey.set(getKey(message), message);
    if (file !== undefined) pictures.set(messageId, file);
    for (const oldest of pictures.keys()) if (pictures.size > MOST_PICTURES) pictures.delete(oldest);
    accepted({
      ...{ botToken, method, chatId, text: source, at: now(), messageId },
      ...(photo === undefined ? {} : { photo }),
      ...(document === undefined ? {} : { document }),
      ...(fileId === undefined ? {} : { fileId }),
      ...(isStored === true ? { isStored } : {}),
      ...(keyboard.length === 0 ? {} : { keyboard }),
    });
    return toView(message);
  };

  const send = async (method: "sendMessage" | "sendPhoto", botToken: string, parameters: Parameters) => {
    const chatId = requireChat(parameters);
    requireOpen(botToken, chatId);
    const isPhoto = method === "sendPhoto";
    const source = isPhoto ? parameters.caption : parameters.text;
    const text = readText(source, parameters.parse_mode, isPhoto ? CAPTION : MESSAGE);
    if (!isPhoto && text === "") return refuse("message text is empty");
    const keyboard = readKeyboard(parameters.reply_markup);
    const photo = isPhoto ? await readPicture(botToken, parameters.photo) : undefined;
    const messageId = ++lastMessageId;
    const fileId = photo?.fileId;
    return stand(method, { botToken, chatId, messageId, text, source, keyboard, isPhoto, fileId }, photo);
  };

  const sendDocument = async (botToken: string, parameters: Parameters) => {
    const chatId = requireChat(parameters);
    const text = readText(parameters.caption, parameters.parse_mode, CAPTION);
    const keyboard = readKeyboard(parameters.reply_markup);
    const document = await readDocument(parameters.document);
    const source = parameters.caption;
    const messageId = ++lastMessageId;
    return stand(
      "sendDocument",
      { botToken, chatId, messageId, text, source, keyboard, isPhoto: true },
      { document },
    );
  };

  const edit = async (method: Editing, botToken: string, parameters: Parameters) => {
    const isText = method === "editMessageText";
    const media = mediaShape.safeParse(parseJson(parameters.media)).data;
    if (method === "editMessageMedia" && media === undefined) return refuse("wrong media in the request");
    const { caption: source, parse_mode: mode } =
      media ?? (isText ? { ...parameters, caption: parameters.text } : parameters);
    const chatId = requireChat(parameters);
    const before = messagesByKey.get(getKey({ botToken, chatId, messageId: parameters.message_id }));
    if (before === undefined) return refuse("message to edit not found");
    const isPhoto = before.isPhoto || media !== undefined;
    if (isText === isPhoto)
      return refuse(`there is no ${isText ? "text" : "caption"} in the message to edit`);
    const text = readText(source, mode, isText ? MESSAGE : CAPTION);
    if (isText && text === "") return refuse("message text is empty");
    const given = media?.media === "attach://photo" ? parameters.photo : media?.media;
    const photo = media === undefined ? undefined : await readPicture(botToken, given);
    const keyboard = readKeyboard(parameters.reply_markup);
    const isSame = before.source === source && JSON.stringify(before.keyboard) === JSON.stringify(keyboard);
    if (photo === undefined && isSame) return refuse("message is not modified");
    return stand(method, { ...before, text, source, keyboard, isPhoto }, photo);
  };

  const setWebhook = (botToken: string, parameters: unknown): true => {
    const parsed = webhookShape.safeParse(parameters);
    if (!parsed.success) return refuse("bad webhook");
    const { url, secret_token: secret = "a" } = parsed.data;
    if (!/^[A-Za-z0-9_-]{1,256}$/.test(secret)) return refuse("secret token contains unallowed characters");
    if (url !== "" && !url.startsWith("https://"))
      return refuse("bad webhook: An HTTPS URL must be provided for webhook");
    webhooks.set(botToken, parsed.data);
    return true;
  };

  const answerQuery = ({ callback_query_id: id, text }: Parameters): true => {
    const askedAt = queries.get(id);
    if (askedAt === undefined || now() - askedAt > QUERY_MS)
      return refuse("query is too old and response timeout expired or query ID is invalid");
    if (text.length > 200) return refuse("MESSAGE_TOO_LONG");
    return queries.delete(id) || true;
  };

  const readMember = (parameters: Parameters): object => {
    const chatId = requireChat(parameters);
    const userId = Number(parameters.user_id);
    if (!Number.isSafeInteger(userId) || userId <= 0) return refuse("invalid user_id specified");
    const user = { id: userId, is_bot: false, first_name: "Local" };
    return { status: members.get(`${chatId} ${userId}`) ?? "member", user };
  };

  const act = (botToken: string, parameters: Parameters): true => {
    const [chatId, text] = [requireChat(parameters), parameters.action];
    if (!ACTIONS.includes(text)) return refuse("wrong parameter action in request");
    accepted({ botToken, method: "sendChatAction", chatId, text, at: now() });
    return true;
  };

  /** The methods that the service calls. @throws Refusal */
  const runMethod = async (method: string, botToken: string, given: unknown): Promise<unknown> => {
    const parsed = parametersShape.safeParse(given);
    if (!parsed.success) return refuse("wrong type of a parameter");
    const parameters = parsed.data;
    switch (method) {
      case "getMe":
        return bot(botToken);
      case "sendMessage":
      case "sendPhoto":
        return send(method, botToken, parameters);
      case "sendDocument":
        return sendDocument(botToken, parameters);
      case "editMessageText":
      case "editMessageCaption":
      case "editMessageMedia":
        return edit(method, botToken, parameters);
      case "sendChatAction":
        return act(botToken, parameters);
      case "getChat":
        return readChat(requireChat(parameters));
      case "getChatMember":
        return readMember(parameters);
      case "answerCallbackQuery":
        return answerQuery(parameters);
      case "setWebhook":
        return setWebhook(botToken, given);
      case "getWebhookInfo": {
        const { url = "", allowed_updates = [] } = webhooks.get(botToken) ?? {};
        return { url, has_custom_certificate: false, pending_update_count: 0, allowed_updates };
      }
      case "setMyCommands":
        return commandsShape.safeParse(given).success || refuse("BOT_COMMAND_INVALID");
      default:
        throw new Refusal("Not Found: method not found", 404);
    }
  };

  const run = async (method: string, botToken: string, parameters: unknown): Promise<Response> => {
    try {
      return sendJson({ ok: true, result: await runMethod(method, botToken, parameters) });
    } catch (error) {
      if (error instanceof Refusal)
        return sendJson(messengerError(error.status, error.message), error.status);
      throw error;
    }
  };

  /** @param botToken The bot's token, for a call in the webhook's answer. */
  const deliver = async (what: object, botToken?: string): Promise<Delivered> => {
    if (options.deliver === undefined) throw new TypeError("the messenger stand-in has no webhook");
    // Later ones are greater, even after a restart.
    lastUpdateId = Math.max(lastUpdateId + 1, Math.floor(now()));
    const updateId = lastUpdateId;
    const response = await options.deliver({ update_id: updateId, ...what });
    const call = callShape.safeParse(parseJson(await response.text()));
    if (call.success && botToken !== undefined) await run(call.data.method, botToken, call.data);
    return { updateId, status: response.status };
  };

  return {
    error: messengerError,
    handle: async (call: Call): Promise<Response> => {
      const [, token = "", method] = /^\/bot([^/]+)\/([A-Za-z]+)$/.exec(call.path) ?? [];
      if (method === undefined) return sendJson(messengerError(404, "Not Found"), 404);
      const botToken = token.replaceAll(/%3a/gi, ":");
      if (botToken.length > 80 || !/^[1-9]\d{0,15}:[A-Za-z0-9_-]+$/.test(botToken))
        return sendJson(messengerError(401, "Unauthorized: invalid token specified"), 401);
      const parameters = await readParameters(call);
      if (parameters === null)
        return sendJson(messengerError(400, "Bad Request: can't parse JSON object"), 400);
      return run(method, botToken, parameters);
    },
    /** Sets what somebody is in a chat. @throws z.ZodError */
    setMember: (member: unknown): void => {
      const { chatId, userId, status } = memberShape.parse(member);
      members.set(`${chatId} ${userId}`, status);
    },
    /** The picture of a message, while it is one of the last fifty. */
    picture: (messageId: number) => pictures.get(messageId) ?? null,
    /**
     * Makes a person's message and sends it to the webhook as an update.
     * @param message `{ chatId, text, from?: { id?, username? } }`
     * @throws z.ZodError for another message; TypeError without a webhook.
     */
    say: (message: unknown): Promise<Delivered> => {
      const { chatId, text, from } = sayShape.parse(message);
      const command = /^\/[\w@]+/.exec(text)?.[0];
      const entities = [{ type: "bot_command", offset: 0, length: command?.length }];
      return deliver({
        message: {
          ...{ message_id: ++lastMessageId, date: Math.floor(now() / 1_000), text },
          ...readPlace(chatId, from),
          ...(command === undefined ? {} : { entities }),
        },
      });
    },
    /**
     * A person taps a button, on the newest message of the chat that has it.
     * @param tap `{ chatId, button, from? }`: the button's words or data
     * @throws TypeError if no message has such a button.
     */
    tap: (tap: unknown): Promise<Delivered> => {
      const { chatId, button, from } = tapShape.parse(tap);
      const found = [...messagesByKey.values()].reverse().flatMap((message) => {
        const inChat = message.chatId === String(chatId) ? message.keyboard.flat() : [];
        const data = inChat.find(
          ({ text, callback_data: tapped }) =>
            tapped !== undefined && (isNamed(text, button) || tapped === button),
        )?.callback_data;
        return data === undefined ? [] : [{ message, data }];
      })[0];
      if (found === undefined) throw new TypeError(`no message of this chat has the button ${button}`);
      const id = String(++lastQuery);
      queries.set(id, now());
      const place = readPlace(chatId, from);
      const message = { ...toView(found.message), chat: place.chat };
      const query = { id, from: place.from, message, chat_instance: String(hash(String(chatId))) };
      return deliver({ callback_query: { ...query, data: found.data } }, found.message.botToken);
    },
  };
}

/** Of the query and the body, which is a form or JSON; `null` for another body. */
async function readParameters({
  query,
  headers,
  body,
  bytes,
}: Call): Promise<Record<string, unknown> | null> {
  const inQuery = Object.fromEntries(query);
  const type = headers.get("Content-Type") ?? "";
  if (type.startsWith("multipart/form-data") && bytes !== undefined) {
    const form = await new Response(bytes, { headers: { "Content-Type": type } }).formData();
    return { ...inQuery, ...Object.fromEntries(form.entries()) };
  }
  if (body.trim() === "") return inQuery;
  const parsed = z.record(z.string(), z.unknown()).safeParse(parseJson(body));
  return parsed.success ? { ...inQuery, ...parsed.data } : null;
}

function getKey({
  botToken,
  chatId,
  messageId,
}: Pick<ChatMessage, "botToken" | "chatId" | "messageId">): string {
  return `${botToken} ${chatId} ${messageId}`;
}

/** @throws Refusal */
function requireChat({ chat_id: chatId }: Parameters): string {
  if (chatId === "") return refuse("chat_id is empty");
  return /^(?:-?\d{1,16}|@[A-Za-z0-9_]+)$/.test(chatId) ? chatId : refuse("chat not found");
}

/** The sender and the chat. */
function readPlace(
  chatId: number,
  from: { id?: number | undefined; username?: string | undefined } | undefined,
) {
  const id = from?.id ?? (chatId > 0 ? chatId : 1);
  const person = { first_name: "Local", username: from?.username ?? `local_${id}` };
  const chat = chatId > 0 ? { id: chatId, type: "private", ...person } : readChat(String(chatId));
  return { from: { id, is_bot: false, ...person }, chat };
}

/** The Bot API's own error body; the HTTP status repeats its code. */
function messengerError(status: number, reason: string, retryAfter?: number): unknown {
  const body = { ok: false, error_code: status, description: reason };
  if (retryAfter === undefined) return body;
  const description = `${reason}: retry after ${retryAfter}`;
  return { ...body, description, parameters: { retry_after: retryAfter } };
}

function bot(botToken: string): unknown {
  const id = Number(botToken.split(":")[0]);
  return { id, is_bot: true, first_name: "Simulated bot", username: `simulated_${id}_bot` };
}

function readChat(chatId: string): unknown {
  if (chatId.startsWith("@"))
    return { id: -1_000_000_000_000 - hash(chatId), type: "channel", username: chatId.slice(1) };
  const id = Number(chatId);
  return { id, type: id < 0 ? "supergroup" : "private" };
}
