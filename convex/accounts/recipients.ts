import { v } from "convex/values";
import { mutation, query, type MutationCtx, type QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { dateTime } from "../lib/time";
import { recipientFrom } from "../wallets/tokens";
import {
  accountOf,
  announce,
  changeRules,
  liveRules,
  LOOSENING_MS,
  NOT_YOU,
  requireSetter,
  requireUser,
  saveAccount,
} from "./model";
import { vListed, type Listed } from "./tables";

/** An owner's list of recipients: keys, the chat's own orders and posts send to these only. */

const MOST_LISTED = 100;

/** The list of an account, oldest first. */
export async function allListed(ctx: QueryCtx, userId: string): Promise<Listed[]> {
  return (await accountOf(ctx, userId))?.recipients ?? [];
}

/** An entry of the list, or `null`. @param address Checksummed. */
export async function listedOf(ctx: QueryCtx, userId: string, address: string): Promise<Listed | null> {
  return (await allListed(ctx, userId)).find((one) => one.address === address) ?? null;
}

/** The caller's list, oldest first. */
export const mine = query({
  args: {},
  returns: v.array(vListed),
  handler: async (ctx) => (await requireUser(ctx)).recipients ?? [],
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
  const recipients = await allListed(ctx, userId);
  const present = recipients.find((one) => one.address === address);
  if (present !== undefined) return present;
  if (recipients.length >= MOST_LISTED)
    throw new AppError("conflict", `At most ${MOST_LISTED} addresses can be on the list`);
  const entry = { address, countsFrom: Date.now() + LOOSENING_MS };
  await saveAccount(ctx, userId, { recipients: [...recipients, entry] });
  await announce(
    ctx,
    userId,
    "🔐 Your account has a new recipient",
    [{ code: address }],
    `From ${dateTime(entry.countsFrom)} on your keys, your chat and your posts may send to it.`,
    NOT_YOU,
  );
  return entry;
}

/** Takes an address off the list at once, and voids what nobody has signed yet. @throws AppError `not_found`; `invalid_request` if it is not an address. */
export const remove = mutation({
  args: { address: v.string() },
  returns: v.null(),
  handler: async (ctx, { address }) => removeRecipient(ctx, (await requireUser(ctx)).userId, address),
});

/** The same, for a caller who may. */
export async function removeRecipient(ctx: MutationCtx, userId: string, written: string): Promise<null> {
  const address = recipientFrom(written);
  const recipients = await allListed(ctx, userId);
  const others = recipients.filter((one) => one.address !== address);
  if (others.length === recipients.length) throw new AppError("not_found", "This address is not on the list");
  await changeRules(ctx, userId, { recipients: others });
  await announce(ctx, userId, "🔐 A recipient was removed from your list", [{ code: address }]);
  return null;
}
