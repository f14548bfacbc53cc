/**
 * A stand-in for the Telegram Bot API, for local use: it validates like the Bot API, with the same texts of refusals, and
 * delivers nothing. `say` and `tap` simulate a person.
 */

import * as z from "zod";
import { parseJson } from "../json";
import { sendJson, type Call } from "./http";
import {
  CAPTION,
  commandsShape,
  describeBot,
  isNamed,
  mediaShape,
  memberShape,
  MESSAGE,
  messengerError,
  parametersShape,
  readChat,
  readDocument,
  readKeyboard,
  readParameters,
  readPhoto,
  readPlace,
  readText,
  Refusal,
  refuse,
  requireChat,
  sayShape,
  tapShape,
  webhookShape,
  type Document,
  type Keyboard,
  type Parameters,
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
  photo?: Photo | undefined;
  /** A file that is no picture. */
  document?: Document | undefined;
  /** The messenger's id of the picture. */
  fileId?: string | undefined;
  /** Whether it was sent by that id. */
  isStored?: boolean | undefined;
  /** Rows of buttons below it. */
  keyboard?: Keyboard | undefined;
};

/** An older query cannot be answered any more. */
const QUERY_MS = 15_000;
const ACTIONS = ["typing", "upload_photo"];

/** A webhook's answer: one call of a method, whose outcome is not reported. */
const callShape = z.looseObject({ method: z.string() });

type Sending = "sendMessage" | "sendPhoto" | "sendDocument";
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
  const messagesById = new Map<number, ChatMessage>();
  const queries = new Map<string, number>();
  const photos = new Map<string, StoredPhoto>();
  const members = new Map<string, z.infer<typeof memberShape>["status"]>();
  let lastMessageId = 0;
  let lastUpdateId = 0;
  let lastQuery = 4_000_000_000;

  const toView = ({ botToken, messageId, chatId, text, isPhoto, fileId, keyboard }: ChatMessage) => ({
    ...{ message_id: messageId, from: describeBot(botToken), chat: readChat(chatId) },
    date: Math.floor(now() / 1_000),
    ...(isPhoto ? { photo: fileId === undefined ? [] : [{ file_id: fileId }], caption: text } : { text }),
    ...(keyboard.length === 0 ? {} : { reply_markup: { inline_keyboard: keyboard } }),
  });

  /** A bot's picture; a new one is kept under an id of its own. */
  const readPicture = async (botToken: string, given: unknown) => {
    const sent = await readPhoto(given, (fileId) => photos.get(`${botToken} ${fileId}`));
    const fileId = sent.fileId ?? `AgACAgIAAxkDAAI${hash(`${botToken} ${lastMessageId} ${now()}`)}`;
    photos.set(`${botToken} ${fileId}`, { ...sent, fileId });
    return { photo: sent.photo, fileId, isStored: sent.fileId === undefined ? undefined : true };
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
    sent: Pick<SentMessage, "photo" | "document" | "fileId" | "isStored">,
  ) => {
    const { botToken, chatId, messageId, source, keyboard } = message;
    messagesById.set(messageId, message);
    accepted({
      ...{ botToken, method, chatId, text: source, at: now(), messageId },
      ...sent,
      keyboard: keyboard.length === 0 ? undefined : keyboard,
    });
    return toView(message);
  };

  const send = async (method: Sending, botToken: string, parameters: Parameters) => {
    const chatId = requireChat(parameters);
    requireOpen(botToken, chatId);
    const isText = method === "sendMessage";
    const source = isText ? parameters.text : parameters.caption;
    const text = readText(source, parameters.parse_mode, isText ? MESSAGE : CAPTION);
    if (isText && text === "") return refuse("message text is empty");
    const keyboard = readKeyboard(parameters.reply_markup);
    const picture = method === "sendPhoto" ? await readPicture(botToken, parameters.photo) : undefined;
    const document = method === "sendDocument" ? await readDocument(parameters.document) : undefined;
    const message = { botToken, chatId, messageId: ++lastMessageId, text, source, keyboard };
    const shown = { ...message, isPhoto: !isText, fileId: picture?.fileId };
    return stand(method, shown, { ...picture, document });
  };

  const edit = async (method: Editing, botToken: string, parameters: Parameters) => {
    const isText = method === "editMessageText";
    const media = mediaShape.safeParse(parseJson(parameters.media)).data;
    if (method === "editMessageMedia" && media === undefined) return refuse("wrong media in the request");
    const { caption: source, parse_mode: mode } =
      media ?? (isText ? { ...parameters, caption: parameters.text } : parameters);
    const chatId = requireChat(parameters);
    const before = messagesById.get(parameters.message_id);
    if (before?.botToken !== botToken || before.chatId !== chatId) return refuse("message to edit not found");
    const isPhoto = before.isPhoto || media !== undefined;
    if (isText === isPhoto)
      return refuse(`there is no ${isText ? "text" : "caption"} in the message to edit`);
    const text = readText(source, mode, isText ? MESSAGE : CAPTION);
    if (isText && text === "") return refuse("message text is empty");
    const given = media?.media === "attach://photo" ? parameters.photo : media?.media;
    const picture = media === undefined ? undefined : await readPicture(botToken, given);
    const keyboard = readKeyboard(parameters.reply_markup);
    const isSame = before.source === source && JSON.stringify(before.keyboard) === JSON.stringify(keyboard);
    if (picture === undefined && isSame) return refuse("message is not modified");
    const fileId = picture?.fileId ?? before.fileId;
    return stand(method, { ...before, text, source, keyboard, isPhoto, fileId }, { ...picture });
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
        return describeBot(botToken);
      case "sendMessage":
      case "sendPhoto":
      case "sendDocument":
        return send(method, botToken, parameters);
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
    /** The picture of a message. */
    picture: (messageId: number) => {
      const { botToken, fileId } = messagesById.get(messageId) ?? {};
      return photos.get(`${botToken} ${fileId}`)?.file ?? null;
    },
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
      const found = [...messagesById.values()].reverse().flatMap((message) => {
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
