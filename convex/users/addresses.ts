import { bytesToHex } from "@noble/hashes/utils.js";
import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, mutation } from "../_generated/server";
import { checksummed } from "../lib/money/addresses";
import { CHAIN_ID } from "../lib/money/base";
import { siteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import { charge } from "../lib/limits/charges";
import { iso, MINUTE } from "../lib/time";
import { addressesOf, linkOf, MAX_ADDRESSES, requireUser } from "./model";
import { pseudonymOf } from "../lib/security/pseudonyms";

/** Proves that an address is the user's: a challenge, signed once with the address's key (`users/linking`). */

const CHALLENGE_MS = 10 * MINUTE;

type Challenge = Pick<Doc<"addressNonces">, "userId" | "nonce" | "expiresAt">;

/**
 * The text to sign, by EIP-191 (`personal_sign`): it names the site, the chain, the account and the expiry, and no
 * credential.
 * @param address Checksummed.
 */
function challengeText(address: string, { userId, nonce, expiresAt }: Challenge): string {
  return [
    `I link this address to my account at the market research, signals and wallet service at ${new URL(siteUrl()).host}.`,
    "Deposits sent from it are credited to that account. Sign this only in the application where you asked for it.",
    "",
    `Address: ${address}`,
    `Account: ${pseudonymOf(userId)}`,
    `Chain: ${CHAIN_ID}`,
    `Nonce: ${nonce}`,
    `Expires: ${iso(expiresAt)}`,
  ].join("\n");
}

/**
 * Opens a challenge for an address; it replaces an earlier one and is valid for 10 minutes and one link.
 * @throws AppError `invalid_request` if it is not an address.
 */
export const challenge = mutation({
  args: { address: v.string() },
  /** `message` is the text to sign; `expiresAt` in epoch ms. */
  returns: v.object({ message: v.string(), nonce: v.string(), expiresAt: v.number() }),
  handler: async (ctx, args) => {
    const { userId } = await requireUser(ctx);
    await charge(ctx, "settings", { userId, address: null });
    const shown = checksummed(args.address);
    if (shown === null) throw new AppError("invalid_request", "address must be 0x and 40 hex digits");
    const address = shown.toLowerCase();
    const nonce = bytesToHex(crypto.getRandomValues(new Uint8Array(16)));
    const expiresAt = Date.now() + CHALLENGE_MS;
    const earlier = await getOneFrom(ctx.db, "addressNonces", "by_userId", userId);
    const row = { userId, address, nonce, expiresAt };
    if (earlier === null) await ctx.db.insert("addressNonces", row);
    else await ctx.db.replace("addressNonces", earlier._id, row);
    return { message: challengeText(shown, row), nonce, expiresAt };
  },
});

/** The text that the caller has to sign, and the checksummed address whose key has to sign it; `null` without an open challenge. */
export const openChallenge = internalQuery({
  args: {},
  returns: v.union(v.object({ address: v.string(), message: v.string(), nonce: v.string() }), v.null()),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    const row = await getOneFrom(ctx.db, "addressNonces", "by_userId", userId);
    const address = row === null ? null : checksummed(row.address);
    if (row === null || address === null) return null;
    return { address, message: challengeText(address, row), nonce: row.nonce };
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
    const { userId } = await requireUser(ctx);
    const row = await getOneFrom(ctx.db, "addressNonces", "by_userId", userId);
    if (row === null || row.nonce !== nonce || row.expiresAt < Date.now()) {
      throw new AppError("invalid_request", "The challenge has expired or was used: ask for another");
    }
    const { address } = row;
    const linked = await addressesOf(ctx, userId);
    await ctx.db.delete("addressNonces", row._id);
    if (linked.some((one) => one.address === address)) return { address };
    if (linked.length >= MAX_ADDRESSES) {
      throw new AppError("conflict", `At most ${MAX_ADDRESSES} addresses can be linked`);
    }
    const before = await linkOf(ctx, address);
    const link = { address, userId, linkedAt: Date.now() };
    if (before === null) await ctx.db.insert("linkedAddresses", link);
    else await ctx.db.replace("linkedAddresses", before._id, link);
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
    const row = await linkOf(ctx, address);
    if (row === null || row.userId !== userId) {
      throw new AppError("not_found", "This address is not linked to this user");
    }
    await ctx.db.delete("linkedAddresses", row._id);
    return null;
  },
});
