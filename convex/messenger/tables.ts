import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import { indexCreatedBefore, indexOfUser, indexOlderThan, type RecordsOf } from "../platform/records";
import type { SealContext } from "../lib/seals";

/** A function handle that is called with `{ subject }` and makes a PNG or a file, or returns `null` if there is none. */
export const vPicture = v.object({
  handle: v.string(),
  subject: v.string(),
  /** The name of the file that it makes; absent: a picture. */
  file: v.optional(v.string()),
});
export type Picture = Infer<typeof vPicture>;

/** A text that a card shows once, and no table holds: it is derived (`messenger/model`) when the card is sent. */
export const vSecret = v.object({ kind: literals("key", "page", "call", "login"), seed: v.string() });
export type Secret = Infer<typeof vSecret>;
/** Stands for the secret in a card's words. */
export const SECRET_MARK = "[secret]";

/** A piece of a card's line. */
export const vSpan = v.union(
  v.string(),
  v.object({ bold: v.string() }),
  /** Copied by a tap: an address, a hash. */
  v.object({ code: v.string() }),
  /** A short text on one line. The address comes from the service or one of its sources, never from a text. */
  v.object({ words: v.string(), href: v.string() }),
  /** A command of the bot, without its slash, perhaps with arguments: a tap sends it. */
  v.object({ command: v.string() }),
);

/** A button below a card: it opens a page, or sends a command (without its slash) as if it had been typed there. */
export const vButton = v.union(
  v.object({ text: v.string(), href: v.string() }),
  v.object({ text: v.string(), command: v.string() }),
);
export const vButtons = v.array(v.array(vButton));

/** A message that a card replaces. `isPicture`: its text is a picture's caption. */
export const vReplaced = v.object({ messageId: v.number(), isPicture: v.boolean() });

/** The kinds of notices to an account, which go to all its chats. */
export const NOTICES = ["account", "change of chat"] as const;

/** The news that a chat can subscribe to. */
export const vTopic = literals("signals", "outcomes", "whales", "weekly");
export type Topic = Infer<typeof vTopic>;

export const messengerTables = {
  /**
   * A user's own messenger settings. Written by `messenger/notices` (set, cleared, sealed again) and `messenger/outbox`
   * (used). Kept until the user clears them; a stranger's die 30 days after the last card.
   */
  messengerConfigs: defineTable({
    userId: v.string(),
    /** The user's own bot, sealed (`lib/seals`); absent: the default bot. */
    sealedBotToken: v.optional(v.string()),
    /** The form of settings: `chat` or `chat:topic`. */
    chatId: v.optional(v.string()),
    /** Epoch ms: when it was set, or, to within a day, last used. */
    updatedAt: v.number(),
  })
    .index("by_userId", ["userId"])
    .index("by_updatedAt", ["updatedAt"]),

  /** Groups that have become supergroups, with a new id. Written by `messenger/outbox`. Kept, because ids never change back. */
  chatMoves: defineTable({ from: v.string(), to: v.string() }).index("by_from", ["from"]),

  /**
   * The news that a chat gets, one row a chat. Written by `messenger/subscriptions`. Kept while the chat takes its cards; it
   * dies three months after it last did.
   */
  subscriptions: defineTable({
    chatId: v.string(),
    /** The public name of a group or channel, such as `@news`: the service's own chat may be set by it. */
    chatName: v.optional(v.string()),
    /** The topic of a group in which they were switched on. */
    threadId: v.optional(v.number()),
    /** Whose private chat it is: the linked user, else the account alone (`toChatUser`); `""` for a group or channel. */
    userId: v.string(),
    /** At least one. */
    topics: v.array(vTopic),
    /** Epoch ms: the first card that it refused, since it last took one or wrote to the bot. */
    refusedSince: v.optional(v.number()),
  })
    .index("by_chatId", ["chatId"])
    .index("by_userId", ["userId"])
    .index("by_refusedSince", ["refusedSince"]),

  /**
   * Messenger accounts and the signed-in users they belong to, one to one. Written by `messenger/linking`:
   * linked, confirmed, and gone when either side unlinks or the user's data is deleted.
   */
  messengerLinks: defineTable({
    /** The messenger's id of the account, which is also the id of its private chat with any bot. */
    messengerId: v.string(),
    messengerUsername: v.optional(v.string()),
    userId: v.string(),
    linkedAt: v.number(),
    /**
     * When the account itself confirmed it, in its chat with the bot, or a bot with the operator's secret did. Absent
     * while only `POST /messenger/connect` has reported it, which is open to any caller without a secret: then the
     * account gets nothing of the user's, and the account or the user can replace the link.
     */
    confirmedAt: v.optional(v.number()),
    /** The hash of the used code: the same code from the account again confirms the link, or changes nothing. */
    codeHash: v.optional(v.string()),
  })
    .index("by_messengerId", ["messengerId"])
    .index("by_userId", ["userId"])
    .index("by_confirmedAt", ["confirmedAt"]),

  /**
   * Codes that prove a link between accounts. A `link` binds a messenger account to its user, a `proof` an account of the
   * network, and a `login` makes another login its user's: the latest of a user (written by `messenger/model`), until it is
   * used (`messenger/linking`, `social/authors`, `accounts/chats`), withdrawn by unlinking or shown in a group (`bot/updates`).
   */
  codes: defineTable({
    kind: literals("link", "proof", "login"),
    userId: v.string(),
    /** HMAC-SHA256 of the code; of a proof, which is posted in public, SHA-256. */
    codeHash: v.string(),
    /** Of a proof, in lower case: only a post of this handle counts. */
    handle: v.optional(v.string()),
    expiresAt: v.number(),
  })
    .index("by_userId_and_kind", ["userId", "kind"])
    .index("by_codeHash", ["codeHash"])
    .index("by_expiresAt", ["expiresAt"]),

  /**
   * The outbox: one row per card. Written by `messenger/model` (queued, in the transaction that decides to send),
   * `messenger/outbox` (every later step; the last within a day) and `messenger/delivery` (one that cannot be advanced). Dies after a month; an answer to an unlinked chat after a week.
   */
  messages: defineTable({
    /** Whose bot and chat settings apply; `""` for an answer to an unlinked chat. */
    userId: v.string(),
    /** A chat for this card only, in place of the user's own. */
    chatId: v.optional(v.string()),
    /** The topic in that chat. */
    threadId: v.optional(v.number()),
    /** Sent by the default bot even if the user has their own: an answer in a chat with it. */
    bot: v.optional(v.literal("default")),
    /** The user's own bot when the card was queued, for the last notice of removed settings; dropped when the card is settled. */
    sealedBotToken: v.optional(v.string()),
    /** The kind of card, for the operator: `shift started`, `final report`, … */
    kind: v.string(),
    /** The subject by which the card can be cancelled: `shift:<id>`. */
    topic: v.optional(v.string()),
    /** The news that it brings to a chat that subscribes to it; then the row ends with its delivery. */
    news: v.optional(vTopic),
    /** Deduplication key, such as `update:<id>`: a second card with the same key is dropped. */
    key: v.optional(v.string()),
    /** Takes the place of `SECRET_MARK` in the first part when the card is sent; removed at the end. */
    secret: v.optional(vSecret),
    /** HTML, at most 4,096 characters each, sent in order; "" is a picture's missing caption. */
    parts: v.array(v.string()),
    /** Draws the picture of the first part, which is its caption, when the card is sent; removed after a failure. */
    picture: v.optional(vPicture),
    /** How many parts have arrived. */
    partsSent: v.number(),
    /** `skipped`: no bot or no chat is configured, or the card was cancelled. */
    state: literals("queued", "sending", "sent", "failed", "skipped"),
    /** Queued: when to try. Otherwise: when it was last tried. */
    dueAt: v.number(),
    /** How often the next part was sent with an unknown outcome. Twice is a failure. */
    doubts: v.number(),
    /** How often an attempt was postponed. */
    postponements: v.number(),
    /** Shown below the last part. */
    buttons: v.optional(vButtons),
    /** The message in the chat that the first part replaces. */
    replaces: v.optional(vReplaced),
    error: v.optional(v.string()),
    sentAt: v.optional(v.number()),
    /** A function handle, to call with `{ subject, sent, error? }` when the card is settled. */
    onSettled: v.optional(v.object({ handle: v.string(), subject: v.string() })),
  })
    .index("by_state_and_dueAt", ["state", "dueAt"])
    .index("by_state_and_news", ["state", "news", "dueAt"])
    .index("by_topic_and_state", ["topic", "state"])
    .index("by_key", ["key"])
    .index("by_userId", ["userId"]),
};

export const messengerRecords: RecordsOf<typeof messengerTables> = {
  messengerConfigs: {
    keep: {
      days: 30,
      why: "strangers could fill the disk with unused settings; a signed-in user's are kept until they clear them",
      aged: indexOlderThan("updatedAt"),
      // The user may have signed in since, or received money.
      stranger: ({ userId }) => userId,
    },
    ownedBy: { rows: indexOfUser("by_userId"), section: "messengerSettings", onDeletion: "go" },
    withheld: ["sealedBotToken"],
    sealed: {
      envelope: ({ sealedBotToken }) => sealedBotToken,
      context: ({ userId }) => getBotTokenSeal(userId),
      replace: (db, { _id }, sealedBotToken) => db.patch("messengerConfigs", _id, { sealedBotToken }),
    },
  },
  messengerLinks: {
    keep: "a user's link, until they end it",
    // The deletion itself ends the link, unless it is an owner's only login: then the wallet would be lost with it.
    ownedBy: { rows: indexOfUser("by_userId"), section: "messengerLinks", onDeletion: "stay" },
    withheld: ["codeHash"],
  },
  subscriptions: {
    keep: {
      days: 90,
      why: "the chat has refused every card since",
      // Absent sorts before every number.
      aged: (rows, before) =>
        rows.withIndex("by_refusedSince", (q) => q.gt("refusedSince", 0).lt("refusedSince", before)),
    },
    ownedBy: { rows: indexOfUser("by_userId"), section: "subscriptions", onDeletion: "go" },
  },
  codes: {
    keep: { days: 1, why: "it has expired", aged: indexOlderThan("expiresAt") },
    ownedBy: { rows: indexOfUser("by_userId_and_kind"), onDeletion: "go" },
  },
  messages: {
    keep: [
      {
        days: 7,
        why: "an answer to somebody who is not linked belongs to nobody's history",
        aged: (rows, before) =>
          rows.withIndex("by_userId", (q) => q.eq("userId", "").lt("_creationTime", before)),
      },
      {
        days: 30,
        why: "the operator can look a card up for a month; its content is kept where it came from",
        aged: indexCreatedBefore,
        ended: ({ state }) => !/^(?:queued|sending)$/.test(state),
      },
    ],
    ownedBy: {
      rows: indexOfUser("by_userId"),
      section: "messages",
      // A thief of the login must not silence the notices to its account.
      onDeletion: {
        whenEnded: ({ kind, state }) =>
          NOTICES.every((one) => one !== kind) || (state !== "queued" && state !== "sending"),
      },
    },
    withheld: ["onSettled", "sealedBotToken", "secret"],
  },
  chatMoves: { keep: "chats that are set anywhere are known by them" },
};

/** The context of a bot token's envelope: it opens only for the user it was stored for. */
export function getBotTokenSeal(userId: string): SealContext {
  return { purpose: "messenger bot token", owner: userId };
}
