import type { Doc } from "../_generated/dataModel";
import { internal } from "../_generated/api";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { recordAudit } from "../lib/records/audit";
import { dateTime, HOUR } from "../lib/time";
import { changeRules, formerAccount, levelRowOf, settingAt } from "../users/levels";
import { accountOfLogin, messengerLogin, ownerOf } from "../users/model";
import type { Button, Paragraph } from "./format";
import {
  chatUser,
  codeOf,
  configOf,
  enqueueCard,
  linkedChat,
  linkOf,
  linkOfAccount,
  saveConfig,
  userOfAccount,
  type ConfigChanges,
} from "./model";
import { tellEverywhere } from "./notices";

/**
 * Which messenger account has a say about a user's money, and its freeze. A link that ends keeps its say for two hours:
 * until then no other account approves anything, and the former account can freeze, which restores its link. Plain
 * functions, steps of their caller's mutation.
 */

const SAY_MS = 2 * HOUR;

/** A button that stops everything. */
export const FREEZE: Button[][] = [[{ text: "🧊 Freeze", command: "freeze" }]];

/** The user about whom an account has a say: by its link, or by the one that it had until recently. */
export async function userInSay(ctx: QueryCtx, messengerId: string, now: number): Promise<string | null> {
  const linked = await userOfAccount(ctx, messengerId);
  if (linked !== null) return linked;
  const row = await ctx.db
    .query("accountLevels")
    .withIndex("by_formerLink", (q) => q.eq("formerLink.messengerId", messengerId))
    .order("desc")
    .first();
  return row?.formerLink !== undefined && row.formerLink.until > now ? row.userId : null;
}

/** Whether an account is the only login of a user: nobody else can approve anything of theirs, or end a freeze. */
export async function isLogin(ctx: QueryCtx, userId: string, messengerId: string): Promise<boolean> {
  return (await ownerOf(ctx, userId))?.tokenIdentifier === messengerLogin(messengerId);
}

/** Links the account that is a user's login. Unconfirmed links that others have made for either are replaced. */
export async function linkOwner(ctx: MutationCtx, userId: string, messengerId: string): Promise<void> {
  for (const link of [await linkOf(ctx, userId), await linkOfAccount(ctx, messengerId)]) {
    if (link !== null && (await ctx.db.get("messengerLinks", link._id)) !== null)
      await ctx.db.delete("messengerLinks", link._id);
  }
  const now = Date.now();
  await ctx.db.insert("messengerLinks", { messengerId, userId, linkedAt: now, confirmedAt: now });
  await noteLink(ctx, userId, messengerId);
}

/**
 * Handles a newly confirmed link: questions to another account become void, everybody who has a say is notified, and what
 * the chat had is its user's.
 */
export async function noteLink(ctx: MutationCtx, userId: string, messengerId: string): Promise<void> {
  await ctx.runMutation(internal.alerts.model.adopt, { from: chatUser(messengerId), to: userId });
  const former = await formerAccount(ctx, userId, Date.now());
  const row = await levelRowOf(ctx, userId);
  await changeRules(ctx, userId, row === null ? {} : { linked: true });
  if (former === null || former === messengerId) return;
  const until = row?.formerLink?.until ?? 0;
  const paragraphs: Paragraph[] = [
    [{ bold: "🔐 Another messenger account is linked to your account" }],
    [`From ${dateTime(until)} on it approves what moves your money.`],
  ];
  await tellEverywhere(ctx, { userId, kind: "change of chat", paragraphs, buttons: FREEZE });
}

/**
 * Changes where an owner's cards go, for a caller who may. The linked account and the previous chat are notified.
 * @param changes As `saveConfig`.
 */
export async function changeDelivery(
  ctx: MutationCtx,
  userId: string,
  changes: ConfigChanges,
): Promise<void> {
  const before = await configOf(ctx, userId);
  const paragraphs: Paragraph[] = [
    [{ bold: "🔀 Your cards go elsewhere" }],
    ["Your account has other messenger settings. If that was not you, freeze it and set them back."],
  ];
  const card = { userId, kind: "change of chat" as const, paragraphs };
  const isMoved = changes.chatId !== undefined && changes.chatId !== before?.chatId;
  if (isMoved || typeof changes.sealedBotToken === "string") {
    if (before?.chatId !== undefined) await enqueueCard(ctx, { ...card, chatId: before.chatId });
    const linked = await linkedChat(ctx, userId);
    if (linked !== null && linked !== before?.chatId)
      await enqueueCard(ctx, { ...card, chatId: linked, bot: "default", buttons: FREEZE });
  }
  await saveConfig(ctx, userId, changes);
  await recordAudit(ctx, { actor: userId, action: "delivery changed", subject: userId });
}

/**
 * Unlinks an account, and withdraws the open code of its user. A confirmed account is notified that its link has ended,
 * and keeps its say for two hours, unless it has unlinked itself.
 */
export async function dropLink(
  ctx: MutationCtx,
  link: Doc<"messengerLinks">,
  by: "account" | "token",
): Promise<void> {
  const { _id, userId, messengerId } = link;
  await ctx.db.delete("messengerLinks", _id);
  const code = await codeOf(ctx, userId, "link");
  if (code !== null) await ctx.db.delete("codes", code._id);
  if (link.confirmedAt === undefined || by === "account") return changeRules(ctx, userId);
  const now = Date.now();
  // Unlinking one account after the other does not end the say of the first.
  if ((await formerAccount(ctx, userId, now)) !== null) return changeRules(ctx, userId);
  const until = now + SAY_MS;
  await changeRules(ctx, userId, { formerLink: { messengerId, until } });
  await recordAudit(ctx, { actor: userId, action: "link dropped", subject: _id });
  await ctx.scheduler.runAt(until, internal.messenger.links.forgetFormer, { userId });
  const paragraphs: Paragraph[] = [
    [{ bold: "🔐 A messenger account is unlinked from your account" }],
    [
      `Until ${dateTime(until)} no other account approves anything in its place, and it can still freeze the account, which brings the link back.`,
    ],
  ];
  await tellEverywhere(ctx, { userId, kind: "change of chat", paragraphs, buttons: FREEZE });
}

/**
 * Stops everything that would be signed for an account's wallets, cancels pending changes that would loosen its rules,
 * and notifies it. Freezing a frozen account does so again: it may have been loosened, linked elsewhere or set to thaw
 * since.
 * @param from The channel on which it was ordered.
 */
export async function freezeAccount(ctx: MutationCtx, userId: string, from: "chat" | "token"): Promise<void> {
  const row = await levelRowOf(ctx, userId);
  const now = Date.now();
  await restoreLink(ctx, userId, now);
  await changeRules(ctx, userId, {
    ...{ setting: settingAt(row, now), next: undefined },
    ...{ frozenAt: now, calledOffAt: now, formerLink: undefined },
  });
  await recordAudit(ctx, { actor: userId, action: "account frozen", subject: from });
  const login = accountOfLogin((await ownerOf(ctx, userId))?.tokenIdentifier ?? "");
  const paragraphs = [...FROZEN, login === null ? BY_TOKEN : BY_CHAT];
  await tellEverywhere(ctx, { userId, kind: "level", paragraphs });
}

/**
 * Ends a freeze two hours from now, if the account is the owner's login; an account that a web application's user has
 * linked cannot. A freeze meanwhile stands.
 * @returns The end of the freeze, epoch ms.
 * @throws AppError `conflict` if nothing is frozen; `forbidden`.
 */
export async function thaw(ctx: MutationCtx, userId: string, messengerId: string): Promise<number> {
  const row = await levelRowOf(ctx, userId);
  if (row?.frozenAt === undefined) throw new AppError("conflict", "Your account is not frozen");
  if (!(await isLogin(ctx, userId, messengerId)))
    throw new AppError("forbidden", "Sign in to the web application to end a freeze");
  const from = Date.now() + SAY_MS;
  await ctx.scheduler.runAt(from, internal.messenger.links.thawed, { userId, frozenAt: row.frozenAt });
  return from;
}

/** Restores the former account in place of the one that was to follow it. */
async function restoreLink(ctx: MutationCtx, userId: string, now: number): Promise<void> {
  const former = await formerAccount(ctx, userId, now);
  if (former === null || (await linkOfAccount(ctx, former)) !== null) return;
  const present = await linkOf(ctx, userId);
  if (present !== null) await ctx.db.delete("messengerLinks", present._id);
  const subject = await ctx.db.insert("messengerLinks", {
    ...{ messengerId: former, userId },
    ...{ linkedAt: now, confirmedAt: now },
  });
  await recordAudit(ctx, { actor: userId, action: "link restored", subject });
  if (present?.confirmedAt === undefined) return;
  const paragraphs = [
    [{ bold: "🔐 This chat is not linked any more: the account that it was linked to was frozen" }],
  ];
  await enqueueCard(ctx, {
    ...{ userId, chatId: present.messengerId, bot: "default" },
    ...{ kind: "change of chat", paragraphs },
  });
}

/** Ends a freeze, and notifies. Earlier permissions stay void. */
export async function endFreeze(ctx: MutationCtx, userId: string, from: "chat" | "token"): Promise<void> {
  await changeRules(ctx, userId, { frozenAt: undefined });
  await recordAudit(ctx, { actor: userId, action: "account unfrozen", subject: from });
  const paragraphs = [[{ bold: "☀️ Your account is not frozen any more" }]];
  await tellEverywhere(ctx, { userId, kind: "level", paragraphs });
}

const FROZEN: Paragraph[] = [
  [{ bold: "🧊 Your account is frozen" }],
  [
    "From now on nothing is signed for its wallets, no matter who asks. Transactions that were sent to the chain before may still be mined.",
  ],
];
/** The ways to end it. */
const BY_TOKEN: Paragraph = ["To end it, sign in to the web application."];
const BY_CHAT: Paragraph = [{ command: "unfreeze" }, " in your chat with the bot ends it, two hours later."];
