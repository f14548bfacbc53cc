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

/**
 * Who may do what for a `userId`: a credential of the caller's, the account's level, and the verdict on both. Nothing else
 * decides that.
 */

/**
 * What a level decides on. `swap` and `send`: move funds. `delivery`: says who is sent what is the user's. `holdings`: shows
 * what the wallets hold. `shifts`: starts and stops research.
 */
const vDeed = literals("swap", "send", "delivery", "holdings", "shifts");
export type Deed = Infer<typeof vDeed>;

/** What a key needs for a deed; no key says where an owner's cards go. */
const SCOPE: Record<Deed, Infer<typeof vScope> | null> = {
  ...{ swap: "trade", send: "withdraw", delivery: null },
  ...{ holdings: "read", shifts: "research" },
};

type Allowed<By> = {
  kind: "allowed";
  by: By;
  /** Micro-USD that orders by `userId` alone may move in 24 hours; `null` where the level bounds nothing. */
  cap: bigint | null;
  /** By which key, and what that may move in 24 hours (micro-USD; `null`: as its owner's limits say). */
  key?: { id: string; name: string; daily: bigint | null };
};
/** `asks`: the owner's tap in their chat decides, where there is one to ask; without it a refusal. */
type Refused = { kind: "refused" | "asks"; code: "unauthorized" | "forbidden"; message: string };
type Verdict = Allowed<Credential> | Refused;
export type Permit = Allowed<Credential | "approval" | "chat">;

/** What somebody is allowed who has shown to be the owner in another way than by a token: their post, their chat. */
export const OWNER: Permit = { kind: "allowed", by: "owner", cap: null };

/** What the owner has approved by a tap in their chat, whoever asked for it. */
export const APPROVED: Permit = { kind: "allowed", by: "approval", cap: null };

/**
 * What is begun in the owner's chat: whoever has that has both the order and its tap, so it is no approval of what others
 * ask for, and moves little (`wallets/limits/policies`).
 */
export const CHAT: Permit = { kind: "allowed", by: "chat", cap: null };

/** What a caller has shown about a `userId`. */
type Shown = { by: Exclude<Credential, "key"> } | { by: "key"; key: Doc<"apiKeys"> };

function verdictOfKey({ _id: id, name, scopes, dailyMicroUsd }: Doc<"apiKeys">, deed: Deed): Verdict {
  const scope = SCOPE[deed];
  if (scope === null)
    return { kind: "refused", code: "forbidden", message: `No key does this: it needs ${TOKEN}` };
  if (!scopes.includes(scope))
    return { kind: "refused", code: "forbidden", message: `This key lacks the scope ${scope}` };
  const daily = dailyMicroUsd === undefined ? null : BigInt(dailyMicroUsd);
  return { kind: "allowed", by: "key", cap: null, key: { id, name, daily } };
}

/** The verdict on a deed. Pure. */
function verdictOf(
  by: Exclude<Credential, "key">,
  { level, capMicroUsd, blockedUntil }: Standing,
  deed: Deed,
  isWeak: boolean,
): Verdict {
  const allowed = { kind: "allowed", by, cap: null } as const;
  if (by !== "id") return allowed;
  const moves = deed === "swap" || deed === "send" || deed === "delivery";
  if (level === "closed")
    return { kind: "refused", code: moves ? "forbidden" : "unauthorized", message: CLOSED };
  if (!moves) return allowed;
  if (blockedUntil !== null)
    return { kind: "refused", code: "forbidden", message: `${BLOCKED} until ${dateTime(blockedUntil)}` };
  if (level === "guarded") return { kind: "asks", code: "forbidden", message: guarded(isWeak) };
  return { ...allowed, cap: deed === "delivery" ? null : BigInt(capMicroUsd ?? 0) };
}

/** How an owner shows to be one. */
export const TOKEN = "the owner's token (Authorization: Bearer <token>)";
const BLOCKED = "The owner has blocked orders and delivery settings by userId alone";
const CLOSED = `This userId has an owner, and its level is closed: this needs ${TOKEN}`;
/** The ways out that there are: an id that could be guessed cannot be `open`. */
function guarded(isWeak: boolean): string {
  const owner = `This userId has an owner, and its level is guarded: orders and delivery settings need ${TOKEN}, or a tap in the owner's chat, which has to be linked with the service's bot`;
  if (isWeak) return owner;
  return `${owner}; or the owner sets the level to open in the web application (account/levels:set)`;
}

/**
 * What the caller has shown about a `userId`. That of nobody is its own credential, and then the Authorization header is
 * not looked at.
 * @throws AppError `unauthorized` with a token that is not valid; `forbidden` with another user's: neither falls back to
 * the id.
 */
async function credentialOf(
  ctx: QueryCtx,
  userId: string,
  keyHash: string | undefined,
  now: number,
): Promise<Shown> {
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
    throw new AppError("forbidden", "This userId belongs to another signed-in user");
  }
  return { by: "owner" };
}

/** What a caller shows of who they are, for an endpoint that asks for more than that. */
export async function credentialShown(
  ctx: ActionCtx,
  { userId }: { userId?: string | undefined },
  { keyHash }: Pick<Caller, "keyHash"> = {},
): Promise<Credential> {
  if (userId === undefined) return "unclaimed";
  const asked = { userId, ...keyArg(keyHash), now: Date.now() };
  return noted(ctx, await ctx.runQuery(internal.users.access.shown, asked), keyHash);
}

function keyArg(keyHash: string | undefined): { keyHash?: string } {
  return keyHash === undefined ? {} : { keyHash };
}

/** A key shows when it was used last. */
export async function noted(
  ctx: ActionCtx,
  by: Credential,
  keyHash: string | undefined,
): Promise<Credential> {
  if (by === "key" && keyHash !== undefined) await ctx.runMutation(internal.users.keys.touch, { keyHash });
  return by;
}

export const shown = internalQuery({
  args: { userId: v.string(), keyHash: v.optional(v.string()), now: v.number() },
  returns: vCredential,
  handler: async (ctx, asked) => shownBy(ctx, await ownerOf(ctx, asked.userId), asked),
});

/** The same in a query, of an id whose owner is known. @throws AppError as `keyOf`. */
export async function shownBy(
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
 * Lets the caller go on with a deed, in the transaction that decides: a `userId` that was claimed, or whose level was
 * changed, since the caller was let in is judged by what holds now.
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

/** The verdict itself, for what tells a refusal and is none. @throws AppError as `credentialOf`. */
export async function verdictNow(
  ctx: QueryCtx,
  userId: string,
  deed: Deed,
  now: number,
  keyHash?: string,
): Promise<Verdict> {
  const shown = await credentialOf(ctx, userId, keyHash, now);
  if (shown.by === "key") return verdictOfKey(shown.key, deed);
  return verdictOf(shown.by, await levelOf(ctx, userId, now), deed, isGuessable(await nameOf(ctx, userId)));
}

/** The same for actions. @returns What the caller has shown. */
export async function assertMay(
  ctx: ActionCtx,
  userId: string,
  deed: Deed,
  { keyHash }: Pick<Caller, "keyHash"> = {},
): Promise<Credential> {
  const asked = { userId, deed, ...keyArg(keyHash), now: Date.now() };
  return noted(ctx, await ctx.runQuery(internal.users.access.may, asked), keyHash);
}

export const may = internalQuery({
  args: { userId: v.string(), deed: vDeed, keyHash: v.optional(v.string()), now: v.number() },
  returns: vCredential,
  handler: async (ctx, { userId, deed, keyHash, now }) =>
    (await permitNow(ctx, userId, deed, now, keyHash)).by,
});

/**
 * Whether naming a `userId` shows anything about the caller: nobody's does, since only its user knows it; a signed-in
 * user's does with that user's token alone. The caller's transaction is the one that decides.
 */
export async function mayActAs(ctx: QueryCtx, userId: string | undefined): Promise<boolean> {
  if (userId === undefined) return false;
  const owner = await ownerOf(ctx, userId);
  if (owner === null) return true;
  const identity = await ctx.auth.getUserIdentity().catch(() => null);
  return identity?.tokenIdentifier === owner.tokenIdentifier;
}

/** The caller's `userId`, for actions. @throws AppError `unauthorized`, `not_found` before their first sign-in. */
export const mine = internalQuery({
  args: {},
  returns: v.string(),
  handler: async (ctx) => (await requireUser(ctx)).userId,
});

/**
 * Puts a new `userId` in the place of the caller's, for one that has leaked. From then on the old one is nobody's, for good:
 * whatever names it is 404. Everything that the account has stays, its keys too; what waits for the owner's approval is void.
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
