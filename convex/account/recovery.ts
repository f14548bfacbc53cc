import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, mutation, query, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { OPERATOR, recordAudit } from "../lib/records/audit";
import { AppError } from "../lib/errors";
import { rowsByBoth } from "../lib/records/rows";
import { dateTime, HOUR } from "../lib/time";
import type { Paragraph } from "../messenger/format";
import { tellEverywhere } from "../messenger/notices";
import { ownerOf, requireUser, userOfToken } from "../users/model";
import { userIdByAddress } from "../wallets/model";
import { isInUse } from "./ownership/binding";

/**
 * A user who has lost their login gets the account back under another one. An operator opens the change; it is recorded
 * in the audit trail, every channel of the user is notified, and it takes effect after 48 hours unless the user refuses.
 */

/** Long enough for the user to read a notice, whatever the day. */
const DELAY_MS = 48 * HOUR;

const vRebind = v.object({
  rebindId: v.id("rebinds"),
  /** Epoch ms. */
  dueAt: v.number(),
});

/**
 * For an operator who knows whose account it is:
 * `npx convex run account/recovery:open '{"address":"0x…","tokenIdentifier":"<issuer>|<subject>","reason":"…"}'`.
 * @param args.address One of the user's wallets, or an address they linked, because the userId is their secret.
 * @param args.tokenIdentifier The new login, as the identity provider's tokens name it. It may have signed in before if
 * its own account is not in use.
 * @throws AppError `not_found` if the address belongs to no signed-in user; `conflict` if a change is open already, or the
 * new login's own account is in use; `invalid_request` for the present login.
 */
export const open = internalMutation({
  args: { address: v.string(), tokenIdentifier: v.string(), reason: v.string() },
  returns: vRebind,
  handler: async (ctx, { address, tokenIdentifier, reason }) => {
    const userId = await userIdByAddress(ctx, address);
    const user = userId === null ? null : await ownerOf(ctx, userId);
    if (user === null) throw new AppError("not_found", "No signed-in user has this address");
    if (tokenIdentifier.trim() === "" || tokenIdentifier === user.tokenIdentifier)
      throw new AppError("invalid_request", "tokenIdentifier must be another login");
    if ((await openRebind(ctx, user.userId)) !== null)
      throw new AppError("conflict", "A change of this user's login is already open");
    await assertFree(ctx, tokenIdentifier);
    const openedAt = Date.now();
    const dueAt = openedAt + DELAY_MS;
    const rebindId = await ctx.db.insert("rebinds", {
      userId: user.userId,
      from: user.tokenIdentifier,
      to: tokenIdentifier,
      reason,
      openedAt,
      dueAt,
      state: "open",
    });
    await ctx.scheduler.runAt(dueAt, internal.account.recovery.carryOut, { rebindId });
    await recordAudit(ctx, {
      actor: OPERATOR,
      action: "rebind opened",
      subject: rebindId,
      detail: `${address}: ${reason}`,
    });
    await tell(ctx, user.userId, [
      [{ bold: "🔐 Your account will get another login" }],
      [
        `The people who run this service were told that your login is lost. On ${dateTime(dueAt)} your account and its wallets will be bound to another one.`,
      ],
      ["If you did not ask for that, sign in to the web application before then and refuse it."],
    ]);
    return { rebindId, dueAt };
  },
});

/**
 * Binds the account to its new login when the time is over, if nobody has refused and the new login is still free. It is
 * scheduled; after restoring a backup, an operator runs it for changes that were open.
 */
export const carryOut = change({ rebindId: v.id("rebinds") }, async (ctx, { rebindId }) => {
  const rebind = await ctx.db.get("rebinds", rebindId);
  if (rebind?.state !== "open" || rebind.dueAt > Date.now()) return;
  const user = await ownerOf(ctx, rebind.userId);
  if (user?.tokenIdentifier !== rebind.from) return end(ctx, rebind, "refused", "the login has changed");
  const own = await userOfToken(ctx, rebind.to);
  if (own !== null && (await isInUse(ctx, own.userId)))
    return end(ctx, rebind, "refused", "the new login's own account is in use");
  if (own !== null) await ctx.db.delete("users", own._id);
  await ctx.db.patch("users", user._id, { tokenIdentifier: rebind.to });
  await tell(ctx, rebind.userId, [
    [{ bold: "🔐 Your account has another login" }],
    ["From now on only the new login can move its money."],
  ]);
  await end(ctx, rebind, "done");
});

/** For an operator who was misled: `npx convex run account/recovery:withdraw '{"rebindId":"…"}'`. */
export const withdraw = change({ rebindId: v.id("rebinds") }, async (ctx, { rebindId }) => {
  const rebind = await ctx.db.get("rebinds", rebindId);
  if (rebind?.state !== "open") throw new AppError("not_found", "No change of a login is open by this id");
  await end(ctx, rebind, "withdrawn");
});

/** When the caller's account will get another login (epoch ms); `null` if no change is open. */
export const pending = query({
  args: {},
  returns: v.union(v.number(), v.null()),
  handler: async (ctx) => (await openRebind(ctx, (await requireUser(ctx)).userId))?.dueAt ?? null,
});

/** Refuses the change: the caller still has their login. @throws AppError `not_found` if no change is open. */
export const refuse = mutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    const rebind = await openRebind(ctx, userId);
    if (rebind === null) throw new AppError("not_found", "No change of this user's login is open");
    return end(ctx, rebind, "refused", "by the user");
  },
});

async function end(
  ctx: MutationCtx,
  { _id, userId }: Doc<"rebinds">,
  state: Exclude<Doc<"rebinds">["state"], "open">,
  detail?: string,
): Promise<void> {
  await ctx.db.patch("rebinds", _id, { state, endedAt: Date.now() });
  const actor = detail === "by the user" ? userId : OPERATOR;
  const event = { actor, action: `rebind ${state}` as const, subject: _id };
  await recordAudit(ctx, { ...event, ...(detail === undefined ? {} : { detail }) });
}

async function openRebind(ctx: QueryCtx, userId: string): Promise<Doc<"rebinds"> | null> {
  return rowsByBoth(ctx.db.query("rebinds"), "userId", userId, "state", "open").unique();
}

async function assertFree(ctx: QueryCtx, tokenIdentifier: string): Promise<void> {
  const own = await userOfToken(ctx, tokenIdentifier);
  if (own !== null && (await isInUse(ctx, own.userId)))
    throw new AppError("conflict", "The new login's own account is in use");
}

async function tell(ctx: MutationCtx, userId: string, paragraphs: readonly Paragraph[]): Promise<void> {
  await tellEverywhere(ctx, { userId, kind: "change of login", paragraphs });
}
