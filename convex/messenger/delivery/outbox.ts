import { getOrThrow } from "convex-helpers/server/relationships";
import type { FunctionHandle } from "convex/server";
import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, type MutationCtx } from "../../_generated/server";
import { messageOf } from "../../lib/errors";
import { NOBODY } from "../../lib/records/records";
import { namedChatHasLeft } from "../../lib/limits/pools";
import { log } from "../../lib/log";
import { holdersOf } from "../../lib/limits/shares";
import { keepNoted, vNoted } from "../../lib/outside/tallies";
import { DAY, SECOND } from "../../lib/time";
import { end, rest, underWay, vJob, workOn, type Job } from "../../lib/work/jobs";
import { afterStep, beginTry, countOf, goesWithPicture, vStep, type Change } from "./states";
import { marked } from "../format";
import { configOf, linkedChat, openDelivery, userOfAccount } from "../model";
import { ANSWER, NOTIFICATION, OWNERSHIP } from "../notices";
import { vKeyboard, vPicture } from "../tables";
import { formerAccount } from "../../users/levels";

const vPlace = v.object({ messageId: v.number(), isPicture: v.boolean() });

const vTry = v.object({
  userId: v.string(),
  /** The next part, and how many have arrived before it. */
  part: v.string(),
  plain: v.boolean(),
  /** The function that draws the picture whose caption the part is. */
  picture: v.union(vPicture, v.null()),
  keyboard: vKeyboard,
  /** The messenger's id of the message that the part replaces. */
  edits: v.union(vPlace, v.null()),
  /** Whether its last sending has an unknown outcome: then probe before sending it again. */
  doubtful: v.boolean(),
  sealedBotToken: v.union(v.string(), v.null()),
  chatId: v.union(v.string(), v.null()),
});
export type Try = Infer<typeof vTry>;
type Row = Doc<"messages">;
/** A card's row, stored or just changed. */
type Card = Omit<Row, "picture" | "replaces"> & {
  [Field in "picture" | "replaces"]?: Row[Field] | undefined;
};

/** How many cards are adopted in one transaction. */
const ADOPTED = 100;

/** Takes the card for one attempt; `null` if it is settled, or waits longer. */
export const claim = internalMutation({
  args: { messageId: v.id("messages"), job: vJob },
  returns: v.union(vTry, v.null()),
  handler: async (ctx, { messageId, job }) => {
    const row = await ctx.db.get("messages", messageId);
    const change = row === null ? null : beginTry(row, Date.now());
    if (row === null || change === null) {
      await end(ctx, job);
      return null;
    }
    return (await waitsForPlace(ctx, row, job)) ? null : apply(ctx, row, job, change);
  },
});

/** Whether the card that a card replaces is still being sent; then it is tried after that one. */
async function waitsForPlace(ctx: MutationCtx, row: Doc<"messages">, job: Job): Promise<boolean> {
  const now = Date.now();
  if (row.state !== "queued" || row.replaces === undefined) return false;
  const before = "card" in row.replaces ? await ctx.db.get("messages", row.replaces.card) : null;
  if (before?.state !== "queued" && before?.state !== "sending") return false;
  const dueAt = Math.max(now, before.state === "queued" ? before.dueAt : now) + SECOND;
  await ctx.db.patch("messages", row._id, { dueAt });
  return rest(ctx, job, dueAt - now);
}

/** The message that a card replaces; `null` for a message of its own. */
async function placeOf(
  ctx: MutationCtx,
  { replaces, partsSent }: Card,
): Promise<Infer<typeof vPlace> | null> {
  if (replaces === undefined || partsSent > 0) return null;
  if ("messageId" in replaces) return { isPicture: false, ...replaces };
  const card = await ctx.db.get("messages", replaces.card);
  return card?.sentId === undefined
    ? null
    : { messageId: card.sentId, isPicture: card.picture !== undefined };
}

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
    if (step.kind === "migrated") await followMigration(ctx, row, step.chatId);
    return apply(ctx, row, job, afterStep(row, step, Date.now()));
  },
});

/**
 * Starts the delivery of cards that an earlier version left waiting. For the operator, after an upgrade.
 * @returns How many of the first hundred; the others follow by themselves.
 */
export const adopt = internalMutation({
  args: { cursor: v.optional(v.string()) },
  returns: v.number(),
  handler: async (ctx, { cursor = null }): Promise<number> => {
    const waiting = await ctx.db
      .query("messages")
      .withIndex("by_state_and_dueAt", (q) => q.eq("state", "queued"))
      .paginate({ numItems: ADOPTED, cursor });
    let adopted = 0;
    for (const card of waiting.page) {
      if ((await workOn(ctx, card._id)) !== null) continue;
      await openDelivery(ctx, card);
      adopted++;
    }
    const next = { cursor: waiting.continueCursor };
    if (!waiting.isDone) await ctx.scheduler.runAfter(0, internal.messenger.delivery.outbox.adopt, next);
    return adopted;
  },
});

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
      await settle(ctx, after);
      return null;
  }
}

/** A group that became a supergroup has a new id: the user's setting follows it. */
async function followMigration(ctx: MutationCtx, row: Doc<"messages">, chatId: string): Promise<void> {
  const config = await configOf(ctx, row.userId);
  if (config?.chatId === undefined || row.chatId !== undefined) return;
  await ctx.db.patch("messengerConfigs", config._id, { chatId, updatedAt: Date.now() });
}

async function nextTry(ctx: MutationCtx, row: Card, job: Job): Promise<Try | null> {
  const config =
    row.place === undefined
      ? await configOf(ctx, row.userId)
      : await ctx.db.get("messengerConfigs", row.place);
  const linked = await linkedChat(ctx, row.userId);
  const chatId = row.chatId ?? config?.chatId ?? linked;
  const [count, parts] = [countOf(row), await partsOf(ctx, row)];
  const part = parts.at(row.partsSent - count) ?? "";
  const isByDefault = row.bot === "default" || config?.sealedBotToken === undefined;
  if (isByDefault && (await isAnothers(ctx, row, chatId))) {
    await apply(ctx, row, job, {
      state: "skipped",
      error: "The default bot does not write to this chat for this user",
    });
    return null;
  }
  // An answer goes to the chat that asked, and a user's own bot is only for that user.
  const isOwn = row.kind === ANSWER || !isByDefault;
  const hadSay = await formerAccount(ctx, row.userId, Date.now());
  const isNamed = chatId !== null && chatId !== linked && chatId !== hadSay && !isOwn;
  // Cards of nobody are the service's own; all others in its chat belong to users without a chat.
  const isLodger = chatId === null && row.userId !== NOBODY && !isOwn;
  const holders = row.holders ?? config?.setBy ?? holdersOf({ userId: row.userId, address: null });
  if ((isNamed || isLodger) && isFirstTry(row) && !(await namedChatHasLeft(ctx, chatId ?? "", holders))) {
    const error = isNamed
      ? "This chat gets too many cards from people who named it"
      : "The service's own chat gets too many cards from users without a chat";
    await apply(ctx, row, job, { state: "skipped", error });
    return null;
  }
  const now = Date.now();
  if (config !== null && row.chatId === undefined && now - config.updatedAt > DAY)
    await ctx.db.patch("messengerConfigs", config._id, { updatedAt: now });
  const isNotice = OWNERSHIP.some((kind) => kind === row.kind);
  const words = row.kind === NOTIFICATION ? "words" : isNotice ? "notice" : "card";
  const mark = isNamed ? words : isLodger ? "lodger" : null;
  return {
    userId: row.userId,
    part: mark !== null && row.partsSent === 0 ? marked(part, mark) : part,
    plain: row.plain ?? false,
    picture: goesWithPicture(row) ? (row.picture ?? null) : null,
    keyboard: row.partsSent === count - 1 ? (row.keyboard ?? []) : [],
    edits: await placeOf(ctx, row),
    doubtful: row.doubts > 0,
    sealedBotToken: row.bot === "default" ? null : (config?.sealedBotToken ?? null),
    chatId,
  };
}

async function partsOf(ctx: MutationCtx, { text, parts = [] }: Card): Promise<readonly string[]> {
  return text === undefined ? parts : (await getOrThrow(ctx, "cardTexts", text)).parts;
}

/**
 * Whether a chat belongs to an account that is confirmed as another user's: the bot brings that user's own notices and
 * buttons there, so nobody else may write. The service's own cards and answers belong to nobody.
 */
async function isAnothers(ctx: MutationCtx, { userId }: Card, chatId: string | null): Promise<boolean> {
  if (userId === NOBODY || chatId === null) return false;
  const whose = await userOfAccount(ctx, chatId);
  return whose !== null && whose !== userId;
}

function isFirstTry({ partsSent, doubts, postponements }: Card): boolean {
  return partsSent + doubts + postponements === 0;
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
