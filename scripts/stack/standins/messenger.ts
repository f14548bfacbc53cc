/** A stand-in for the Telegram Bot API, for local use: validates as it does, delivers to nobody. */

import * as z from "zod";
import { json, parseJson, type Call } from "./http";
import { hash } from "./random";
import type { SentMessage } from "./records";
import { parseHtml } from "./telegramHtml";

const TEXT_LIMIT = 4_096;

const asText = z.union([z.string(), z.number().transform(String)]);
const messageShape = z.looseObject({
  chat_id: asText.default(""),
  text: asText.default(""),
  parse_mode: z.string().default(""),
});

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

const sayShape = z.strictObject({
  /** Negative for a group. */
  chatId: z.union([
    z.int(),
    z
      .string()
      .regex(/^-?\d{1,16}$/)
      .transform(Number),
  ]),
  text: z.string().min(1).max(TEXT_LIMIT),
  /** Who writes; in a private chat it is the chat's own person. */
  from: z
    .strictObject({ id: z.int().positive(), username: z.string().min(1).optional() })
    .partial()
    .optional(),
});

export type Messenger = {
  handle(call: Call): Response;
  /**
   * Makes a person's message and sends it to the webhook as an update.
   * @param message `{ chatId, text, from?: { id?, username? } }`
   * @returns The update's id and the status the webhook answered with.
   * @throws z.ZodError for another message; TypeError where there is no webhook to send it to.
   */
  say(message: unknown): Promise<{ updateId: number; status: number }>;
};

/**
 * @param options.accepted Is told of every message the Bot API would have delivered.
 * @param options.deliver Sends an update to the application's webhook, as the Bot API would.
 */
export function createMessenger(options: {
  now: () => number;
  accepted: (message: SentMessage) => void;
  deliver?: (update: unknown) => Promise<Response>;
}): Messenger {
  const webhooks = new Map<string, z.infer<typeof webhookShape>>();
  const commands = new Map<string, unknown>();
  let lastMessageId = 0;
  let lastUpdateId = 0;

  const sendMessage = (botToken: string, parameters: unknown): Response => {
    const parsed = messageShape.safeParse(parameters);
    if (!parsed.success) return refuse(400, "Bad Request: message text must be a string");
    const { chat_id: chatId, text: source, parse_mode: mode } = parsed.data;
    if (chatId === "") return refuse(400, "Bad Request: chat_id is empty");
    if (!/^(?:-?\d{1,16}|@[A-Za-z0-9_]+)$/.test(chatId)) return refuse(400, "Bad Request: chat not found");
    if (mode !== "" && mode.toLowerCase() !== "html")
      return refuse(400, "Bad Request: unsupported parse_mode");

    const read = mode === "" ? { ok: true as const, text: source } : parseHtml(source);
    if (!read.ok) return refuse(400, `Bad Request: can't parse entities: ${read.problem}`);
    const text = read.text.trim();
    if (text === "") return refuse(400, "Bad Request: message text is empty");
    if (text.length > TEXT_LIMIT) return refuse(400, "Bad Request: message is too long");

    const at = options.now();
    options.accepted({ botToken, method: "sendMessage", chatId, text: source, at });
    return accept({
      message_id: ++lastMessageId,
      from: bot(botToken),
      chat: chatOf(chatId),
      date: Math.floor(at / 1_000),
      text,
    });
  };

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

  const run = (method: string, botToken: string, parameters: unknown): Response => {
    switch (method.toLowerCase()) {
      case "sendmessage":
        return sendMessage(botToken, parameters);
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

  return {
    handle: (call) => {
      const [, token, method] = /^\/bot([^/]+)\/([A-Za-z]+)$/.exec(call.path) ?? [];
      if (token === undefined || method === undefined) return refuse(404, "Not Found");
      const botToken = decodeToken(token);
      if (botToken === null) return refuse(401, "Unauthorized: invalid token specified");
      if (call.method !== "GET" && call.method !== "POST") return refuse(405, "Method Not Allowed");
      const inQuery = Object.fromEntries(call.query);
      if (call.body.trim() === "") return run(method, botToken, inQuery);
      const body = z.record(z.string(), z.unknown()).safeParse(parseJson(call.body));
      if (!body.success) return refuse(400, "Bad Request: can't parse JSON object");
      return run(method, botToken, { ...inQuery, ...body.data });
    },
    say: async (message) => {
      const { chatId, text, from } = sayShape.parse(message);
      if (options.deliver === undefined) throw new TypeError("the messenger stand-in has no webhook");
      const at = options.now();
      // Later ones are greater after a restart too.
      lastUpdateId = Math.max(lastUpdateId + 1, Math.floor(at));
      const senderId = from?.id ?? (chatId > 0 ? chatId : 1);
      const person = { first_name: "Local", username: from?.username ?? `local_${senderId}` };
      const [command] = /^\/[\w@]+/.exec(text) ?? [];
      const response = await options.deliver({
        update_id: lastUpdateId,
        message: {
          message_id: ++lastMessageId,
          date: Math.floor(at / 1_000),
          text,
          from: { id: senderId, is_bot: false, ...person },
          chat: chatId > 0 ? { id: chatId, type: "private", ...person } : chatOf(String(chatId)),
          ...(command === undefined
            ? {}
            : { entities: [{ type: "bot_command", offset: 0, length: command.length }] }),
        },
      });
      await response.body?.cancel();
      return { updateId: lastUpdateId, status: response.status };
    },
  };
}

/** The Bot API's own error body; the HTTP status repeats its code. */
export function messengerError(status: number, description: string, parameters?: unknown): unknown {
  return { ok: false, error_code: status, description, ...(parameters === undefined ? {} : { parameters }) };
}

function refuse(status: number, description: string): Response {
  return json(messengerError(status, description), status);
}

function accept(result: unknown): Response {
  return json({ ok: true, result });
}

/** `null` for a token the Bot API would not even look up: it is "<bot id>:<secret>", 80 characters at most. */
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
