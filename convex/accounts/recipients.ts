import { v, type Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { mutation, query, type MutationCtx, type QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { recipientFrom } from "../wallets/tokens";
import { rowsByBoth } from "../lib/records/rows";
import { dateTime } from "../lib/time";
import {
  announce,
  liveRules,
  LOOSENING_MS,
  MOST_LISTED,
  NOT_YOU,
  recipientsOf,
  requireSetter,
  requireUser,
} from "./model";

/** An owner's list of recipients: keys, the chat's own orders and posts send to these only. */

/** Times in epoch ms; the entry counts from `countsFrom` on. */
const vListed = v.object({ address: v.string(), addedAt: v.number(), countsFrom: v.number() });
export type Listed = Infer<typeof vListed>;

/** @param address Checksummed. */
export async function listedOf(
  ctx: QueryCtx,
  userId: string,
  address: string,
): Promise<Doc<"recipients"> | null> {
  return rowsByBoth(ctx.db.query("recipients"), "userId", userId, "address", address).unique();
}

/** The list, by address. */
export async function allListed(ctx: QueryCtx, userId: string): Promise<Listed[]> {
  const rows = await recipientsOf(ctx, userId);
  return rows.map(({ address, addedAt, countsFrom }) => ({ address, addedAt, countsFrom }));
}

/** The caller's list, by address. */
export const mine = query({
  args: {},
  returns: v.array(vListed),
  handler: async (ctx) => allListed(ctx, (await requireUser(ctx)).userId),
});

/**
 * Puts an address on the list; a listed one keeps its time. It counts two hours later, and every channel of the account
 * is told.
 * @throws AppError `invalid_request` if it is not an address, or money sent there would be lost; `conflict` if the list is
 * full; `rate_limited`; `paused` while the account is frozen.
 */
export const add = mutation({
  args: { address: v.string() },
  returns: vListed,
  handler: async (ctx, { address }) => addRecipient(ctx, (await requireSetter(ctx)).userId, address),
});

/** The same, for a caller who may. */
export async function addRecipient(ctx: MutationCtx, userId: string, written: string): Promise<Listed> {
  await liveRules(ctx, userId);
  const address = recipientFrom(written);
  const present = await listedOf(ctx, userId, address);
  if (present !== null) return { address, addedAt: present.addedAt, countsFrom: present.countsFrom };
  if ((await recipientsOf(ctx, userId)).length >= MOST_LISTED)
    throw new AppError("conflict", `At most ${MOST_LISTED} addresses can be on the list`);
  const addedAt = Date.now();
  const entry = { address, addedAt, countsFrom: addedAt + LOOSENING_MS };
  await ctx.db.insert("recipients", { userId, ...entry });
  await announce(ctx, userId, { action: "recipient added", subject: address }, [
    [{ bold: "🔐 Your account has a new recipient" }],
    [{ code: address }],
    [`From ${dateTime(entry.countsFrom)} on your keys, your chat and your posts may send to it.`],
    NOT_YOU,
  ]);
  return entry;
}

/** Takes an address off the list at once. @throws AppError `not_found`; `invalid_request` if it is not an address. */
export const remove = mutation({
  args: { address: v.string() },
  returns: v.null(),
  handler: async (ctx, { address }) => removeRecipient(ctx, (await requireUser(ctx)).userId, address),
});

/** The same, for a caller who may. */
export async function removeRecipient(ctx: MutationCtx, userId: string, written: string): Promise<null> {
  const address = recipientFrom(written);
  const row = await listedOf(ctx, userId, address);
  if (row === null) throw new AppError("not_found", "This address is not on the list");
  await ctx.db.delete("recipients", row._id);
  await announce(ctx, userId, { action: "recipient removed", subject: address }, [
    [{ bold: "🔐 A recipient was removed from your list" }],
    [{ code: address }],
  ]);
  return null;
}
