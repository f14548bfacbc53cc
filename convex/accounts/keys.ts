import { v, type Infer } from "convex/values";
import type { Id } from "../_generated/dataModel";
import { mutation, type MutationCtx } from "../_generated/server";
import { endStandingOrders } from "../alerts/model";
import { AppError } from "../lib/errors";
import { parseMicroUsd } from "../lib/money/amounts";
import { sha256Hex } from "../lib/crypto";
import { DAY, formatDateTime } from "../lib/time";
import { parseRecipient } from "../wallets/tokens";
import {
  listRecipients,
  changeRules,
  listKeysOfAccount,
  requireUnfrozenRules,
  RELAXATION_MS,
  MAX_KEYS,
  createRandomHex,
  requireUser,
  saveAccount,
} from "../identity/model";
import { requireSetter } from "../identity/access";
import { announce, NOT_YOU } from "./freeze";
import { vListed, vScope, type Listed } from "../identity/tables";

/**
 * Keys for the caller's programs, which `accounts/data:page` lists, and the recipients to which keys, the chat's own orders
 * and posts may send; `accounts/profile:me` lists these.
 */
const MOST_DAYS = 365;

/**
 * Creates a key. Only this answer has its text: the service stores its SHA-256. For two hours a key with `trade` or
 * `withdraw` only reads. Every channel of the account is notified.
 * @param args.scopes `read`: the rights of the owner's `userId` alone, which every key has; `trade`: swaps; `withdraw`:
 * sends to listed recipients, and where cards go.
 * @param args.days How long it is valid, 1 to 365; by default until it is revoked.
 * @param args.dailyUsd Its limit in any 24 hours, decimal USD, in addition to the owner's limit.
 * @throws AppError `invalid_request`; `conflict` with ten keys; `rate_limited`; `paused` while the account is frozen.
 */
export const create = mutation({
  args: {
    name: v.string(),
    scopes: v.array(vScope),
    days: v.optional(v.number()),
    dailyUsd: v.optional(v.string()),
  },
  returns: v.object({ keyId: v.id("keys"), key: v.string(), countsFrom: v.number() }),
  handler: async (ctx, request) => {
    const key = `mk_${createRandomHex(32)}`;
    return { key, ...(await createKey(ctx, (await requireSetter(ctx)).userId, request, key)) };
  },
});

type KeyRequest = { name: string; scopes: Infer<typeof vScope>[]; days?: number; dailyUsd?: string };

/** Creates a key for an account. The caller is already authorized. @param key Its text, with 256 random bits. */
export async function createKey(
  ctx: MutationCtx,
  userId: string,
  { days, dailyUsd, ...args }: KeyRequest,
  key: string,
): Promise<{ keyId: Id<"keys">; countsFrom: number }> {
  await requireUnfrozenRules(ctx, userId);
  const name = args.name.trim();
  const scopes = [...new Set(args.scopes)];
  if (!/^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,39}$/u.test(name))
    throw new AppError("invalid_request", "name must be 1 to 40 letters, digits, spaces, _, . and -");
  if (scopes.length === 0)
    throw new AppError("invalid_request", "scopes must name at least one of read, trade and withdraw");
  if (days !== undefined && !(Number.isInteger(days) && days >= 1 && days <= MOST_DAYS))
    throw new AppError("invalid_request", `days must be a whole number from 1 to ${MOST_DAYS}`);
  const daily = dailyUsd === undefined ? undefined : parseMicroUsd("dailyUsd", dailyUsd);
  const now = Date.now();
  if ((await listKeysOfAccount(ctx, userId)).length >= MAX_KEYS)
    throw new AppError(
      "conflict",
      `An account has at most ${MAX_KEYS} keys, expired ones included: revoke one first`,
    );
  const onlyReads = scopes.every((scope) => scope === "read");
  const countsFrom = onlyReads ? now : now + RELAXATION_MS;
  const expiresAt = days === undefined ? undefined : now + days * DAY;
  const keyId = await ctx.db.insert("keys", {
    userId,
    name,
    scopes,
    countsFrom,
    keyHash: sha256Hex(key),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(daily === undefined ? {} : { dailyMicroUsd: daily.toString() }),
  });
  const until = expiresAt === undefined ? "until you revoke it" : `until ${formatDateTime(expiresAt)}`;
  await announce(ctx, userId, [
    "🔑 Your account has a new key",
    `${name}: ${scopes.join(", ")}, ${until}.`,
    ...(onlyReads ? [] : [`Until ${formatDateTime(countsFrom)} it only reads.`, NOT_YOU]),
  ]);
  return { keyId, countsFrom };
}

/** Revokes a key at once, and voids its unsigned orders. @throws AppError `not_found` */
export const revoke = mutation({
  args: { keyId: v.id("keys") },
  returns: v.null(),
  handler: async (ctx, { keyId }) => revokeKey(ctx, (await requireUser(ctx)).userId, keyId),
});

/** Revokes a key of an account. The caller is already authorized. @param written The key's id. */
export async function revokeKey(ctx: MutationCtx, userId: string, written: string): Promise<null> {
  const keyId = ctx.db.normalizeId("keys", written);
  const row = keyId === null ? null : await ctx.db.get("keys", keyId);
  if (row?.userId !== userId)
    throw new AppError("not_found", "You have no such key: your profile lists yours");
  if (row.revokedAt !== undefined) return null;
  await ctx.db.patch("keys", row._id, { revokedAt: Date.now() });
  await endStandingOrders(
    ctx,
    userId,
    `the key ${row.name}, which set it, was revoked`,
    ({ order }) => order.keyId === row._id,
  );
  await changeRules(ctx, userId);
  await announce(ctx, userId, ["🔑 A key of your account is revoked", `${row.name} opens nothing any more.`]);
  return null;
}

const MAX_RECIPIENTS = 100;

/**
 * Puts an address on the list; a listed one keeps its time. It counts two hours later, and every channel of the account is
 * notified.
 * @throws AppError `invalid_request` if it is not an address, or money sent there would be lost; `conflict` if the list is
 * full; `rate_limited`; `paused` while the account is frozen.
 */
export const addRecipient = mutation({
  args: { address: v.string() },
  returns: vListed,
  handler: async (ctx, { address }) => addToRecipients(ctx, (await requireSetter(ctx)).userId, address),
});

/** Adds to an account's recipients. The caller is already authorized. */
export async function addToRecipients(ctx: MutationCtx, userId: string, written: string): Promise<Listed> {
  await requireUnfrozenRules(ctx, userId);
  const address = parseRecipient(written);
  const recipients = await listRecipients(ctx, userId);
  const present = recipients.find((one) => one.address === address);
  if (present !== undefined) return present;
  if (recipients.length >= MAX_RECIPIENTS)
    throw new AppError("conflict", `The list holds at most ${MAX_RECIPIENTS} addresses: remove one first`);
  const entry = { address, countsFrom: Date.now() + RELAXATION_MS };
  await saveAccount(ctx, userId, { recipients: [...recipients, entry] });
  await announce(ctx, userId, [
    "🔐 Your account has a new recipient",
    [{ code: address }],
    `From ${formatDateTime(entry.countsFrom)} on your keys, your chat and your posts may send to it.`,
    NOT_YOU,
  ]);
  return entry;
}

/**
 * Takes an address off the list at once, and voids unsigned orders.
 * @throws AppError `not_found`; `invalid_request` if it is not an address.
 */
export const removeRecipient = mutation({
  args: { address: v.string() },
  returns: v.null(),
  handler: async (ctx, { address }) => removeFromRecipients(ctx, (await requireUser(ctx)).userId, address),
});

/** Removes from an account's recipients. The caller is already authorized. */
export async function removeFromRecipients(ctx: MutationCtx, userId: string, written: string): Promise<null> {
  const address = parseRecipient(written);
  const recipients = await listRecipients(ctx, userId);
  const others = recipients.filter((one) => one.address !== address);
  if (others.length === recipients.length)
    throw new AppError(
      "not_found",
      "This address is not on your list of recipients: your profile shows the list",
    );
  await changeRules(ctx, userId, { recipients: others });
  await announce(ctx, userId, ["🔐 A recipient was removed from your list", [{ code: address }]]);
  return null;
}
