import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import type { Doc } from "../_generated/dataModel";
import { mutation, query, type QueryCtx } from "../_generated/server";
import { recordAudit } from "../lib/records/audit";
import { AppError } from "../lib/errors";
import { charge } from "../lib/limits/charges";
import { formatUnits, microUsdFrom } from "../lib/money/amounts";
import { sha256Hex } from "../lib/security/digests";
import { DAY, dateTime } from "../lib/time";
import { tellEverywhere } from "../messenger/notices";
import { FREEZE } from "../messenger/owners";
import { changeRules, liveRules } from "../users/levels";
import { requireUser } from "../users/model";
import { userTables, vScope } from "../users/tables";

/** Keys for the caller's programs, which the web application creates, lists and revokes. */

/** Valid keys per user. */
const MOST_KEYS = 10;
const MOST_SHOWN = 100;
const MOST_DAYS = 365;
/** 256 random bits. */
const RANDOM_BYTES = 32;

const vKey = userTables.apiKeys.validator
  .pick("name", "scopes", "createdAt", "expiresAt", "lastUsedAt", "revokedAt")
  .extend({
    keyId: v.id("apiKeys"),
    /** Its limit in 24 hours, decimal USD; `null`: only its owner's limits apply. */
    dailyUsd: v.union(v.string(), v.null()),
  });

/** The caller's keys, newest first, including revoked ones. Times in epoch ms; `lastUsedAt` to the hour. */
export const mine = query({
  args: {},
  returns: v.array(vKey),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    const rows = await ctx.db
      .query("apiKeys")
      .withIndex("by_userId_and_revokedAt", (q) => q.eq("userId", userId))
      .take(MOST_SHOWN);
    return rows.toSorted((a, b) => b.createdAt - a.createdAt).map(shown);
  },
});

function shown({ _id: keyId, dailyMicroUsd, ...row }: Doc<"apiKeys">) {
  const dailyUsd = dailyMicroUsd === undefined ? null : formatUnits(BigInt(dailyMicroUsd), 6);
  return parse(vKey, { ...row, keyId, dailyUsd });
}

/**
 * Creates a key. This answer is the only place that shows its text: only its SHA-256 is stored. Every channel of the
 * account is notified.
 * @param args.scopes `read`: holdings; `research`: starts and stops shifts; `trade`: swaps; `withdraw`: sends;
 * `record`: proposes signals to the owner's arms.
 * @param args.days How long it is valid, 1 to 365; by default until it is revoked.
 * @param args.dailyUsd Its limit in any 24 hours, decimal USD, in addition to the owner's limits.
 * @throws AppError `invalid_request`; `conflict` with ten keys; `rate_limited`; `paused` while the account is frozen.
 */
export const create = mutation({
  args: {
    name: v.string(),
    scopes: v.array(vScope),
    days: v.optional(v.number()),
    dailyUsd: v.optional(v.string()),
  },
  returns: v.object({ keyId: v.id("apiKeys"), key: v.string() }),
  handler: async (ctx, { days, dailyUsd, ...args }) => {
    const { userId } = await requireUser(ctx);
    await charge(ctx, "settings", { userId, address: null });
    await liveRules(ctx, userId);
    const name = args.name.trim();
    const scopes = [...new Set(args.scopes)];
    if (!/^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,39}$/u.test(name))
      throw new AppError("invalid_request", "name must be 1 to 40 letters, digits, spaces, _, . and -");
    if (scopes.length === 0) throw new AppError("invalid_request", "scopes must name at least one");
    if (days !== undefined && !(Number.isInteger(days) && days >= 1 && days <= MOST_DAYS))
      throw new AppError("invalid_request", `days must be a whole number from 1 to ${MOST_DAYS}`);
    const daily = dailyUsd === undefined ? undefined : microUsdFrom("dailyUsd", dailyUsd);
    if ((await goodKeys(ctx, userId)).length >= MOST_KEYS)
      throw new AppError(
        "conflict",
        `At most ${MOST_KEYS} keys can be valid at the same time: revoke one first`,
      );
    const key = newKey();
    const createdAt = Date.now();
    const keyId = await ctx.db.insert("apiKeys", {
      ...{ userId, name, scopes, createdAt, keyHash: sha256Hex(key) },
      ...(days === undefined ? {} : { expiresAt: createdAt + days * DAY }),
      ...(daily === undefined ? {} : { dailyMicroUsd: daily.toString() }),
    });
    await recordAudit(ctx, {
      actor: userId,
      action: "API key made",
      subject: keyId,
      detail: scopes.join(" "),
    });
    const until = days === undefined ? "until you revoke it" : `until ${dateTime(createdAt + days * DAY)}`;
    await tellEverywhere(ctx, {
      ...{ userId, kind: "level", buttons: FREEZE },
      paragraphs: [
        [{ bold: "🔑 Your account has a new key" }],
        [`${name}: ${scopes.join(", ")}, ${until}.`],
        ["If that was not you, freeze your account, and revoke the key in the web application."],
      ],
    });
    return { keyId, key };
  },
});

/** Revokes a key at once, and voids its orders that nobody has signed yet. @throws AppError `not_found` */
export const revoke = mutation({
  args: { keyId: v.id("apiKeys") },
  returns: v.null(),
  handler: async (ctx, { keyId }) => {
    const { userId } = await requireUser(ctx);
    const row = await ctx.db.get("apiKeys", keyId);
    if (row?.userId !== userId) throw new AppError("not_found", "There is no such key");
    if (row.revokedAt !== undefined) return null;
    await ctx.db.patch("apiKeys", keyId, { revokedAt: Date.now() });
    await changeRules(ctx, userId);
    await recordAudit(ctx, { actor: userId, action: "API key revoked", subject: keyId });
    const paragraphs = [
      [{ bold: "🔑 A key of your account is revoked" }],
      [`${row.name} opens nothing any more.`],
    ];
    await tellEverywhere(ctx, { userId, kind: "level", paragraphs });
    return null;
  },
});

async function goodKeys(ctx: QueryCtx, userId: string): Promise<Doc<"apiKeys">[]> {
  const now = Date.now();
  const rows = await ctx.db
    .query("apiKeys")
    .withIndex("by_userId_and_revokedAt", (q) => q.eq("userId", userId).eq("revokedAt", undefined))
    .order("desc")
    .take(10 * MOST_KEYS);
  return rows.filter(({ expiresAt = Infinity }) => expiresAt > now);
}

/** `mk_` and 43 characters of base64url. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES));
  const base64 = btoa(String.fromCharCode(...bytes));
  return `mk_${base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}
