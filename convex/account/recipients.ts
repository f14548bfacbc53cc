import { v, type Infer } from "convex/values";
import { internalMutation, mutation, query, type MutationCtx } from "../_generated/server";
import { recordAudit } from "../lib/records/audit";
import { AppError } from "../lib/errors";
import { charge } from "../lib/limits/charges";
import { dateTime } from "../lib/time";
import type { Paragraph } from "../messenger/format";
import { tellEverywhere } from "../messenger/notices";
import { liveRules } from "../users/levels";
import { requireUser } from "../users/model";
import { allListed, list, unlist } from "../wallets/allowlist";
import { recipientFrom } from "../wallets/recipients";

/** The caller's list of recipients: only to these may wallets send more than small amounts without a tap. */

/** Times in epoch ms; the entry counts from `countsFrom` on. */
const vListed = v.object({ address: v.string(), addedAt: v.number(), countsFrom: v.number() });

/** The caller's list, by address. */
export const mine = query({
  args: {},
  returns: v.array(vListed),
  handler: async (ctx) => allListed(ctx, (await requireUser(ctx)).userId),
});

/**
 * Puts an address on the list. It counts two hours later, and every channel of the account is notified.
 * @throws AppError `invalid_request` if it is not an address, or money sent there would be lost; `conflict` if the list is
 * full; `rate_limited`; `paused` while the account is frozen.
 */
export const add = mutation({
  args: { address: v.string() },
  returns: vListed,
  handler: async (ctx, { address }) => added(ctx, (await requireUser(ctx)).userId, address),
});

/** The same from the owner's chat. */
export const addFor = internalMutation({
  args: { userId: v.string(), address: v.string() },
  returns: vListed,
  handler: async (ctx, { userId, address }) => added(ctx, userId, address),
});

async function added(ctx: MutationCtx, userId: string, written: string): Promise<Infer<typeof vListed>> {
  await charge(ctx, "settings", { userId, address: null });
  await liveRules(ctx, userId);
  const { isNew, ...entry } = await list(ctx, userId, recipientFrom(written));
  if (!isNew) return entry;
  const { address, countsFrom } = entry;
  await recordAudit(ctx, { actor: userId, action: "recipient added", subject: address });
  const paragraphs: Paragraph[] = [
    [{ bold: "🔐 Your account has a new recipient" }],
    [address],
    [
      `From ${dateTime(countsFrom)} on your wallets may send to it without a tap, as far as your limits go. If that was not you, freeze your account before then.`,
    ],
  ];
  await tellEverywhere(ctx, { userId, kind: "level", paragraphs });
  return entry;
}

/** Takes an address off the list at once. @throws AppError `not_found`; `invalid_request` if it is not an address. */
export const remove = mutation({
  args: { address: v.string() },
  returns: v.null(),
  handler: async (ctx, { address }) => removed(ctx, (await requireUser(ctx)).userId, address),
});

/** The same from the owner's chat. */
export const removeFor = internalMutation({
  args: { userId: v.string(), address: v.string() },
  returns: v.null(),
  handler: async (ctx, { userId, address }) => removed(ctx, userId, address),
});

async function removed(ctx: MutationCtx, userId: string, written: string): Promise<null> {
  const address = recipientFrom(written);
  if (!(await unlist(ctx, userId, address)))
    throw new AppError("not_found", "This address is not on the list");
  await recordAudit(ctx, { actor: userId, action: "recipient removed", subject: address });
  const paragraphs: Paragraph[] = [[{ bold: "🔐 A recipient was removed from your list" }], [address]];
  await tellEverywhere(ctx, { userId, kind: "level", paragraphs });
  return null;
}
