import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import type { Doc } from "../_generated/dataModel";
import { internal } from "../_generated/api";
import { internalQuery, mutation, type ActionCtx, type QueryCtx } from "../_generated/server";
import { requireIdentity } from "../lib/security/auth";
import { AppError } from "../lib/errors";
import { isGuessable } from "../lib/records/ids";
import { vCredential, type Caller, type Credential } from "../lib/limits/callers";
import { dateTime } from "../lib/time";
import { keyOf } from "./keys";
import { levelOf, type Standing } from "./levels";
import { ownerOf, requireUser } from "./model";
import { nameOf } from "./names";
import { vScope } from "./tables";

/** Who may do what for a `userId`, from the caller's credential and the account's level. Nothing else decides that. */

/**
 * Acts that a level decides about. `swap` and `send`: move funds. `delivery`: sets where the user's cards go.
 * `holdings`: shows what the wallets hold. `shifts`: starts and stops research.
 */
const vDeed = literals("swap", "send", "delivery", "holdings", "shifts");
export type Deed = Infer<typeof vDeed>;

/** The scope that a key needs for an act; no key may set where an owner's cards go. */
const SCOPE: Record<Deed, Infer<typeof vScope> | null> = {
  ...{ swap: "trade", send: "withdraw", delivery: null },
  ...{ holdings: "read", shifts: "research" },
};

type Allowed<By> = {
  kind: "allowed";
  by: By;
  /** Micro-USD that orders by `userId` alone may move in 24 hours; `null` if the level sets no limit. */
  cap: bigint | null;
  /** The key that was used, and its limit in 24 hours (micro-USD; `null`: only its owner's limits). */
  key?: { id: string; name: string; daily: bigint | null };
};
/** `asks`: the owner's tap in their chat decides, if one is linked; otherwise it is a refusal. */
type Refused = { kind: "refused" | "asks"; code: "unauthorized" | "forbidden"; message: string };
export type Verdict = Allowed<Credential> | Refused;
export type Permit = Allowed<Credential | "approval" | "chat">;

/** What a caller has proved about a `userId`. */
type Proof = { by: Exclude<Credential, "key"> } | { by: "key"; key: Doc<"apiKeys"> };

function verdictOfKey({ _id: id, name, scopes, dailyMicroUsd }: Doc<"apiKeys">, deed: Deed): Verdict {
  const scope = SCOPE[deed];
  if (scope === null)
    return { kind: "refused", code: "forbidden", message: `No key does this: it needs ${TOKEN}` };
  if (!scopes.includes(scope))
    return { kind: "refused", code: "forbidden", message: `This key lacks the scope ${scope}` };
  const daily = dailyMicroUsd === undefined ? null : BigInt(dailyMicroUsd);
  return { kind: "allowed", by: "key", cap: null, key: { id, name, daily } };
}

/** The verdict on an act of a caller who only names the `userId` of an owner. Pure. */
function verdictOfId({ level, capMicroUsd, blockedUntil }: Standing, deed: Deed, isWeak: boolean): Verdict {
  const allowed = { kind: "allowed", by: "id", cap: null } as const;
  const moves = deed === "swap" || deed === "send" || deed === "delivery";
  if (level === "closed")
    return { kind: "refused", code: moves ? "forbidden" : "unauthorized", message: CLOSED };
  if (!moves) return allowed;
  if (blockedUntil !== null)
    return { kind: "refused", code: "forbidden", message: `${BLOCKED} until ${dateTime(blockedUntil)}` };
  if (level === "guarded") return { kind: "asks", code: "forbidden", message: guarded(isWeak) };
  return { ...allowed, cap: deed === "delivery" ? null : BigInt(capMicroUsd ?? 0) };
}

/** How owners prove who they are. */
export const TOKEN = "the owner's token (Authorization: Bearer <token>)";
const BLOCKED = "The owner has blocked orders and delivery settings by userId alone";
const CLOSED = `This userId has an owner, and its level is closed: this needs ${TOKEN}`;
/** The ways to get access: an id that could be guessed cannot be `open`. */
function guarded(isWeak: boolean): string {
  const owner = `This userId has an owner, and its level is guarded: orders and delivery settings need ${TOKEN}, or a tap in the owner's chat, which has to be linked with the service's bot`;
  if (isWeak) return owner;
  return `${owner}; or the owner sets the level to open in the web application (account/levels:set)`;
}

/**
 * What the caller has proved about a `userId`. An id without an owner is its own credential, and then the Authorization
 * header is ignored.
 * @throws AppError `unauthorized` with an invalid token; `forbidden` with another user's: neither falls back to the id.
 */
async function credentialOf(
  ctx: QueryCtx,
  userId: string,
  keyHash: string | undefined,
  now: number,
): Promise<Proof> {
  const owner = await ownerOf(ctx, userId);
  if (owner === null) return { by: "unclaimed" };
  if (keyHash !== undefined) return { by: "key", key: await keyOf(ctx, userId, keyHash, now) };
  const isSent = await ctx.auth.getUserIdentity().then(
    (identity) => identity !== null,
    () => true,
  );
  if (!isSent) return { by: "id" };
  const { tokenIdentifier } = await requireIdentity(ctx);
  if (tokenIdentifier !== owner.tokenIdentifier) {
    throw new AppError("forbidden", "This userId has another owner than the token");
  }
  return { by: "owner" };
}

/** Records that a key was used. */
export async function recordKeyUse(
  ctx: ActionCtx,
  by: Credential,
  keyHash: string | undefined,
): Promise<Credential> {
  if (by === "key" && keyHash !== undefined) await ctx.runMutation(internal.users.keys.touch, { keyHash });
  return by;
}

/** What a caller has proved, in a query, for an id with a known owner. @throws AppError as `keyOf`. */
export async function credentialOrId(
  ctx: QueryCtx,
  owner: Doc<"users"> | null,
  { userId, keyHash, now }: { userId: string; keyHash?: string | undefined; now: number },
): Promise<Credential> {
  if (owner === null) return "unclaimed";
  if (keyHash !== undefined) {
    await keyOf(ctx, userId, keyHash, now);
    return "key";
  }
  const identity = await ctx.auth.getUserIdentity().catch(() => null);
  return identity?.tokenIdentifier === owner.tokenIdentifier ? "owner" : "id";
}

/**
 * Permits an act, in the transaction that decides. If a `userId` was claimed, or its level changed, after the caller
 * was let in, the present state counts.
 * @throws AppError `unauthorized`, `forbidden`
 */
export async function permitNow(
  ctx: QueryCtx,
  userId: string,
  deed: Deed,
  now: number,
  keyHash?: string,
): Promise<Allowed<Credential>> {
  const verdict = await verdictNow(ctx, userId, deed, now, keyHash);
  if (verdict.kind !== "allowed") throw new AppError(verdict.code, verdict.message);
  return verdict;
}

/** The verdict itself, for callers that report a refusal rather than throw it. @throws AppError as `credentialOf`. */
export async function verdictNow(
  ctx: QueryCtx,
  userId: string,
  deed: Deed,
  now: number,
  keyHash?: string,
): Promise<Verdict> {
  const shown = await credentialOf(ctx, userId, keyHash, now);
  if (shown.by === "key") return verdictOfKey(shown.key, deed);
  if (shown.by !== "id") return { kind: "allowed", by: shown.by, cap: null };
  return verdictOfId(await levelOf(ctx, userId, now), deed, isGuessable(await nameOf(ctx, userId)));
}

/** The same for actions. @returns What the caller has proved. */
export async function assertMay(
  ctx: ActionCtx,
  userId: string,
  deed: Deed,
  { keyHash }: Pick<Caller, "keyHash"> = {},
): Promise<Credential> {
  const args = { userId, deed, ...(keyHash === undefined ? {} : { keyHash }), now: Date.now() };
  return recordKeyUse(ctx, await ctx.runQuery(internal.users.access.may, args), keyHash);
}

export const may = internalQuery({
  args: { userId: v.string(), deed: vDeed, keyHash: v.optional(v.string()), now: v.number() },
  returns: vCredential,
  handler: async (ctx, { userId, deed, keyHash, now }) =>
    (await permitNow(ctx, userId, deed, now, keyHash)).by,
});

/**
 * Whether naming a `userId` identifies the caller. For an id without an owner it does, since only its user knows it; a
 * signed-in user's id needs that user's token. To be called in the transaction that decides.
 */
export async function mayActAs(ctx: QueryCtx, userId: string | undefined): Promise<boolean> {
  if (userId === undefined) return false;
  return (await credentialOrId(ctx, await ownerOf(ctx, userId), { userId, now: 0 })) !== "id";
}

/** The caller's `userId`, for actions. @throws AppError `unauthorized`, `not_found` before their first sign-in. */
export const mine = internalQuery({
  args: {},
  returns: v.string(),
  handler: async (ctx) => (await requireUser(ctx)).userId,
});

/**
 * Replaces the caller's `userId`, if it has leaked. From then on the old one belongs to nobody, for good: requests that
 * name it get 404. The account keeps everything, including its keys; questions that wait for the owner's approval
 * become void.
 * @throws AppError `unauthorized`, `not_found` before their first sign-in, `rate_limited`.
 */
export const replaceUserId = mutation({
  args: {},
  returns: v.object({ userId: v.string() }),
  handler: async (ctx): Promise<{ userId: string }> => {
    const { userId } = await requireUser(ctx);
    return ctx.runMutation(internal.account.ids.replacement.replace, { userId });
  },
});
