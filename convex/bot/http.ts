import { utf8ToBytes } from "@noble/hashes/utils.js";
import * as z from "zod";
import { internal } from "../_generated/api";
import { equalBytes, sha256Hex } from "../lib/crypto";
import { required } from "../lib/env";
import { AppError } from "../lib/errors";
import { endpoint, type MountedEndpoint, type RequestHead } from "../lib/http";
import { cut } from "../lib/text";
import type { Sender } from "./tables";

/** The longest text a message can have. */
const TEXT_LIMIT = 4_096;

/** A message as far as the bot reads it. Source: the Bot API's `Message`. */
const messageShape = z.object({
  text: z.string().default(""),
  chat: z.object({ id: z.int(), type: z.string() }),
  from: z.object({ id: z.int().positive(), is_bot: z.boolean(), username: z.string().optional() }),
  /** What is here says that the message is somebody else's, passed on; older bots are told of the second. */
  forward_origin: z.unknown().optional(),
  forward_date: z.unknown().optional(),
});

const webhook: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/messenger/webhook",
  summary: "Webhook of the messenger's bot: one update, answered through the outbox.",
  description:
    "Only messages of people are read, each `update_id` once: a repeat changes nothing. The answer comes as a message of its own; long work answers at once and delivers later. `npm run register-webhook` tells the messenger of this address and of the secret.",
  needs: ["MESSENGER_WEBHOOK_SECRET"],
  errors: { unauthorized: "The secret token is missing or wrong." },
  headers: {
    "X-Telegram-Bot-Api-Secret-Token":
      "The webhook's secret, which the messenger was given with its address.",
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
  }),
  returns: z.object({}),
  handler: async (ctx, { update_id: updateId, message }) => {
    const written = writtenMessage(message);
    if (written !== null) await ctx.runMutation(internal.bot.updates.receive, { updateId, ...written });
    return {};
  },
});

/** @throws AppError `not_configured` without a secret; `unauthorized` when the request does not carry it. */
function requireSecret({ header }: RequestHead): void {
  const digest = (text: string) => utf8ToBytes(sha256Hex(text));
  const expected = digest(required("MESSENGER_WEBHOOK_SECRET"));
  const given = header("x-telegram-bot-api-secret-token");
  if (given !== null && equalBytes(digest(given), expected)) return;
  throw new AppError("unauthorized", "The webhook's secret token is missing or wrong");
}

/** A person's message, or `null` for what the bot does not read: another kind of update, a channel's, a bot's. */
function writtenMessage(message: unknown): { sender: Sender; text: string; forwarded: boolean } | null {
  const parsed = messageShape.safeParse(message);
  if (!parsed.success || parsed.data.from.is_bot) return null;
  const { text, chat, from, forward_origin, forward_date } = parsed.data;
  if (!["private", "group", "supergroup"].includes(chat.type)) return null;
  const sender = {
    chatId: String(chat.id),
    alone: chat.type === "private" && chat.id === from.id,
    messengerId: String(from.id),
    ...(from.username === undefined ? {} : { messengerUsername: cut(from.username, 64) }),
  };
  const forwarded = forward_origin !== undefined || forward_date !== undefined;
  return { sender, text: cut(text, TEXT_LIMIT), forwarded };
}

export const botEndpoints: MountedEndpoint[] = [webhook];
