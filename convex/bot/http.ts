import { utf8ToBytes } from "@noble/hashes/utils.js";
import * as z from "zod";
import { internal } from "../_generated/api";
import { isEqualBytes } from "../lib/crypto";
import { getOptional, getRequired } from "../lib/env";
import { AppError } from "../lib/errors";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { cut as cutTo } from "../lib/text/strings";
import { buildPrivateLink, isForGroups, type BotMessage, type Sender } from "./commands";

/** The longest text a message can have. */
const TEXT_LIMIT = 4_096;

const chatShape = z.object({
  id: z.int(),
  type: z.string(),
  /** The public name. */
  username: z.string().max(64).optional().catch(undefined),
});
const personShape = z.object({
  id: z.int().positive(),
  is_bot: z.boolean(),
  username: z.string().optional().catch(undefined),
});

const entities = z.array(z.object({ type: z.string(), offset: z.int(), length: z.int() }));

/** The fields of a message that the bot reads. Source: the Bot API's `Message`. */
const messageShape = z.looseObject({
  text: z.string().optional(),
  /** The text of a picture, a recording or a file. */
  caption: z.string().optional(),
  chat: chatShape,
  from: personShape.optional(),
  /** The group itself, for an anonymous admin, or a channel, for its owner. */
  sender_chat: z.object({ id: z.int() }).optional().catch(undefined),
  /** A channel's post, copied by the messenger into the channel's discussion group. */
  is_automatic_forward: z.boolean().optional().catch(undefined),
  /** The places of mentions in the text, in UTF-16 units. */
  entities: entities.optional().catch(undefined),
  caption_entities: entities.optional().catch(undefined),
  reply_to_message: z
    .looseObject({ from: personShape.optional(), forum_topic_created: z.unknown().optional() })
    .optional()
    .catch(undefined),
  /** The album of a picture; one picture of an album has its caption. */
  media_group_id: z.string().optional().catch(undefined),
  message_thread_id: z.int().positive().optional().catch(undefined),
  is_topic_message: z.boolean().optional().catch(undefined),
  /** The new id of a group that has become a supergroup. */
  migrate_to_chat_id: z.int().optional().catch(undefined),
  /** Present in a forwarded message; older versions of the API have the second. */
  forward_origin: z.unknown().optional(),
  forward_date: z.unknown().optional(),
});
type Written = z.output<typeof messageShape>;

/** The kinds of messages that people send without text. Any other message without text is the messenger's own: a pin, a timer, a new topic. */
const MEDIA =
  "animation audio document paid_media photo sticker story video video_note voice contact dice game poll venue location".split(
    " ",
  );

/** The fields of a tapped button that the bot reads. Source: the Bot API's `CallbackQuery`. */
const queryShape = z.object({
  id: z.string().min(1).max(64),
  from: personShape,
  /** Absent if the message was sent through another chat. */
  message: messageShape.extend({ message_id: z.int() }).optional(),
  data: z.string().max(64).default(""),
});

const webhook: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: "/messenger/webhook",
  summary: "Webhook of the messenger's bot: one update, answered through the outbox.",
  description:
    "Reads people's messages and taps, each `update_id` once. The answer is a message of its own, or replaces the message with the button. `npx convex run --prod bot/service:register` tells the messenger of this address.",
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
    channel_post: z
      .unknown()
      .optional()
      .describe("A channel's post in the Bot API's form: only commands about its news are read."),
    callback_query: z.unknown().optional().describe("A tapped button in the Bot API's form."),
  }),
  returns: z.object({
    method: z.literal("answerCallbackQuery").optional().describe("A call of the Bot API, after a tap"),
    callback_query_id: z.string().optional(),
    text: z.string().optional().describe("Shown to who tapped"),
    url: z.string().optional().describe("The private chat with the bot, which opens for who tapped"),
  }),
  handler: async (ctx, { update_id: updateId, message, channel_post: post, callback_query: query }) => {
    const tap = queryShape.safeParse(query);
    const parsed = messageShape.safeParse(message ?? post);
    const written = tap.success ? parseTap(tap.data) : parsed.success ? parseWritten(parsed.data) : null;
    const isElsewhere = tap.success && written?.sender.alone === false && !isForGroups(tap.data.data);
    const received = isElsewhere ? null : written;
    const { chat, migrate_to_chat_id: to } = parsed.data ?? {};
    if (chat !== undefined && to !== undefined)
      await ctx.runMutation(internal.bot.updates.moveGroup, { from: String(chat.id), to: String(to) });
    else if (received !== null)
      await ctx.runMutation(internal.bot.updates.receiveMessage, { updateId, ...received });
    // The messenger shows a button as waiting until its tap is confirmed, so the confirmation does not wait for the work.
    if (!tap.success) return {};
    if (isElsewhere) {
      const url = buildPrivateLink(tap.data.data);
      const hint = url === null ? { text: "I answer that in a private chat: write to me there." } : { url };
      return { method: "answerCallbackQuery" as const, callback_query_id: tap.data.id, ...hint };
    }
    const isShared = received?.sender.alone === false && SWITCH.test(received.text);
    const answer = { method: "answerCallbackQuery" as const, callback_query_id: tap.data.id };
    return isShared ? { ...answer, text: "Administrators of this chat decide that." } : answer;
  },
});

/** @throws AppError `not_configured` without a secret; `unauthorized` if the request does not contain it. */
function requireSecret(headers: Headers): void {
  const given = headers.get("x-telegram-bot-api-secret-token") ?? "";
  if (!isEqualBytes(utf8ToBytes(given), utf8ToBytes(getRequired("MESSENGER_WEBHOOK_SECRET"))))
    throw new AppError(
      "unauthorized",
      "The webhook's secret token is missing or wrong: register the webhook again",
    );
}

type Received = Omit<BotMessage, "updateId">;

/** The commands about a chat's news, and the only ones of a channel. */
const SWITCH = /^\/(?:(?:(?:un)?subscribe|switch)(?:[@\s]|$)|start(?:@\w+)?\s+(?:signals|whales)$)/i;

/** What precedes a code. */
const SHOWN_CODE = /^\/(?:start|connect|login)(?:@\w{1,64})?\s+(?!$)/i;

/** The command of a tapped button, as if it had been typed in its chat. */
function parseTap({ from, message, data }: z.output<typeof queryShape>): Received | null {
  const sender = message === undefined ? null : parseSender({ ...message, from, sender_chat: undefined });
  if (sender === null || message === undefined || data === "") return null;
  if (message.chat.type === "channel" && !SWITCH.test(`/${data}`)) return null;
  const tapped = { messageId: message.message_id, isPicture: message.text === undefined };
  return { sender, text: `/${data}`, forwarded: false, tapped };
}

/** A person's message; `null` for those that the bot does not read: the messenger's own, bots', and most of a channel. */
function parseWritten(message: Written): Received | null {
  const sender = parseSender(message);
  const isChannel = message.chat.type === "channel";
  // A code that a channel's readers have seen is withdrawn, whatever it was meant for.
  const said = message.text ?? message.caption;
  const isCode = isChannel && SHOWN_CODE.test(said ?? "") && !SWITCH.test(said ?? "");
  const content = isCode ? said?.replace(SHOWN_CODE, "/connect ") : said;
  const isHeard = !isChannel || isCode || SWITCH.test(said ?? "");
  if (sender === null || !isHeard) return null;
  const isSilent = message.media_group_id !== undefined || MEDIA.every((kind) => message[kind] === undefined);
  if (content === undefined && isSilent) return null;
  const forwarded = message.forward_origin !== undefined || message.forward_date !== undefined;
  // Text that was copied from a card contains invisible joiners.
  const text = cutTo(content?.replaceAll("\u2060", "").trim() ?? "", TEXT_LIMIT);
  if (sender.alone) return { sender, text: text.replace(PASTED, "/start $1"), forwarded };
  return { sender, forwarded, ...findAddressee(message, text) };
}

const MENTION = /^@(\w{1,64})[\s,:]/;

/** The addressee of a group's message: the bot of a mention, or the author of the message that it replies to. */
function findAddressee(message: Written, text: string): Pick<BotMessage, "text" | "to"> {
  const { text: written, caption = "", reply_to_message: replied } = message;
  const marks = message.entities ?? message.caption_entities ?? [];
  const names = marks
    .filter(({ type }) => type === "mention")
    .map(({ offset, length }) => (written ?? caption).slice(offset + 1, offset + length));
  // The names of bots end in “bot”: https://core.telegram.org/bots/features#creating-a-new-bot
  const isCommand = text.startsWith("/");
  const name = MENTION.exec(text)?.[1] ?? names.find((one) => !isCommand && /bot$/i.test(one));
  if (name !== undefined) {
    const at = text.indexOf(`@${name}`);
    const [before, behind] = [text.slice(0, at).trimEnd(), text.slice(at + name.length + 1).trimStart()];
    const gap = /^(?:[,.:;!?]|$)/.test(behind) ? "" : " ";
    const words = before === "" ? behind.replace(/^[\s,:]+/, "") : before + gap + behind;
    return { text: words, to: name.toLowerCase() };
  }
  // Every message of a topic replies to the message that opened it.
  const isReply = replied?.from?.id === getOwnId() && replied?.forum_topic_created === undefined;
  return isReply ? { text, to: "" } : { text };
}

/** The id of the service's own bot: its token begins with it. */
function getOwnId(): number {
  return Number.parseInt(getOptional("MESSENGER_BOT_TOKEN") ?? "", 10);
}

/** A pasted link to the bot starts it, like an opened one. */
const PASTED = /^https:\/\/t\.me\/\w{1,64}\?start=([A-Za-z0-9_-]{1,64})$/;

const CHATS = ["private", "group", "supergroup", "channel"];

/**
 * The sender of a message: a person, the group itself for an anonymous admin, or a channel for its owner; `null` in chats
 * that the bot does not read.
 */
function parseSender({ chat, from, sender_chat: spokenFor, ...message }: Written): Sender | null {
  if (!CHATS.includes(chat.type) || message.is_automatic_forward === true) return null;
  const speaker = chat.type === "private" ? undefined : spokenFor;
  if (speaker === undefined && (from === undefined || from.is_bot || spokenFor !== undefined)) return null;
  const { message_thread_id: thread, is_topic_message: isTopic } = message;
  const username = speaker === undefined ? from?.username : undefined;
  return {
    chatId: String(chat.id),
    ...(chat.type === "private" || chat.username === undefined ? {} : { chatName: `@${chat.username}` }),
    ...(thread !== undefined && isTopic === true ? { threadId: thread } : {}),
    alone: chat.type === "private" && chat.id === from?.id,
    messengerId: String(speaker?.id ?? from?.id),
    ...(username === undefined ? {} : { messengerUsername: cutTo(username, 64) }),
  };
}

export const botEndpoints: MountedEndpoint[] = [webhook];
