import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import type { Doc } from "../_generated/dataModel";
import { mutation, query } from "../_generated/server";
import { AppError } from "../lib/errors";
import { formatUnits, microUsdFrom } from "../lib/money/amounts";
import { sha256Hex } from "../lib/security/crypto";
import { DAY, dateTime } from "../lib/time";
import {
  announce,
  changeRules,
  keysOf,
  liveRules,
  LOOSENING_MS,
  MOST_KEYS,
  NOT_YOU,
  requireSetter,
  requireUser,
} from "./model";
import { accountTables, vScope } from "./tables";

/** Keys for the caller's programs, which the web application creates, lists and revokes. */

const MOST_SHOWN = 100;
const MOST_DAYS = 365;
/** 256 random bits. */
const RANDOM_BYTES = 32;

const vKey = accountTables.keys.validator
  .pick("name", "scopes", "createdAt", "countsFrom", "expiresAt", "revokedAt")
  .extend({
    keyId: v.id("keys"),
    /** Its limit in 24 hours, decimal USD; `null`: only its owner's limit applies. */
    dailyUsd: v.union(v.string(), v.null()),
  });

/** The caller's keys, newest first, including revoked ones. Times in epoch ms. */
export const mine = query({
  args: {},
  returns: v.array(vKey),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    const rows = await ctx.db
      .query("keys")
      .withIndex("by_userId_and_revokedAt", (q) => q.eq("userId", userId))
      .take(MOST_SHOWN);
    return rows.toSorted((a, b) => b.createdAt - a.createdAt).map(shown);
  },
});

function shown({ _id: keyId, dailyMicroUsd, ...row }: Doc<"keys">) {
  const dailyUsd = dailyMicroUsd === undefined ? null : formatUnits(BigInt(dailyMicroUsd), 6);
  return parse(vKey, { ...row, keyId, dailyUsd });
}

/**
 * Creates a key. This answer is the only place that shows its text: only its SHA-256 is stored. For two hours a key
 * with `trade` or `withdraw` only reads. Every channel of the account is told.
 * @param args.scopes `read`: what the owner's `userId` alone may, which every key may; `trade`: swaps; `withdraw`: sends
 * to listed recipients, and where cards go.
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
  handler: async (ctx, { days, dailyUsd, ...args }) => {
    const { userId } = await requireSetter(ctx);
    await liveRules(ctx, userId);
    const name = args.name.trim();
    const scopes = [...new Set(args.scopes)];
    if (!/^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,39}$/u.test(name))
      throw new AppError("invalid_request", "name must be 1 to 40 letters, digits, spaces, _, . and -");
    if (scopes.length === 0) throw new AppError("invalid_request", "scopes must name at least one");
    if (days !== undefined && !(Number.isInteger(days) && days >= 1 && days <= MOST_DAYS))
      throw new AppError("invalid_request", `days must be a whole number from 1 to ${MOST_DAYS}`);
    const daily = dailyUsd === undefined ? undefined : microUsdFrom("dailyUsd", dailyUsd);
    const now = Date.now();
    let valid = 0;
    for (const { _id, expiresAt = Infinity } of await keysOf(ctx, userId)) {
      if (expiresAt > now) valid += 1;
      // An expired one hides no valid one from whoever revokes all.
      else await ctx.db.patch("keys", _id, { revokedAt: expiresAt });
    }
    if (valid >= MOST_KEYS)
      throw new AppError(
        "conflict",
        `At most ${MOST_KEYS} keys can be valid at the same time: revoke one first`,
      );
    const key = newKey();
    const onlyReads = scopes.every((scope) => scope === "read");
    const countsFrom = onlyReads ? now : now + LOOSENING_MS;
    const expiresAt = days === undefined ? undefined : now + days * DAY;
    const keyId = await ctx.db.insert("keys", {
      userId,
      name,
      scopes,
      createdAt: now,
      countsFrom,
      keyHash: sha256Hex(key),
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(daily === undefined ? {} : { dailyMicroUsd: daily.toString() }),
    });
    const until = expiresAt === undefined ? "until you revoke it" : `until ${dateTime(expiresAt)}`;
    await announce(
      ctx,
      userId,
      "🔑 Your account has a new key",
      `${name}: ${scopes.join(", ")}, ${until}.`,
      ...(onlyReads ? [] : [`Until ${dateTime(countsFrom)} it only reads.`, NOT_YOU]),
    );
    return { keyId, key, countsFrom };
  },
});

/** Revokes a key at once, and voids its orders that nobody has signed yet. @throws AppError `not_found` */
export const revoke = mutation({
  args: { keyId: v.id("keys") },
  returns: v.null(),
  handler: async (ctx, { keyId }) => {
    const { userId } = await requireUser(ctx);
    const row = await ctx.db.get("keys", keyId);
    if (row?.userId !== userId) throw new AppError("not_found", "There is no such key");
    if (row.revokedAt !== undefined) return null;
    await ctx.db.patch("keys", keyId, { revokedAt: Date.now() });
    await changeRules(ctx, userId);
    await announce(ctx, userId, "🔑 A key of your account is revoked", `${row.name} opens nothing any more.`);
    return null;
  },
});

/** `mk_` and 43 characters of base64url. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES));
  const base64 = btoa(String.fromCharCode(...bytes));
  return `mk_${base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}
