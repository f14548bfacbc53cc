import { bytesToHex } from "@noble/hashes/utils.js";
import type { WithoutSystemFields } from "convex/server";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc, Id } from "../_generated/dataModel";
import { internal } from "../_generated/api";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { isSet } from "../lib/env";
import { defined } from "../lib/objects";
import { NOBODY, queryBy, queryByBoth } from "../platform/records";
import { deriveSecret } from "../lib/crypto";
import { enqueueWork, findWork } from "../platform/work";
import { createRandomHex, findAccount } from "../identity/model";
import { renderCard, withPicture, type Button, type Paragraph } from "./format";
import type { Secret } from "./tables";

/** The kind of cards with a user's own text. */
export const NOTIFICATION = "notification";
/** The kind of the default bot's answers to the chat that wrote to it. */
export const ANSWER = "bot answer";

type Message = Doc<"messages">;
/** A card to send, before it becomes a row. */
export type OutgoingCard = Pick<Message, "userId" | "kind"> & {
  [Field in "bot" | "key" | "news" | "picture" | "replaces" | "sealedBotToken" | "secret" | "topic"]?:
    | Message[Field]
    | undefined;
} & {
  /** A chat for this card only: `chat` or `chat:topic`. */
  chatId?: string | undefined;
  paragraphs: readonly Paragraph[];
  /** Rows of buttons. */
  buttons?: readonly (readonly Button[])[] | undefined;
  /** `handle` comes from `createFunctionHandle`. */
  onSettled?: NonNullable<Message["onSettled"]>;
};

/** A chat, with the topic in it if there is one (of a forum, or of a private chat). */
type Place = { chatId: string; threadId?: number };

/** Parses the form of settings: `chat` or `chat:topic`. */
export function parsePlace(written: string): Place {
  const [, chatId = written, thread] = /^(-?\d+):(\d{1,10})$/.exec(written) ?? [];
  return thread === undefined ? { chatId } : { chatId, threadId: Number(thread) };
}

/** The form of settings. */
export const formatPlace = ({ chatId, threadId }: Place): string =>
  threadId === undefined ? chatId : `${chatId}:${threadId}`;

/**
 * Puts a card into the outbox, in the transaction that decides to send it.
 * @example await enqueueCard(ctx, { userId, kind: "report", key: reportId, paragraphs: [[{ bold: "Title" }], ["Text."]] });
 */
export async function enqueueCard(ctx: MutationCtx, card: OutgoingCard): Promise<Id<"messages">> {
  const { userId, kind, key, picture, paragraphs, chatId, buttons, ...fields } = card;
  const same = key === undefined ? null : await getOneFrom(ctx.db, "messages", "by_key", key);
  if (same !== null) return same._id;
  const rendered = renderCard(paragraphs);
  const messageId = await ctx.db.insert("messages", {
    userId,
    kind,
    ...defined({ key, picture, buttons: buttons?.map((row) => [...row]), ...fields }),
    ...(chatId === undefined ? {} : parsePlace(chatId)),
    parts: picture === undefined ? rendered : withPicture(rendered),
    partsSent: 0,
    state: "queued",
    dueAt: Date.now(),
    doubts: 0,
    postponements: 0,
  });
  await openDelivery(ctx);
  return messageId;
}

/** The subject of the one piece of work that delivers all cards. */
const DELIVERY = "delivery of cards";

export async function isDelivering(ctx: QueryCtx): Promise<boolean> {
  return (await findWork(ctx, DELIVERY)) !== null;
}

/** Cards of a state that are due, the longest due first. @param until Epoch ms. @param withNews Whether news is among them. */
export function queryDueCards(
  ctx: QueryCtx,
  state: "queued" | "sending",
  until: number,
  withNews: boolean = true,
) {
  const cards = ctx.db.query("messages");
  return withNews
    ? cards.withIndex("by_state_and_dueAt", (q) => q.eq("state", state).lte("dueAt", until))
    : cards.withIndex("by_state_and_news", (q) =>
        q.eq("state", state).eq("news", undefined).lte("dueAt", until),
      );
}

/** Has due cards delivered: by the delivery that is under way, or by a new one. */
export async function openDelivery(ctx: MutationCtx): Promise<void> {
  if (await isDelivering(ctx)) return;
  await enqueueWork(ctx, internal.messenger.actions.deliverCards, {}, { subject: DELIVERY });
}

/**
 * Queues a card for the service's own chat.
 * @returns `null` if no default bot or no default chat is configured: nothing is queued.
 */
export async function enqueueServiceCard(
  ctx: MutationCtx,
  card: Omit<OutgoingCard, "userId" | "chatId">,
): Promise<Id<"messages"> | null> {
  if (!isSet("MESSENGER_BOT_TOKEN") || !isSet("MESSENGER_CHAT_ID")) return null;
  return enqueueCard(ctx, { ...card, userId: NOBODY });
}

/**
 * Queues a card for a user's own chat (one they have set, or the account of a confirmed link). Never for the service's own
 * chat: its readers did not request it, and the caller would learn that it arrived.
 * @returns `null` for a user without one: nothing is queued.
 */
export async function enqueueOwnCard(ctx: MutationCtx, card: OutgoingCard): Promise<Id<"messages"> | null> {
  const chatId = (await findConfig(ctx, card.userId))?.chatId ?? (await findLinkedChat(ctx, card.userId));
  return chatId === null ? null : enqueueCard(ctx, card);
}

/** The reason in the row of a cancelled card. */
const CANCELLED = "called off";

/** Cancels the unsent cards of a topic; a card that is being sent stops after its current part. */
export async function cancelCards(ctx: MutationCtx, topic: string): Promise<void> {
  for (const state of ["queued", "sending"] as const) {
    const cards = await queryByBoth(ctx.db.query("messages"), "topic", topic, "state", state).take(20);
    for (const { _id } of cards) {
      await ctx.db.patch("messages", _id, { state: "skipped", error: CANCELLED });
    }
  }
}

export async function findConfig(ctx: QueryCtx, userId: string): Promise<Doc<"messengerConfigs"> | null> {
  return getOneFrom(ctx.db, "messengerConfigs", "by_userId", userId);
}

/** The messenger account a user has linked, or `null`. */
export async function findLink(ctx: QueryCtx, userId: string): Promise<Doc<"messengerLinks"> | null> {
  return getOneFrom(ctx.db, "messengerLinks", "by_userId", userId);
}

/**
 * The prefix of the user id of a messenger account without a user, which is enough for alerts. No request can name such
 * a user, because a `userId` over HTTP has printable characters only.
 */
const CHAT_USER = "\u0002";

/** The user of a messenger account without a link. */
export const toChatUser = (messengerId: string): string => CHAT_USER + messengerId;
export const isChatUser = (userId: string): boolean => userId.startsWith(CHAT_USER);

/** The private chat of the messenger account with a confirmed link to a user, or `null`. */
export async function findLinkedChat(ctx: QueryCtx, userId: string): Promise<string | null> {
  if (isChatUser(userId)) return userId.slice(CHAT_USER.length);
  const link = await findLink(ctx, userId);
  // Any caller can POST /messenger/connect with any account.
  if (link?.confirmedAt === undefined) return null;
  // An account's id is its private chat's.
  return /^[1-9]\d{0,15}$/.test(link.messengerId) ? link.messengerId : null;
}

/** The formerly linked messenger account, for as long as it may freeze and no other account acts in its place. */
export async function findFormerLink(ctx: QueryCtx, userId: string, now: number) {
  const former = (await findAccount(ctx, userId))?.formerLink;
  return former !== undefined && former.until > now ? former : null;
}

/**
 * The link whose account approves a user's orders: a confirmed one with a chat, and not while a formerly linked account
 * may still freeze. `null` without one.
 */
export async function findApprovingLink(
  ctx: QueryCtx,
  userId: string,
  now: number,
): Promise<Doc<"messengerLinks"> | null> {
  const chat = await findLinkedChat(ctx, userId);
  const former = await findFormerLink(ctx, userId, now);
  if (chat === null || (former !== null && former.messengerId !== chat)) return null;
  return findLink(ctx, userId);
}

/** Whether a chat, in any topic, is the user's own: the one in their settings, or their linked account's. */
export async function isOwnChat(ctx: QueryCtx, userId: string, place: string): Promise<boolean> {
  const { chatId } = parsePlace(place);
  const set = parsePlace((await findConfig(ctx, userId))?.chatId ?? "").chatId;
  const moved = (await getOneFrom(ctx.db, "chatMoves", "by_from", set))?.to;
  return set === chatId || moved === chatId || (await findLinkedChat(ctx, userId)) === chatId;
}

/** The link of a messenger account, or `null`. */
export async function findLinkOfMessenger(
  ctx: QueryCtx,
  messengerId: string,
): Promise<Doc<"messengerLinks"> | null> {
  return getOneFrom(ctx.db, "messengerLinks", "by_messengerId", messengerId);
}

/** The user of a messenger account's confirmed link, or `null`. */
export async function findUserOfMessenger(ctx: QueryCtx, messengerId: string): Promise<string | null> {
  const link = await findLinkOfMessenger(ctx, messengerId);
  return link?.confirmedAt === undefined ? null : link.userId;
}

/** 32 characters without 0, 1, I and O, so that a byte's low five bits choose one evenly. */
const ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/** The length of a link code: 40 random bits. */
export const CODE_LENGTH = 8;

/** Characters of five bits each, random unless they are derived from given bytes. */
export function createCodeText(
  length: number,
  bytes = crypto.getRandomValues(new Uint8Array(length)),
): string {
  return Array.from(bytes, (byte) => ALPHABET.charAt(byte & 31)).join("");
}

/** The texts of cards' secrets, by their kind: of a key, of a link to a page, of an address to call, and a code. */
const SECRETS: Readonly<Record<Secret["kind"], (bytes: Uint8Array<ArrayBuffer>) => string>> = {
  key: (bytes) => `mk_${bytesToHex(bytes)}`,
  page: bytesToHex,
  call: (bytes) => `st_${bytesToHex(bytes)}`,
  login: (bytes) => createCodeText(CODE_LENGTH, bytes.slice(0, CODE_LENGTH)),
};

/** The text of a card's secret, which is shown once and in no table. @throws AppError `not_configured` without WALLET_ENCRYPTION_KEY. */
export function deriveSecretText({ kind, seed }: Secret): string {
  return SECRETS[kind](deriveSecret(`secret of a card: ${kind}`, seed));
}

/** A new secret for a card, and its text. @throws AppError as `deriveSecretText` */
export function createSecret(kind: Secret["kind"]): { secret: Secret; text: string } {
  const secret = { kind, seed: createRandomHex(16) };
  return { secret, text: deriveSecretText(secret) };
}

/**
 * The stored form of a code: keyed by the deployment, because 40 bits could be searched through. Cut to 128 bits, for
 * which a button has room. Lower case, spaces and dashes make no difference.
 * @throws AppError `not_configured` without WALLET_ENCRYPTION_KEY.
 */
export function hashCode(code: string): string {
  const secret = deriveSecret("messenger link code", code.replace(/[\s-]/g, "").toUpperCase());
  return bytesToHex(secret.slice(0, 16));
}

type Code = Doc<"codes">;

/** The open or expired code of a kind by its hash, or `null`. */
export async function findCodeByHash(
  ctx: QueryCtx,
  kind: Code["kind"],
  codeHash: string,
): Promise<Code | null> {
  const code = await getOneFrom(ctx.db, "codes", "by_codeHash", codeHash);
  return code?.kind === kind ? code : null;
}

/** A user's latest code of a kind, perhaps expired, or `null`. */
async function findCode(ctx: QueryCtx, userId: string, kind: Code["kind"]): Promise<Code | null> {
  return queryByBoth(ctx.db.query("codes"), "userId", userId, "kind", kind).unique();
}

/** Stores a user's code; it replaces the earlier one of its kind. */
export async function replaceCode(ctx: MutationCtx, code: WithoutSystemFields<Code>): Promise<void> {
  const earlier = await findCode(ctx, code.userId, code.kind);
  if (earlier === null) await ctx.db.insert("codes", code);
  else await ctx.db.replace("codes", earlier._id, code);
}

/** Withdraws a user's open code of a kind, if there is one. */
export async function withdrawCode(ctx: MutationCtx, userId: string, kind: Code["kind"]): Promise<void> {
  const code = await findCode(ctx, userId, kind);
  if (code !== null) await ctx.db.delete("codes", code._id);
}

/** Why the user's latest settled card did not arrive, in the messenger's or the service's words; `null` if it did. */
export async function getDeliveryProblem(ctx: QueryCtx, userId: string): Promise<string | null> {
  // Enough for the start notices of ten shifts.
  const latest = await queryBy(ctx.db.query("messages"), "userId", userId).order("desc").take(12);
  const ended = latest.find(({ state, error }) => !/^(?:queued|sending)$/.test(state) && error !== CANCELLED);
  return ended === undefined || ended.state === "sent" ? null : (ended.error ?? "It was not accepted");
}
