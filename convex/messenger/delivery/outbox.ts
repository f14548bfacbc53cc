import type { FunctionHandle } from "convex/server";
import { getOneFrom } from "convex-helpers/server/relationships";
import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { optional } from "../../lib/env";
import { messageOf } from "../../lib/errors";
import { hasLeft } from "../../lib/limits/charges";
import { log } from "../../lib/log";
import { keepNoted, vNoted } from "../../lib/outside/tallies";
import { NOBODY } from "../../lib/records/records";
import { DAY } from "../../lib/time";
import { end, rest, underWay, vJob, type Job } from "../../lib/work/jobs";
import { formerAccount } from "../../users/levels";
import { marked } from "../format";
import { configOf, linkedChat, placeIn, userOfAccount } from "../model";
import { ANSWER, NOTIFICATION, OWNERSHIP } from "../notices";
import { vKeyboard, vPicture, vReplaced } from "../tables";
import { afterStep, beginTry, vStep, type Change } from "./states";

/** Every step of a card's delivery after it was queued. */

const vTry = v.object({
  userId: v.string(),
  /** The next part. */
  part: v.string(),
  /** The function that draws the picture whose caption the part is. */
  picture: v.union(vPicture, v.null()),
  keyboard: vKeyboard,
  /** The message that the part replaces. */
  edits: v.union(vReplaced, v.null()),
  sealedBotToken: v.union(v.string(), v.null()),
  /** `null`: the service's own. */
  chatId: v.union(v.string(), v.null()),
  threadId: v.union(v.number(), v.null()),
  /** It may have arrived already. */
  isDoubtful: v.boolean(),
});
export type Try = Infer<typeof vTry>;

/** A card's row, stored or just changed. */
type Card = Omit<Doc<"messages">, "picture" | "replaces" | "threadId"> & {
  [Field in "picture" | "replaces" | "threadId"]?: Doc<"messages">[Field] | undefined;
};

/** Takes the card for one attempt; `null` if it is settled. */
export const claim = internalMutation({
  args: { messageId: v.id("messages"), job: vJob },
  returns: v.union(vTry, v.null()),
  handler: async (ctx, { messageId, job }) => {
    const row = await ctx.db.get("messages", messageId);
    const change = row === null ? null : beginTry(row, Date.now());
    if (row !== null && change !== null) return apply(ctx, row, job, change);
    await end(ctx, job);
    return null;
  },
});

/** Stores the outcome of the current part; returns the next one to send, if any. The result of an earlier attempt is ignored. */
export const mark = internalMutation({
  args: { messageId: v.id("messages"), job: vJob, step: vStep, noted: vNoted },
  returns: v.union(vTry, v.null()),
  handler: async (ctx, { messageId, job, step, noted }) => {
    await keepNoted(ctx, noted);
    if ((await underWay(ctx, job)) === null) return null;
    const row = await ctx.db.get("messages", messageId);
    if (row?.state !== "sending") {
      await end(ctx, job);
      return null;
    }
    if (step.kind === "migrated") {
      const { chatId } = await placeOf(ctx, row);
      const from = chatId ?? optional("MESSENGER_CHAT_ID");
      if (from !== undefined) await moveChat(ctx, from, step.chatId);
    }
    return apply(ctx, row, job, afterStep(row, step, Date.now()));
  },
});

/** Remembers that a group has become a supergroup, under a new id: whatever names the old one means the new one. */
export async function moveChat(ctx: MutationCtx, from: string, to: string): Promise<void> {
  const known = await getOneFrom(ctx.db, "chatMoves", "by_from", from);
  if (known === null) await ctx.db.insert("chatMoves", { from, to });
  else if (known.to !== to) await ctx.db.patch("chatMoves", known._id, { to });
}

async function apply(ctx: MutationCtx, row: Card, job: Job, change: Change): Promise<Try | null> {
  await ctx.db.patch("messages", row._id, change);
  const after: Card = { ...row, ...change };
  switch (after.state) {
    case "sending":
      return nextTry(ctx, after, job);
    case "queued":
      await rest(ctx, job, Math.max(0, after.dueAt - Date.now()));
      return null;
    case "sent":
    case "failed":
    case "skipped":
      await end(ctx, job);
      if (row.sealedBotToken !== undefined)
        await ctx.db.patch("messages", row._id, { sealedBotToken: undefined });
      await settle(ctx, after);
      return null;
  }
}

type Where = { chatId: string | null; threadId: number | null };

/** Where a card goes: to its own chat, else to the user's, else to the account of their link. */
async function placeOf(ctx: QueryCtx, row: Card): Promise<Where> {
  const config = await configOf(ctx, row.userId);
  const own = row.chatId === undefined ? (config?.chatId ?? (await linkedChat(ctx, row.userId))) : row.chatId;
  const { chatId, threadId } = own === null ? { chatId: null, threadId: undefined } : placeIn(own);
  const isByDefault = botOf(row, config) === null;
  const named = chatId ?? (isByDefault ? optional("MESSENGER_CHAT_ID") : undefined) ?? "";
  const moved = (await getOneFrom(ctx.db, "chatMoves", "by_from", named))?.to;
  return { chatId: moved ?? chatId, threadId: row.threadId ?? threadId ?? null };
}

/** The sealed token of the user's bot that sends a card; `null`: the default one does. */
function botOf({ bot, sealedBotToken }: Card, config: Doc<"messengerConfigs"> | null): string | null {
  return bot === "default" ? null : (sealedBotToken ?? config?.sealedBotToken ?? null);
}

async function nextTry(ctx: MutationCtx, row: Card, job: Job): Promise<Try | null> {
  const skip = async (error: string): Promise<null> => {
    await apply(ctx, row, job, { state: "skipped", error });
    return null;
  };
  const config = await configOf(ctx, row.userId);
  const { chatId, threadId } = await placeOf(ctx, row);
  const sealedBotToken = botOf(row, config);
  const isByDefault = sealedBotToken === null;
  if (isByDefault && (await isAnothers(ctx, row, chatId)))
    return skip("The default bot does not write to this chat for this user");
  const isUnasked = isByDefault && row.kind !== ANSWER && !(await isProven(ctx, row, chatId));
  const isFirst = row.partsSent + row.doubts + row.postponements === 0;
  // A limit of the chat, however many have named it.
  if (isUnasked && isFirst && !(await hasLeft(ctx, "namedChat", `chat:${chatId ?? "the service's own"}`)))
    return skip("This chat gets too many cards from people who named it");
  const now = Date.now();
  if (config !== null && row.chatId === undefined && now - config.updatedAt > DAY)
    await ctx.db.patch("messengerConfigs", config._id, { updatedAt: now });
  const part = row.parts[row.partsSent] ?? "";
  const isNotice = OWNERSHIP.some((kind) => kind === row.kind);
  const mark = row.kind === NOTIFICATION ? "words" : isNotice ? "notice" : "card";
  return {
    userId: row.userId,
    part: isUnasked && chatId !== null && row.partsSent === 0 ? marked(part, mark) : part,
    picture: row.partsSent === 0 ? (row.picture ?? null) : null,
    keyboard: row.partsSent === row.parts.length - 1 ? (row.keyboard ?? []) : [],
    edits: row.partsSent === 0 ? (row.replaces ?? null) : null,
    sealedBotToken,
    chatId,
    threadId,
    isDoubtful: row.doubts > 0,
  };
}

/**
 * Whether a chat belongs to an account that is confirmed as another user's: the bot brings that user's own notices and
 * buttons there, so nobody else may write. The service's own cards and answers belong to nobody.
 */
async function isAnothers(ctx: QueryCtx, { userId }: Card, chatId: string | null): Promise<boolean> {
  if (userId === NOBODY || chatId === null) return false;
  const whose = await userOfAccount(ctx, chatId);
  return whose !== null && whose !== userId;
}

/** Whether a chat is the user's by its account's own word; nobody's cards are the service's own. */
async function isProven(ctx: QueryCtx, { userId }: Card, chatId: string | null): Promise<boolean> {
  if (userId === NOBODY) return true;
  if (chatId === null) return false;
  return (
    chatId === (await linkedChat(ctx, userId)) || chatId === (await formerAccount(ctx, userId, Date.now()))
  );
}

async function settle(ctx: MutationCtx, row: Card): Promise<void> {
  const sent = row.state === "sent";
  if (!sent) log.warn("messenger.unsent", { messageId: row._id, kind: row.kind, state: row.state });
  if (row.onSettled === undefined || row.subject === undefined) return;
  const handle = row.onSettled as FunctionHandle<
    "mutation",
    { subject: string; sent: boolean; error?: string }
  >;
  const error = sent || row.error === undefined ? {} : { error: row.error };
  try {
    await ctx.runMutation(handle, { subject: row.subject, sent, ...error });
  } catch (failure) {
    // A failure of the caller's function must not undo this: a part whose outcome is rolled back would be sent again.
    log.error("messenger.untold", { messageId: row._id, kind: row.kind, error: messageOf(failure) });
  }
}
