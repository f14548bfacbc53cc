import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import { internalMutation, mutation, query } from "../_generated/server";
import { siteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import { checksummed, CHAIN_ID } from "../lib/money/base";
import { pseudonymOf } from "../lib/security/crypto";
import { iso, MINUTE } from "../lib/time";
import { addressesOf, MOST_ADDRESSES, requireUser } from "./model";

/** Proves that an address is the user's: a message, signed with the address's key (`accounts/actions`). */

/** How long a message can be used. It is worth nothing without the token of its account, so a repeat gives nothing new. */
export const CHALLENGE_MS = 10 * MINUTE;

/** The text to sign (EIP-4361): it names the site, the chain, the account by its pseudonym and the expiry, and no credential. */
export function challengeText(userId: string, address: `0x${string}`, issuedAt: number): string {
  const site = siteUrl();
  return [
    `${new URL(site).host} wants you to sign in with your Ethereum account:`,
    address,
    "",
    `Link this address to my account ${pseudonymOf(userId)}: deposits sent from it are credited to that account.`,
    "",
    `URI: ${site}`,
    "Version: 1",
    `Chain ID: ${CHAIN_ID}`,
    `Nonce: ${issuedAt.toString(36)}`,
    `Issued At: ${iso(issuedAt)}`,
    `Expiration Time: ${iso(issuedAt + CHALLENGE_MS)}`,
  ].join("\n");
}

/** An address as it stands in a message. @throws AppError `invalid_request` */
export function addressFrom(text: string): `0x${string}` {
  const address = checksummed(text);
  if (address === null) throw new AppError("invalid_request", "address must be 0x and 40 hex digits");
  return address;
}

/** The message to sign with an address's key, valid for ten minutes. @throws AppError `invalid_request` if it is not an address. */
export const challenge = query({
  args: { address: v.string() },
  /** `message` is the text to sign; times in epoch ms. */
  returns: v.object({ message: v.string(), issuedAt: v.number(), expiresAt: v.number() }),
  handler: async (ctx, { address }) => {
    const { userId } = await requireUser(ctx);
    const issuedAt = Date.now();
    const message = challengeText(userId, addressFrom(address), issuedAt);
    return { message, issuedAt, expiresAt: issuedAt + CHALLENGE_MS };
  },
});

/**
 * Links an address whose key has signed the user's message. Whoever can sign for an address owns it now: another user who
 * had linked it loses it, and keeps what was credited until then.
 * @throws AppError `conflict` if the user has too many.
 */
export const link = internalMutation({
  args: { userId: v.string(), address: v.string() },
  returns: v.null(),
  handler: async (ctx, { userId, address }) => {
    const before = await getOneFrom(ctx.db, "addresses", "by_address", address);
    if (before?.userId === userId) return null;
    if ((await addressesOf(ctx, userId)).length >= MOST_ADDRESSES)
      throw new AppError("conflict", `At most ${MOST_ADDRESSES} addresses can be linked`);
    if (before !== null) await ctx.db.delete("addresses", before._id);
    await ctx.db.insert("addresses", { address, userId, linkedAt: Date.now() });
    // Earlier deposits from it belong to the user too.
    await ctx.scheduler.runAfter(0, internal.payments.deposits.creditAddress, { address });
    return null;
  },
});

/** Unlinks an address of the caller's; later deposits from it belong to nobody. @throws AppError `not_found` */
export const unlink = mutation({
  args: { address: v.string() },
  returns: v.null(),
  handler: async (ctx, { address }) => {
    const { userId } = await requireUser(ctx);
    const row = await getOneFrom(ctx.db, "addresses", "by_address", address.toLowerCase());
    if (row?.userId !== userId) throw new AppError("not_found", "This address is not linked to this user");
    await ctx.db.delete("addresses", row._id);
    return null;
  },
});
