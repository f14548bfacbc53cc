import { v, type Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import {
  internalMutation,
  internalQuery,
  type ActionCtx,
  type MutationCtx,
  type QueryCtx,
} from "../_generated/server";
import { getOptional, getSiteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import type { AccountQuestion, ResolvedAccount } from "../platform/http/router";
import { vAccess, vCredential, type Credential, type Action } from "../platform/limits/callers";
import { charge } from "../platform/limits/charges";
import { formatDateTime, toDay, toIso } from "../lib/time";
import { defineMutation } from "../platform/changes";
import {
  resolveAccount,
  findOwner,
  findUser,
  getAccountName,
  getClaimDueAt,
  requireUser,
  saveAccount,
  createRandomHex,
  findAccount,
  type Account,
} from "./model";
import type { vScope } from "./tables";

/** Authorization: the only place that decides which actions a credential allows on a `userId`. */

/** The note to callers with only an id, so that they do not pay into a wallet of another owner. */
const OWNED_NOTE = "This userId has an owner: only its owner can move what is paid in";

/** The scope that a key needs for an action; `any`: any key; `null`: any key, and the id alone. */
const SCOPE_FOR: Record<Action, Infer<typeof vScope> | "any" | null> = {
  swap: "trade",
  send: "withdraw",
  delivery: "withdraw",
  holdings: null,
  shifts: null,
  alerts: "any",
};

/** `asks`: the owner's tap in their chat decides, if one is linked; otherwise it is a refusal. */
export type Decision =
  | { kind: "allowed"; by: Credential; key?: Doc<"keys"> }
  | { kind: "refused" | "asks"; error: AppError };

/** The credential of a caller for a `userId`. `other`: the token of another user. */
type Credentials = { by: Credential | "other"; key?: Doc<"keys"> };

/**
 * An id without an owner is its own credential, and then the Authorization header is ignored.
 * @throws AppError `unauthorized` for a key that is unknown, revoked or expired; `forbidden` for another user's.
 */
async function readCredentials(
  ctx: QueryCtx,
  owner: Account | null,
  keyHash: string | undefined,
  now: number,
): Promise<Credentials> {
  if (owner === null) return { by: "unclaimed" };
  if (keyHash === undefined) {
    const identity = await ctx.auth.getUserIdentity().catch(() => null);
    if (identity === null) return { by: "id" };
    return { by: identity.tokenIdentifier === owner.login ? "owner" : "other" };
  }
  const key = await requireKey(ctx, keyHash, now);
  if (key.userId !== owner.userId)
    throw new AppError(
      "forbidden",
      "This key belongs to another user: send it with that user's userId, or none",
    );
  return { by: "key", key };
}

/** @throws AppError `unauthorized` for a key that is unknown, revoked or expired */
async function requireKey(ctx: QueryCtx, keyHash: string, now: number): Promise<Doc<"keys">> {
  const key = await getOneFrom(ctx.db, "keys", "by_keyHash", keyHash);
  if (key !== null && key.revokedAt === undefined && (key.expiresAt ?? Infinity) > now) return key;
  throw new AppError(
    "unauthorized",
    "This key is not valid (revoked, expired or unknown): create a new one in the web application's profile",
  );
}

function refuse(message: string, kind: "refused" | "asks" = "refused"): Decision {
  return { kind, error: new AppError("forbidden", message) };
}

function decide({ by, key }: Credentials, action: Action, now: number): Decision {
  const scope = SCOPE_FOR[action];
  if (by === "other")
    return refuse("This token belongs to another user than the owner of this userId: sign in as the owner");
  if (key !== undefined) {
    if (scope === null || scope === "any") return { kind: "allowed", by, key };
    if (!key.scopes.includes(scope))
      return refuse(
        `This key lacks the scope ${scope}: use one with it, which its owner creates in the web application`,
      );
    if (key.countsFrom > now)
      return refuse(
        `This key is new, and only reads until ${formatDateTime(key.countsFrom)}: try again then`,
      );
    return { kind: "allowed", by, key };
  }
  if (by !== "id" || scope === null) return { kind: "allowed", by };
  const needs = `This userId has an owner: this needs the owner's token (Authorization: Bearer <token>), or a key${scope === "any" ? "" : ` with the scope ${scope}`}`;
  if (action === "delivery" || action === "alerts") return refuse(needs);
  return refuse(
    `${needs}, or a tap in the owner's chat, which has to be linked with the service's bot`,
    "asks",
  );
}

/**
 * The decision on an action. Call it in the transaction that acts on it: the present state counts.
 * @throws AppError as `readCredentials`.
 */
export async function authorize(
  ctx: QueryCtx,
  userId: string,
  action: Action,
  now: number,
  keyHash?: string,
): Promise<Decision> {
  return decide(await readCredentials(ctx, await findOwner(ctx, userId), keyHash, now), action, now);
}

/** @throws AppError `forbidden` for a decision that refuses or asks */
export function requireAllowed(decision: Decision): void {
  if (decision.kind !== "allowed") throw decision.error;
}

/**
 * Whether naming a `userId` identifies the caller. For an id without an owner it does, since only its user knows it; an
 * owned one needs its owner's token, or a key. To be called in the transaction that decides.
 * @throws AppError as `readCredentials`.
 */
export async function isIdentified(ctx: QueryCtx, userId: string, keyHash?: string): Promise<boolean> {
  const { by } = await readCredentials(ctx, await findOwner(ctx, userId), keyHash, Date.now());
  return by !== "id" && by !== "other";
}

/** The caller's `userId`, for actions. @throws AppError `unauthorized`, `not_found` before their first sign-in. */
export const getOwnUserId = internalQuery({
  args: {},
  returns: v.string(),
  handler: async (ctx) => (await requireUser(ctx)).userId,
});

const vResolvedAccount = v.object({
  userId: v.string(),
  /** The caller's credential, if the endpoint needs it. */
  credential: v.union(vCredential, v.null()),
  /** The key that was used, if this is its first use of the day. */
  newlyUsed: v.optional(v.id("keys")),
  notes: v.object({
    owned: v.optional(v.literal(true)),
    ownedNote: v.optional(v.string()),
    claimPending: v.optional(v.string()),
    claimEndUrl: v.optional(v.string()),
  }),
});

/**
 * Resolves the caller of a tool from its connection: the id that it names, otherwise the account of its key or token;
 * `null` without any of them. @throws AppError as `readCredentials`; `not_found` if the owner has replaced the id.
 */
export const resolveToolCaller = internalQuery({
  args: { name: v.optional(v.string()), keyHash: v.optional(v.string()), now: v.number() },
  returns: v.union(
    v.object({
      /** The id that endpoints take. */
      name: v.string(),
      userId: v.string(),
      credential: vCredential,
      /** Whether the caller's key only reads. */
      isReadOnly: v.boolean(),
    }),
    v.null(),
  ),
  handler: async (ctx, { keyHash, now, ...given }) => {
    const publicName = given.name ?? (await findShownAccount(ctx, keyHash, now));
    if (publicName === null) return null;
    const { userId, row } = await resolveAccount(ctx, publicName);
    const owner = row?.login === undefined ? null : row;
    const { by, key } = await readCredentials(ctx, owner, keyHash, now);
    const isReadOnly = key !== undefined && key.scopes.every((scope) => scope === "read");
    return { name: publicName, userId, credential: by === "other" ? ("id" as const) : by, isReadOnly };
  },
});

/** The id of the account that a key or a token stands for. */
async function findShownAccount(
  ctx: QueryCtx,
  keyHash: string | undefined,
  now: number,
): Promise<string | null> {
  if (keyHash !== undefined) return getAccountName(ctx, (await requireKey(ctx, keyHash, now)).userId);
  const user = await findUser(ctx).catch(() => null);
  return user === null ? null : getAccountName(ctx, user.userId);
}

/** The notes on an account that every answer to its id carries. */
function buildNotes(
  row: Account | null,
  by: Credentials["by"] | null,
): Infer<typeof vResolvedAccount>["notes"] {
  if (by === "id" || by === "other") return { owned: true, ownedNote: OWNED_NOTE };
  const dueAt = getClaimDueAt(row);
  return dueAt === null ? {} : { claimPending: toIso(dueAt), claimEndUrl: `${getSiteUrl()}/claim/end` };
}

/**
 * Resolves the `userId` of a request: its account, the caller's credential, and the notes.
 * @throws AppError `not_found` if the owner has replaced the id; `unauthorized`, `forbidden` for a caller without the
 * access that the endpoint asks for.
 */
export const resolveRequestedAccount = internalQuery({
  args: {
    name: v.string(),
    keyHash: v.optional(v.string()),
    access: v.optional(vAccess),
    isTokenWrong: v.optional(v.boolean()),
    now: v.number(),
  },
  returns: vResolvedAccount,
  handler: async (ctx, given): Promise<Infer<typeof vResolvedAccount>> => {
    const { name, access, isTokenWrong, keyHash, now } = given;
    const { userId, row } = await resolveAccount(ctx, name);
    if (access === undefined) return { userId, credential: null, notes: buildNotes(row, null) };
    const owner = row?.login === undefined ? null : row;
    const credentials = await readCredentials(ctx, owner, keyHash, now);
    // A wrong token never falls back to the id alone.
    if (credentials.by === "id" && isTokenWrong === true)
      throw new AppError(
        "unauthorized",
        "The token is not valid: sign in again, and send the new one as Authorization: Bearer <token>",
      );
    if (access !== "shown") requireAllowed(decide(credentials, access, now));
    const { by, key } = credentials;
    const used = key === undefined || key.usedOn === toDay(now) ? {} : { newlyUsed: key._id };
    return { userId, credential: by === "other" ? "id" : by, notes: buildNotes(row, by), ...used };
  },
});

/** Notes the day of a key's use: one write a key and day. */
export const recordKeyUse = defineMutation({ keyId: v.id("keys") }, async (ctx, { keyId }) => {
  const usedOn = toDay(Date.now());
  if ((await ctx.db.get("keys", keyId))?.usedOn !== usedOn) await ctx.db.patch("keys", keyId, { usedOn });
});

/** Resolves the `userId` of an HTTP request. @throws AppError as `resolveRequestedAccount`. */
export async function resolveAccountForRequest(
  ctx: ActionCtx,
  name: string,
  question: AccountQuestion,
): Promise<ResolvedAccount> {
  const { newlyUsed, ...account }: Infer<typeof vResolvedAccount> = await ctx.runQuery(
    internal.identity.access.resolveRequestedAccount,
    { name, ...question, now: Date.now() },
  );
  if (newlyUsed !== undefined)
    await ctx.runMutation(internal.identity.access.recordKeyUse, { keyId: newlyUsed });
  return account;
}

/** The caller's account for a change of settings, charged to its limit. @throws AppError as `requireUser`; `rate_limited`. */
export async function requireSetter(ctx: MutationCtx): Promise<Account> {
  const user = await requireUser(ctx);
  await charge(ctx, "settings", { userId: user.userId, address: null });
  return user;
}

/** Why an account cannot be claimed now: its owner, a pending claim, or the week after an ended one; `null` if it can. */
export function explainUnclaimable(row: Account | null): string | null {
  if (row?.login !== undefined) return "This userId has an owner already: choose another one";
  const { login, dueAt = 0 } = row?.claim ?? {};
  if (login !== undefined) return `Another claim of this userId is pending until ${formatDateTime(dueAt)}`;
  if (dueAt <= Date.now()) return null;
  return `A claim of this userId was ended: it can be claimed again from ${formatDateTime(dueAt)}`;
}

/**
 * A single-use link that claims a free `userId` in the service's bot. `null` if the id cannot be claimed now, or the
 * operator has not named the bot (`MESSENGER_BOT_NAME`).
 */
export const createOwnerLink = internalMutation({
  args: { userId: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { userId }) => {
    const bot = getOptional("MESSENGER_BOT_NAME");
    const row = await findAccount(ctx, userId);
    if (bot === undefined || explainUnclaimable(row) !== null) return null;
    const ownerCode = row?.ownerCode ?? createRandomHex(12);
    if (row?.ownerCode === undefined) await saveAccount(ctx, userId, { ownerCode });
    return `https://t.me/${bot}?start=own_${ownerCode}`;
  },
});
