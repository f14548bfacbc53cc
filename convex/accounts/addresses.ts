import { bytesToHex } from "@noble/hashes/utils.js";
import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, mutation } from "../_generated/server";
import { siteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import { checksummed } from "../lib/money/addresses";
import { CHAIN_ID } from "../lib/money/base";
import { pseudonymOf } from "../lib/security/pseudonyms";
import { iso, MINUTE } from "../lib/time";
import { addressesOf, MOST_ADDRESSES, requireSetter, requireUser, saveAccount, type Account } from "./model";

/** Proves that an address is the user's: a challenge, signed once with the address's key (`accounts/actions`). */

const CHALLENGE_MS = 10 * MINUTE;

type Challenge = NonNullable<Account["challenge"]>;

/** The text to sign (EIP-4361): it names the site, the chain, the account by its pseudonym and the expiry, and no credential. */
function challengeText(userId: string, { address, nonce, openedAt, expiresAt }: Challenge): string {
  const site = siteUrl();
  return [
    `${new URL(site).host} wants you to sign in with your Ethereum account:`,
    checksummed(address) ?? address,
    "",
    `Link this address to my account ${pseudonymOf(userId)}: deposits sent from it are credited to that account.`,
    "",
    `URI: ${site}`,
    "Version: 1",
    `Chain ID: ${CHAIN_ID}`,
    `Nonce: ${nonce}`,
    `Issued At: ${iso(openedAt)}`,
    `Expiration Time: ${iso(expiresAt)}`,
  ].join("\n");
}

/**
 * Opens a challenge for an address; it replaces an earlier one and is valid for 10 minutes and one link.
 * @throws AppError `invalid_request` if it is not an address; `rate_limited`.
 */
export const challenge = mutation({
  args: { address: v.string() },
  /** `message` is the text to sign; `expiresAt` in epoch ms. */
  returns: v.object({ message: v.string(), nonce: v.string(), expiresAt: v.number() }),
  handler: async (ctx, args) => {
    const { userId } = await requireSetter(ctx);
    const shown = checksummed(args.address);
    if (shown === null) throw new AppError("invalid_request", "address must be 0x and 40 hex digits");
    const nonce = bytesToHex(crypto.getRandomValues(new Uint8Array(16)));
    const openedAt = Date.now();
    const expiresAt = openedAt + CHALLENGE_MS;
    const opened: Challenge = { address: shown.toLowerCase(), nonce, openedAt, expiresAt };
    await saveAccount(ctx, userId, { challenge: opened });
    return { message: challengeText(userId, opened), nonce, expiresAt };
  },
});

/** The text that the caller has to sign, and the checksummed address whose key has to sign it; `null` without an open challenge. */
export const openChallenge = internalQuery({
  args: {},
  returns: v.union(v.object({ address: v.string(), message: v.string(), nonce: v.string() }), v.null()),
  handler: async (ctx) => {
    const { userId, challenge: opened } = await requireUser(ctx);
    const address = opened === undefined ? null : checksummed(opened.address);
    if (opened === undefined || address === null) return null;
    return { address, message: challengeText(userId, opened), nonce: opened.nonce };
  },
});

/**
 * Links the address whose challenge with this nonce was signed, and uses up the nonce. Whoever can sign for an address
 * owns it now: another user who had linked it loses it, and keeps what was credited until then.
 * @throws AppError `invalid_request` if the challenge is gone or expired; `conflict` if the user has too many.
 */
export const link = internalMutation({
  args: { nonce: v.string() },
  returns: v.object({ address: v.string() }),
  handler: async (ctx, { nonce }) => {
    const { userId, challenge: opened } = await requireUser(ctx);
    const now = Date.now();
    if (opened?.nonce !== nonce || opened.expiresAt < now)
      throw new AppError("invalid_request", "The challenge has expired or was used: ask for another");
    const { address } = opened;
    const linked = await addressesOf(ctx, userId);
    await saveAccount(ctx, userId, { challenge: undefined });
    if (linked.some((one) => one.address === address)) return { address };
    if (linked.length >= MOST_ADDRESSES)
      throw new AppError("conflict", `At most ${MOST_ADDRESSES} addresses can be linked`);
    const before = await getOneFrom(ctx.db, "addresses", "by_address", address);
    if (before !== null) await ctx.db.delete("addresses", before._id);
    await ctx.db.insert("addresses", { address, userId, linkedAt: now });
    // Earlier deposits from it belong to the user too.
    await ctx.scheduler.runAfter(0, internal.payments.deposits.creditAddress, { address });
    return { address };
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
