import type { Doc } from "../_generated/dataModel";
import { internal } from "../_generated/api";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { recordAudit } from "../lib/records/audit";
import { dateTime } from "../lib/time";
import { changeRules, formerLinkOf, LOOSENING_MS, loginOf, ownerOf } from "../accounts/model";
import type { Paragraph } from "./format";
import { chatUser, codeOf, enqueueCard, linkOf, linkOfAccount, userOfAccount } from "./model";
import { FREEZE, tellEverywhere } from "./notices";

/**
 * Which messenger account has a say about a user's money. For two hours after its owner has unlinked one, no other
 * approves anything in its place, and the former one can freeze, which restores its link. Plain functions, steps of their
 * caller's mutation.
 */

/** The user about whom an account has a say: by its link, or by the one that it had until recently. */
export async function userInSay(ctx: QueryCtx, messengerId: string, now: number): Promise<string | null> {
  const linked = await userOfAccount(ctx, messengerId);
  if (linked !== null) return linked;
  const former = await ctx.db
    .query("accounts")
    .withIndex("by_formerLink", (q) =>
      q.eq("formerLink.messengerId", messengerId).gt("formerLink.until", now),
    )
    .first();
  return former?.userId ?? null;
}

/** Whether an account is the only login of a user: nobody else can approve anything of theirs, or end a freeze. */
export async function isLogin(ctx: QueryCtx, userId: string, messengerId: string): Promise<boolean> {
  return (await ownerOf(ctx, userId))?.login === loginOf(messengerId);
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
  await changeRules(ctx, userId);
  const former = await formerLinkOf(ctx, userId, Date.now());
  if (former === null || former.messengerId === messengerId) return;
  const paragraphs: Paragraph[] = [
    [{ bold: "🔐 Another messenger account is linked to your account" }],
    [`From ${dateTime(former.until)} on it approves what moves your money.`],
  ];
  await tellEverywhere(ctx, { userId, kind: "change of chat", paragraphs, buttons: FREEZE });
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
  if ((await formerLinkOf(ctx, userId, now)) !== null) return changeRules(ctx, userId);
  const until = now + LOOSENING_MS;
  await changeRules(ctx, userId, { formerLink: { messengerId, until } });
  await recordAudit(ctx, { actor: userId, action: "link dropped", subject: _id });
  const paragraphs: Paragraph[] = [
    [{ bold: "🔐 A messenger account is unlinked from your account" }],
    [
      `Until ${dateTime(until)} no other account approves anything in its place, and it can still freeze the account, which brings the link back.`,
    ],
  ];
  await tellEverywhere(ctx, { userId, kind: "change of chat", paragraphs, buttons: FREEZE });
}

/** Restores the former account in place of the one that was to follow it. */
export async function restoreLink(ctx: MutationCtx, userId: string, now: number): Promise<void> {
  const former = await formerLinkOf(ctx, userId, now);
  if (former === null || (await linkOfAccount(ctx, former.messengerId)) !== null) return;
  const present = await linkOf(ctx, userId);
  if (present !== null) await ctx.db.delete("messengerLinks", present._id);
  const subject = await ctx.db.insert("messengerLinks", {
    messengerId: former.messengerId,
    userId,
    linkedAt: now,
    confirmedAt: now,
  });
  await recordAudit(ctx, { actor: userId, action: "link restored", subject });
  if (present?.confirmedAt === undefined) return;
  const paragraphs = [
    [{ bold: "🔐 This chat is not linked any more: the account that it was linked to was frozen" }],
  ];
  const to = { userId, chatId: present.messengerId, bot: "default" } as const;
  await enqueueCard(ctx, { ...to, kind: "change of chat", paragraphs });
}
