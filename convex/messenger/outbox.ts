import type { FunctionHandle } from "convex/server";
import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, type ActionCtx, type MutationCtx } from "../_generated/server";
import { lostWork } from "../lib/cronRuns";
import { messageOf } from "../lib/errors";
import { NOBODY } from "../lib/ids";
import { namedChatHasLeft } from "../lib/limits";
import { log } from "../lib/log";
import { providerAction } from "../lib/providerCalls";
import { holdersOf } from "../lib/shares";
import { DAY, MINUTE, SECOND } from "../lib/time";
import { isReachable, sendMessage, sendPhoto } from "../providers/messenger";
import { afterStep, beginTry, goesWithPicture, vStep, type Change, type Step } from "./delivery";
import { marked, plainText } from "./format";
import { configOf, linkedChat, scheduleDelivery, userOfAccount } from "./model";
import { ANSWER, NOTIFICATION, OWNERSHIP } from "./notices";
import { routeOf } from "./routes";
import { vKeyboard, vPicture, type Picture } from "./tables";

const vTry = v.object({
  attempt: v.number(),
  userId: v.string(),
  /** The next part, and how many have arrived before it. */
  part: v.string(),
  plain: v.boolean(),
  /** What draws the picture that the part is the caption of. */
  picture: v.union(vPicture, v.null()),
  keyboard: vKeyboard,
  /** The messenger's id of the message that the part takes the place of. */
  edits: v.union(v.number(), v.null()),
  /** Its last sending has an unknown outcome: probe before sending it again. */
  doubtful: v.boolean(),
  sealedBotToken: v.union(v.string(), v.null()),
  chatId: v.union(v.string(), v.null()),
});

/** Delivers one card as far as the messenger lets it: claims it, sends part after part, marks each. */
export const deliver = providerAction({
  args: { messageId: v.id("messages") },
  returns: v.null(),
  handler: async (ctx, { messageId }) => {
    let next = await ctx.runMutation(internal.messenger.outbox.claim, { messageId });
    while (next !== null) {
      const { attempt } = next;
      const step = await stepOf(ctx, next);
      next = await ctx.runMutation(internal.messenger.outbox.mark, { messageId, attempt, step });
    }
    return null;
  },
});

/** Sends the next part, where there is a way and nothing speaks against it. */
async function stepOf(ctx: ActionCtx, next: Infer<typeof vTry>): Promise<Step> {
  const { keyboard, edits, plain, picture } = next;
  const route = await routeOf(next);
  if (route.kind === "closed") return route;
  if (next.doubtful && !(await isReachable(route.botToken))) return { kind: "unreachable" };
  const text = plain ? plainText(next.part) : next.part;
  const to = { chatId: route.chatId, html: !plain, keyboard };
  if (picture === null) return sendMessage(route.botToken, { ...to, text, edits });
  const png = await drawn(ctx, picture);
  return png === null ? { kind: "undrawn" } : sendPhoto(route.botToken, { ...to, png, caption: text });
}

/** The picture; `null` when there is nothing to draw, or drawing failed. */
async function drawn(ctx: ActionCtx, { handle, subject }: Picture): Promise<ArrayBuffer | null> {
  const drawing = handle as FunctionHandle<"action", { subject: string }, ArrayBuffer | null>;
  try {
    return await ctx.runAction(drawing, { subject });
  } catch (error) {
    log.error("messenger.undrawn", { error: messageOf(error) });
    return null;
  }
}

/** Takes the card for one try; `null` when it is not due, settled, or somebody else's. */
export const claim = internalMutation({
  args: { messageId: v.id("messages") },
  returns: v.union(vTry, v.null()),
  handler: async (ctx, { messageId }) => {
    const row = await ctx.db.get("messages", messageId);
    if (row === null || (await waitsForPlace(ctx, row))) return null;
    const change = beginTry(row, Date.now());
    return change === null ? null : apply(ctx, row, change);
  },
});

/** Whether the card that a card is to take the place of is still on its way; then it is tried behind that. */
async function waitsForPlace(ctx: MutationCtx, row: Doc<"messages">): Promise<boolean> {
  const now = Date.now();
  if (row.state !== "queued" || row.dueAt > now || row.replaces === undefined) return false;
  const before = "card" in row.replaces ? await ctx.db.get("messages", row.replaces.card) : null;
  if (before?.state !== "queued" && before?.state !== "sending") return false;
  const dueAt = Math.max(now, before.state === "queued" ? before.dueAt : now) + SECOND;
  await ctx.db.patch("messages", row._id, { dueAt });
  await scheduleDelivery(ctx, row._id, dueAt);
  return true;
}

/** The messenger's id of what a card takes the place of; `null` for a message of its own. */
async function placeOf(ctx: MutationCtx, { replaces, partsSent }: Doc<"messages">): Promise<number | null> {
  if (replaces === undefined || partsSent > 0) return null;
  if ("messageId" in replaces) return replaces.messageId;
  return (await ctx.db.get("messages", replaces.card))?.sentId ?? null;
}

/** Marks what became of the part under way; returns the next one to send, if any. A word from an earlier try is ignored. */
export const mark = internalMutation({
  args: { messageId: v.id("messages"), attempt: v.number(), step: vStep },
  returns: v.union(vTry, v.null()),
  handler: async (ctx, { messageId, attempt, step }) => {
    const row = await ctx.db.get("messages", messageId);
    if (row?.state !== "sending" || row.attempt !== attempt) return null;
    if (step.kind === "migrated") await followMigration(ctx, row, step.chatId);
    return apply(ctx, row, afterStep(row, step, Date.now()));
  },
});

/** Puts cards whose try was lost back on the way. For the cron: everything due a minute ago and not under way. */
export const resumeLost = lostWork(async (ctx, now) => {
  for (const state of ["queued", "sending"] as const) {
    const lost = await ctx.db
      .query("messages")
      .withIndex("by_state_and_dueAt", (q) => q.eq("state", state).lt("dueAt", now - MINUTE))
      .take(100);
    for (const { _id } of lost) await scheduleDelivery(ctx, _id);
  }
});

async function apply(
  ctx: MutationCtx,
  row: Doc<"messages">,
  change: Change,
): Promise<Infer<typeof vTry> | null> {
  await ctx.db.patch("messages", row._id, change);
  const after = await ctx.db.get("messages", row._id);
  switch (after?.state) {
    case "sending":
      return nextTry(ctx, after);
    case "queued":
      await scheduleDelivery(ctx, row._id, after.dueAt);
      return null;
    case "sent":
    case "failed":
    case "skipped":
      await settle(ctx, after);
      return null;
    case undefined:
      return null;
  }
}

/** A group that became a supergroup has a new id: the user's setting follows. */
async function followMigration(ctx: MutationCtx, row: Doc<"messages">, chatId: string): Promise<void> {
  const config = await configOf(ctx, row.userId);
  if (config?.chatId === undefined || row.chatId !== undefined) return;
  await ctx.db.patch("messengerConfigs", config._id, { chatId, updatedAt: Date.now() });
}

async function nextTry(ctx: MutationCtx, row: Doc<"messages">): Promise<Infer<typeof vTry> | null> {
  const config =
    row.place === undefined
      ? await configOf(ctx, row.userId)
      : await ctx.db.get("messengerConfigs", row.place);
  const linked = await linkedChat(ctx, row.userId);
  const chatId = row.chatId ?? config?.chatId ?? linked;
  const part = row.parts[row.partsSent] ?? "";
  const isByDefault = row.bot === "default" || config?.sealedBotToken === undefined;
  if (isByDefault && (await isAnothers(ctx, row, chatId))) {
    await apply(ctx, row, {
      state: "skipped",
      error: "The default bot does not write to this chat for this user",
    });
    return null;
  }
  // An answer goes to the chat that asked, and a user's own bot speaks for that user alone.
  const isOwn = row.kind === ANSWER || !isByDefault;
  const isNamed = chatId !== null && chatId !== linked && !isOwn;
  // Nobody's cards are the service's own: all others in its chat are of users who have none.
  const isLodger = chatId === null && row.userId !== NOBODY && !isOwn;
  const holders = row.holders ?? config?.setBy ?? holdersOf({ userId: row.userId, address: null });
  if ((isNamed || isLodger) && isFirstTry(row) && !(await namedChatHasLeft(ctx, chatId ?? "", holders))) {
    const error = isNamed
      ? "This chat gets too many cards of those who named it"
      : "The service's own chat gets too many cards of users without one";
    await apply(ctx, row, { state: "skipped", error });
    return null;
  }
  const now = Date.now();
  if (config !== null && row.chatId === undefined && now - config.updatedAt > DAY)
    await ctx.db.patch("messengerConfigs", config._id, { updatedAt: now });
  const isNotice = OWNERSHIP.some((kind) => kind === row.kind);
  const words = row.kind === NOTIFICATION ? "words" : isNotice ? "notice" : "card";
  const mark = isNamed ? words : isLodger ? "lodger" : null;
  return {
    attempt: row.attempt ?? 0,
    userId: row.userId,
    part: mark !== null && row.partsSent === 0 ? marked(part, mark) : part,
    plain: row.plain ?? false,
    picture: goesWithPicture(row) ? (row.picture ?? null) : null,
    keyboard: row.partsSent === row.parts.length - 1 ? (row.keyboard ?? []) : [],
    edits: await placeOf(ctx, row),
    doubtful: row.doubts > 0,
    sealedBotToken: row.bot === "default" ? null : (config?.sealedBotToken ?? null),
    chatId,
  };
}

/**
 * Whether a chat is an account's that is confirmed as another user's: by the bot that brings that user's own notices and
 * buttons, nobody else writes there. The service's own cards and answers are nobody's.
 */
async function isAnothers(
  ctx: MutationCtx,
  { userId }: Doc<"messages">,
  chatId: string | null,
): Promise<boolean> {
  if (userId === NOBODY || chatId === null) return false;
  const whose = await userOfAccount(ctx, chatId);
  return whose !== null && whose !== userId;
}

function isFirstTry({ partsSent, doubts, postponements }: Doc<"messages">): boolean {
  return partsSent + doubts + postponements === 0;
}

async function settle(ctx: MutationCtx, row: Doc<"messages">): Promise<void> {
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
    // Whoever is told cannot undo that the messenger has it: a mark that is rolled back is sent again.
    log.error("messenger.untold", { messageId: row._id, kind: row.kind, error: messageOf(failure) });
  }
}
