/** A stand-in for the Telegram Bot API, for local use: validates as it does, delivers to nobody. */

import * as z from "zod";
import { formOf, json, type Call } from "../http";
import { parseJson } from "../../json";
import { createChats } from "./chats";
import { Refusal } from "./refusal";
import type { Standin } from "../control";
import { hash } from "../random";
import type { SentMessage } from "../records";

const TEXT_LIMIT = 4_096;

const webhookShape = z.looseObject({
  url: z.string().default(""),
  secret_token: z.string().optional(),
  allowed_updates: z.array(z.string()).optional(),
});

const commandsShape = z.looseObject({
  commands: z
    .array(
      z.object({ command: z.string().regex(/^[a-z0-9_]{1,32}$/), description: z.string().min(1).max(256) }),
    )
    .max(100),
});

const personShape = {
  /** Negative for a group. */
  chatId: z.union([
    z.int(),
    z
      .string()
      .regex(/^-?\d{1,16}$/)
      .transform(Number),
  ]),
  /** The sender; in a private chat it is the chat's own person. */
  from: z
    .strictObject({ id: z.int().positive(), username: z.string().min(1).optional() })
    .partial()
    .optional(),
};
const sayShape = z.strictObject({ ...personShape, text: z.string().min(1).max(TEXT_LIMIT) });
const tapShape = z.strictObject({ ...personShape, button: z.string().min(1) });

/** A webhook's answer: one call of a method, whose outcome is not reported. */
const callShape = z.looseObject({ method: z.string() });

export type Messenger = {
  handle: (call: Call) => Promise<Response>;
  /**
   * Makes a person's message and sends it to the webhook as an update.
   * @param message `{ chatId, text, from?: { id?, username? } }`
   * @returns The update's id and the webhook's status.
   * @throws z.ZodError for another message; TypeError without a webhook.
   */
  say(message: unknown): Promise<{ updateId: number; status: number }>;
  /**
   * A person taps a button, on the newest message of the chat that has it.
   * @param tap `{ chatId, button, from? }`: the button's words or data
   * @throws TypeError if no message has such a button.
   */
  tap(tap: unknown): Promise<{ updateId: number; status: number }>;
  /** A picture that was sent, at `/pictures/<messageId>.png`; `null` for any other path. */
  picture(path: string): Uint8Array<ArrayBuffer> | null;
};

/**
 * @param options.accepted Receives every message that the Bot API would have delivered.
 * @param options.deliver Sends an update to the application's webhook, as the Bot API would.
 */
export function createMessenger(options: {
  now: () => number;
  accepted: (message: SentMessage) => void;
  deliver?: (update: unknown) => Promise<Response>;
}): Messenger {
  const webhooks = new Map<string, z.infer<typeof webhookShape>>();
  const commands = new Map<string, unknown>();
  const chats = createChats({ now: options.now, accepted: options.accepted, sentBy: bot, chatOf });
  let lastUpdateId = 0;

  const setWebhook = (botToken: string, parameters: unknown): Response => {
    const parsed = webhookShape.safeParse(parameters);
    if (!parsed.success) return refuse(400, "Bad Request: bad webhook");
    const { url, secret_token: secret } = parsed.data;
    if (secret !== undefined && !/^[A-Za-z0-9_-]{1,256}$/.test(secret)) {
      return refuse(400, "Bad Request: secret token contains unallowed characters");
    }
    if (url !== "" && !url.startsWith("https://")) {
      return refuse(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook");
    }
    webhooks.set(botToken, parsed.data);
    return accept(true);
  };

  const setMyCommands = (botToken: string, parameters: unknown): Response => {
    const parsed = commandsShape.safeParse(parameters);
    if (!parsed.success) return refuse(400, "Bad Request: BOT_COMMAND_INVALID");
    commands.set(botToken, parsed.data.commands);
    return accept(true);
  };

  const run = async (method: string, botToken: string, parameters: unknown): Promise<Response> => {
    try {
      const result = await chats.run(method.toLowerCase(), botToken, parameters);
      if (result !== undefined) return accept(result);
    } catch (error) {
      if (error instanceof Refusal) return refuse(error.status, error.message);
      throw error;
    }
    switch (method.toLowerCase()) {
      case "getme":
        return accept(bot(botToken));
      case "setwebhook":
        return setWebhook(botToken, parameters);
      case "deletewebhook":
        webhooks.delete(botToken);
        return accept(true);
      case "getwebhookinfo":
        return accept({
          url: webhooks.get(botToken)?.url ?? "",
          has_custom_certificate: false,
          pending_update_count: 0,
          allowed_updates: webhooks.get(botToken)?.allowed_updates ?? [],
        });
      case "setmycommands":
        return setMyCommands(botToken, parameters);
      case "getmycommands":
        return accept(commands.get(botToken) ?? []);
      default:
        return refuse(404, "Not Found: method not found");
    }
  };

  /** @param botToken The bot's token, for a call in the webhook's answer. */
  const deliver = async (what: object, botToken?: string): Promise<{ updateId: number; status: number }> => {
    if (options.deliver === undefined) throw new TypeError("the messenger stand-in has no webhook");
    // Later ones are greater, even after a restart.
    lastUpdateId = Math.max(lastUpdateId + 1, Math.floor(options.now()));
    const updateId = lastUpdateId;
    const response = await options.deliver({ update_id: updateId, ...what });
    const call = callShape.safeParse(parseJson(await response.text()));
    if (call.success && botToken !== undefined) {
      const { method, ...parameters } = call.data;
      await run(method, botToken, parameters);
    }
    return { updateId, status: response.status };
  };

  return {
    handle: async (call) => {
      const [, token, method] = /^\/bot([^/]+)\/([A-Za-z]+)$/.exec(call.path) ?? [];
      if (token === undefined || method === undefined) return refuse(404, "Not Found");
      const botToken = decodeToken(token);
      if (botToken === null) return refuse(401, "Unauthorized: invalid token specified");
      if (call.method !== "GET" && call.method !== "POST") return refuse(405, "Method Not Allowed");
      const inQuery = Object.fromEntries(call.query);
      const form = await formOf(call);
      if (form !== null) return run(method, botToken, { ...inQuery, ...form });
      if (call.body.trim() === "") return run(method, botToken, inQuery);
      const body = z.record(z.string(), z.unknown()).safeParse(parseJson(call.body));
      if (!body.success) return refuse(400, "Bad Request: can't parse JSON object");
      return run(method, botToken, { ...inQuery, ...body.data });
    },
    picture: (path) => chats.picture(Number(/^\/pictures\/(\d{1,15})\.png$/.exec(path)?.[1])),
    say: (message) => {
      const { chatId, text, from } = sayShape.parse(message);
      const [command] = /^\/[\w@]+/.exec(text) ?? [];
      return deliver({
        message: {
          message_id: chats.nextMessageId(),
          date: Math.floor(options.now() / 1_000),
          text,
          ...placeOf(chatId, from),
          ...(command === undefined
            ? {}
            : { entities: [{ type: "bot_command", offset: 0, length: command.length }] }),
        },
      });
    },
    tap: (tap) => {
      const { chatId, button, from } = tapShape.parse(tap);
      const found = chats.withButton(String(chatId), button);
      if (found === null) throw new TypeError(`no message of this chat has the button ${button}`);
      const { message, data } = found;
      const { from: person, chat } = placeOf(chatId, from);
      return deliver(
        {
          callback_query: {
            id: chats.openQuery(),
            from: person,
            message: {
              message_id: message.messageId,
              from: bot(message.botToken),
              chat,
              date: Math.floor(options.now() / 1_000),
              ...(message.isPhoto ? { photo: [], caption: message.text } : { text: message.text }),
              reply_markup: { inline_keyboard: message.keyboard },
            },
            chat_instance: String(hash(String(chatId))),
            data,
          },
        },
        message.botToken,
      );
    },
  };
}

/** The sender and the chat. */
function placeOf(
  chatId: number,
  from: { id?: number | undefined; username?: string | undefined } | undefined,
) {
  const id = from?.id ?? (chatId > 0 ? chatId : 1);
  const person = { first_name: "Local", username: from?.username ?? `local_${id}` };
  return {
    from: { id, is_bot: false, ...person },
    chat: chatId > 0 ? { id: chatId, type: "private", ...person } : chatOf(String(chatId)),
  };
}

/** The Bot API's own error body; the HTTP status repeats its code. */
function messengerError(status: number, description: string, parameters?: unknown): unknown {
  return { ok: false, error_code: status, description, ...(parameters === undefined ? {} : { parameters }) };
}

/** The same for a refusal that a fault orders. */
export const messengerRefusal: Standin["error"] = (status, reason, { retryAfter }) =>
  retryAfter === undefined
    ? messengerError(status, reason)
    : messengerError(status, `${reason}: retry after ${retryAfter}`, { retry_after: retryAfter });

function refuse(status: number, description: string): Response {
  return json(messengerError(status, description), status);
}

function accept(result: unknown): Response {
  return json({ ok: true, result });
}

/** `null` for a token that the Bot API would not even look up: it is "<bot id>:<secret>", 80 characters at most. */
function decodeToken(inPath: string): string | null {
  const token = inPath.replaceAll(/%3a/gi, ":");
  return token.length <= 80 && /^[1-9]\d{0,15}:[A-Za-z0-9_-]+$/.test(token) ? token : null;
}

function bot(botToken: string): unknown {
  const id = Number(botToken.split(":")[0]);
  return { id, is_bot: true, first_name: "Simulated bot", username: `simulated_${id}_bot` };
}

function chatOf(chatId: string): unknown {
  if (chatId.startsWith("@")) {
    return { id: -1_000_000_000_000 - hash(chatId), type: "channel", username: chatId.slice(1) };
  }
  const id = Number(chatId);
  return { id, type: id < 0 ? "supergroup" : "private" };
}
