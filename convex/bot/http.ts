import { utf8ToBytes } from "@noble/hashes/utils.js";
import * as z from "zod";
import { internal } from "../_generated/api";
import { equalBytes } from "../lib/security/crypto";
import { sha256Hex } from "../lib/security/digests";
import { required } from "../lib/env";
import { AppError } from "../lib/errors";
import { endpoint, type MountedEndpoint, type RequestHead } from "../lib/http/endpoint";
import { cut } from "../lib/text/strings";
import type { Sender } from "./tables";

/** The longest text a message can have. */
const TEXT_LIMIT = 4_096;

/** A message as far as the bot reads it. Source: the Bot API's `Message`. */
const messageShape = z.object({
  text: z.string().default(""),
  chat: z.object({ id: z.int(), type: z.string() }),
  from: z.object({ id: z.int().positive(), is_bot: z.boolean(), username: z.string().optional() }),
  /** Each of these fields means that the message was forwarded; older bots get the second. */
  forward_origin: z.unknown().optional(),
  forward_date: z.unknown().optional(),
});

/** A tapped button, as far as the bot reads it. Source: the Bot API's `CallbackQuery`. */
const queryShape = z.object({
  id: z.string().min(1).max(64),
  from: messageShape.shape.from,
  /** Absent if the message was sent through another chat. */
  message: messageShape
    .pick({ chat: true })
    .extend({ message_id: z.int(), text: z.string().optional() })
    .optional(),
  data: z.string().max(64).default(""),
});

const webhook: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/messenger/webhook",
  summary: "Webhook of the messenger's bot: one update, answered through the outbox.",
  description:
    "Reads people's messages and taps, each `update_id` once. The answer is a message of its own, or replaces the message with the button. `npm run register-webhook` tells the messenger of this address.",
  needs: ["MESSENGER_WEBHOOK_SECRET"],
  errors: { unauthorized: "The secret token is missing or wrong." },
  headers: {
    "X-Telegram-Bot-Api-Secret-Token":
      "The webhook's secret, which the messenger got together with the address.",
  },
  example: {
    input: {
      update_id: 123_456_789,
      message: {
        message_id: 17,
        date: 1_767_605_400,
        text: "/status",
        from: { id: 123_456_789, is_bot: false, first_name: "Alice", username: "alice" },
        chat: { id: 123_456_789, type: "private" },
      },
    },
    output: {},
  },
  guard: requireSecret,
  input: z.looseObject({
    update_id: z.int("must be a whole number").nonnegative("must not be negative"),
    message: z
      .unknown()
      .optional()
      .describe("A message in the Bot API's form; other kinds of updates are ignored."),
    callback_query: z.unknown().optional().describe("A tapped button in the Bot API's form."),
  }),
  returns: z.object({
    method: z.literal("answerCallbackQuery").optional().describe("A call of the Bot API, after a tap"),
    callback_query_id: z.string().optional(),
  }),
  handler: async (ctx, { update_id: updateId, message, callback_query: query }) => {
    const tap = queryShape.safeParse(query);
    const received = tap.success ? tapOf(tap.data) : writtenMessage(message);
    if (received !== null) await ctx.runMutation(internal.bot.updates.receive, { updateId, ...received });
    // The messenger shows a button as waiting until its tap is confirmed: so this is done at once, before the work.
    return tap.success ? { method: "answerCallbackQuery" as const, callback_query_id: tap.data.id } : {};
  },
});

/** @throws AppError `not_configured` without a secret; `unauthorized` if the request does not contain it. */
function requireSecret({ header }: RequestHead): void {
  const digest = (text: string) => utf8ToBytes(sha256Hex(text));
  const expected = digest(required("MESSENGER_WEBHOOK_SECRET"));
  const given = header("x-telegram-bot-api-secret-token");
  if (given !== null && equalBytes(digest(given), expected)) return;
  throw new AppError("unauthorized", "The webhook's secret token is missing or wrong");
}

/** The command of a tapped button, as if it had been typed in its chat. */
function tapOf({ from, message, data }: z.output<typeof queryShape>) {
  const sender = message === undefined ? null : senderOf(from, message.chat);
  if (sender === null || message === undefined || data === "") return null;
  const tapped = { messageId: message.message_id, isText: message.text !== undefined };
  return { sender, text: `/${data}`, forwarded: false, tapped };
}

/** A person in a chat that the bot reads, or `null`. */
function senderOf(
  from: z.output<typeof messageShape>["from"],
  chat: z.output<typeof messageShape>["chat"],
): Sender | null {
  if (from.is_bot || !["private", "group", "supergroup"].includes(chat.type)) return null;
  return {
    chatId: String(chat.id),
    alone: chat.type === "private" && chat.id === from.id,
    messengerId: String(from.id),
    ...(from.username === undefined ? {} : { messengerUsername: cut(from.username, 64) }),
  };
}

/**
 * A person's message; `null` for updates that the bot does not read: other kinds, those of channels and those of bots.
 */
function writtenMessage(message: unknown): { sender: Sender; text: string; forwarded: boolean } | null {
  const parsed = messageShape.safeParse(message);
  if (!parsed.success) return null;
  const { text, chat, from, forward_origin, forward_date } = parsed.data;
  const sender = senderOf(from, chat);
  if (sender === null) return null;
  const forwarded = forward_origin !== undefined || forward_date !== undefined;
  return { sender, text: cut(text, TEXT_LIMIT), forwarded };
}

export const botEndpoints: MountedEndpoint[] = [webhook];
