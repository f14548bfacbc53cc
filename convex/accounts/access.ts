import { v, type Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalQuery, type ActionCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { siteUrl } from "../lib/env";
import { AppError, messageOf } from "../lib/errors";
import type { IdQuestion, Known } from "../lib/http/router";
import { vCredential, type Caller, type Credential } from "../lib/limits/callers";
import { literals } from "../lib/literals";
import { log } from "../lib/log";
import { requireIdentity } from "../lib/security/auth";
import { dateTime, HOUR, iso } from "../lib/time";
import { accountNamed, owned, ownerOf, replacedId, requireUser, type Owned } from "./model";
import type { vScope } from "./tables";

/** Who may do what for a `userId`, from what the caller has proved. Nothing else decides that. */

/**
 * Acts about which it is decided. `swap` and `send`: move funds. `delivery`: sets where the user's cards go.
 * `holdings`: shows what the wallets hold. `shifts`: starts and stops research.
 */
const vDeed = literals("swap", "send", "delivery", "holdings", "shifts");
export type Deed = Infer<typeof vDeed>;

/** The scope that a key needs for an act; `null`: any key. */
const SCOPE: Record<Deed, Infer<typeof vScope> | null> = {
  swap: "trade",
  send: "withdraw",
  delivery: "withdraw",
  holdings: null,
  shifts: null,
};

export type Allowed = {
  kind: "allowed";
  by: Credential;
  /** The key that was used, and its limit in 24 hours (micro-USD; `null`: only its owner's limit). */
  key?: { id: string; name: string; daily: bigint | null };
};
/** `asks`: the owner's tap in their chat decides, if one is linked; otherwise it is a refusal. */
type Refused = { kind: "refused" | "asks"; code: "forbidden"; message: string };
export type Verdict = Allowed | Refused;

/** What a caller has proved about a `userId`. */
type Proof = { by: Exclude<Credential, "key"> } | { by: "key"; key: Doc<"keys"> };

/** How owners prove who they are. */
export const TOKEN = "the owner's token (Authorization: Bearer <token>)";

function refused(message: string): Refused {
  return { kind: "refused", code: "forbidden", message };
}

function verdictOfKey(key: Doc<"keys">, deed: Deed, now: number): Verdict {
  const { _id: id, name, scopes, dailyMicroUsd, countsFrom } = key;
  const scope = SCOPE[deed];
  if (scope !== null && !scopes.includes(scope)) return refused(`This key lacks the scope ${scope}`);
  if (scope !== null && countsFrom > now)
    return refused(`This key is new: until ${dateTime(countsFrom)} it only reads`);
  const daily = dailyMicroUsd === undefined ? null : BigInt(dailyMicroUsd);
  return { kind: "allowed", by: "key", key: { id, name, daily } };
}

/** The verdict on an act of a caller who only names the `userId` of an owner. Pure. */
function verdictOfId(deed: Deed): Verdict {
  if (deed === "holdings" || deed === "shifts") return { kind: "allowed", by: "id" };
  const needs = `This userId has an owner: this needs ${TOKEN}, or a key with the scope ${SCOPE[deed]}`;
  if (deed === "delivery") return refused(needs);
  const tap = "or a tap in the owner's chat, which has to be linked with the service's bot";
  return { kind: "asks", code: "forbidden", message: `${needs}, ${tap}` };
}

/**
 * What the caller has proved about a `userId`. An id without an owner is its own credential, and then the Authorization
 * header is ignored.
 * @throws AppError `unauthorized` with an invalid token; `forbidden` with another user's: neither falls back to the id.
 */
async function proofOf(
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
  if (tokenIdentifier !== owner.login)
    throw new AppError("forbidden", "This userId has another owner than the token");
  return { by: "owner" };
}

/**
 * The key of a request about a user.
 * @throws AppError `unauthorized` for one that is unknown, revoked or expired; `forbidden` for another user's.
 */
async function keyOf(ctx: QueryCtx, userId: string, keyHash: string, now: number): Promise<Doc<"keys">> {
  const row = await getOneFrom(ctx.db, "keys", "by_keyHash", keyHash);
  if (row === null || row.revokedAt !== undefined || (row.expiresAt ?? Infinity) <= now)
    throw new AppError("unauthorized", "This key is not valid: it was revoked, has expired or is unknown");
  if (row.userId !== userId) throw new AppError("forbidden", "This key belongs to another user");
  return row;
}

/** What a caller has proved, where a wrong token counts as none. @throws AppError as `keyOf`. */
async function credentialOrId(
  ctx: QueryCtx,
  owner: Owned | null,
  { keyHash, now }: { keyHash?: string | undefined; now: number },
): Promise<Credential> {
  if (owner === null) return "unclaimed";
  if (keyHash !== undefined) {
    await keyOf(ctx, owner.userId, keyHash, now);
    return "key";
  }
  const identity = await ctx.auth.getUserIdentity().catch(() => null);
  return identity?.tokenIdentifier === owner.login ? "owner" : "id";
}

/**
 * The verdict on an act, in the transaction that decides: the present state counts.
 * @throws AppError `unauthorized`, `forbidden` for a credential that is wrong.
 */
export async function verdictNow(
  ctx: QueryCtx,
  userId: string,
  deed: Deed,
  now: number,
  keyHash?: string,
): Promise<Verdict> {
  const shown = await proofOf(ctx, userId, keyHash, now);
  if (shown.by === "key") return verdictOfKey(shown.key, deed, now);
  return shown.by === "id" ? verdictOfId(deed) : { kind: "allowed", by: shown.by };
}

/** The same, and a refusal is thrown. @throws AppError `unauthorized`, `forbidden` */
export async function permitNow(
  ctx: QueryCtx,
  userId: string,
  deed: Deed,
  now: number,
  keyHash?: string,
): Promise<Allowed> {
  const verdict = await verdictNow(ctx, userId, deed, now, keyHash);
  if (verdict.kind !== "allowed") throw new AppError(verdict.code, verdict.message);
  return verdict;
}

export const may = internalQuery({
  args: { userId: v.string(), deed: vDeed, keyHash: v.optional(v.string()), now: v.number() },
  returns: vCredential,
  handler: async (ctx, { userId, deed, keyHash, now }) =>
    (await permitNow(ctx, userId, deed, now, keyHash)).by,
});

/** The same for actions. @returns What the caller has proved. */
export async function assertMay(
  ctx: ActionCtx,
  userId: string,
  deed: Deed,
  { keyHash }: Pick<Caller, "keyHash"> = {},
): Promise<Credential> {
  const by = await ctx.runQuery(internal.accounts.access.may, {
    userId,
    deed,
    ...sent(keyHash),
    now: Date.now(),
  });
  await noteUse(ctx, by, keyHash);
  return by;
}

const sent = (keyHash: string | undefined) => (keyHash === undefined ? {} : { keyHash });

/** The precision of a key's last use. */
const USE_NOTED_MS = HOUR;

async function noteUse(ctx: ActionCtx, by: Credential | null, keyHash: string | undefined): Promise<void> {
  if (by !== "key" || keyHash === undefined) return;
  await ctx.runMutation(internal.accounts.access.touch, { keyHash }).catch((error: unknown) => {
    log.warn("accounts.key use not noted", { message: messageOf(error) });
  });
}

/** Records that a key is in use. */
export const touch = change({ keyHash: v.string() }, async (ctx, { keyHash }) => {
  const row = await getOneFrom(ctx.db, "keys", "by_keyHash", keyHash);
  const now = Date.now();
  if (row !== null && (row.lastUsedAt ?? 0) <= now - USE_NOTED_MS)
    await ctx.db.patch("keys", row._id, { lastUsedAt: now });
});

/**
 * Whether naming a `userId` identifies the caller. For an id without an owner it does, since only its user knows it; an
 * owned one needs its owner's token, or a key. To be called in the transaction that decides.
 * @throws AppError as `keyOf`.
 */
export async function mayActAs(
  ctx: QueryCtx,
  userId: string | undefined,
  keyHash?: string,
): Promise<boolean> {
  if (userId === undefined) return false;
  return (await credentialOrId(ctx, await ownerOf(ctx, userId), { keyHash, now: Date.now() })) !== "id";
}

/** The caller's `userId`, for actions. @throws AppError `unauthorized`, `not_found` before their first sign-in. */
export const mine = internalQuery({
  args: {},
  returns: v.string(),
  handler: async (ctx) => (await requireUser(ctx)).userId,
});

const vNamed = v.object({
  userId: v.string(),
  /** The caller's credential, if the endpoint needs it. */
  credential: v.union(vCredential, v.null()),
  isOwned: v.boolean(),
  /** When a claim of it takes effect (epoch ms). */
  claimDueAt: v.union(v.number(), v.null()),
});

/** All that a request needs to know about the `userId` that it names; `null` if the owner has replaced the id. */
export const named = internalQuery({
  args: { name: v.string(), keyHash: v.optional(v.string()), shows: v.boolean(), now: v.number() },
  returns: v.union(vNamed, v.null()),
  handler: async (ctx, { name, shows, ...shown }) => {
    const found = await accountNamed(ctx, name);
    if (found === null) return null;
    const owner = owned(found.row);
    const credential = shows ? await credentialOrId(ctx, owner, shown) : null;
    const claimDueAt = found.row?.claim?.dueAt ?? null;
    return { userId: found.userId, credential, isOwned: owner !== null, claimDueAt };
  },
});

/** What every HTTP request learns of the `userId` that it names. @throws AppError `not_found` if the id was replaced. */
export async function knownId(ctx: ActionCtx, name: string, { keyHash, shows }: IdQuestion): Promise<Known> {
  const asked = { name, ...sent(keyHash), shows, now: Date.now() };
  const id: Infer<typeof vNamed> | null = await ctx.runQuery(internal.accounts.access.named, asked);
  if (id === null) throw replacedId();
  const { userId, credential, isOwned, claimDueAt } = id;
  await noteUse(ctx, credential, keyHash);
  return {
    userId,
    credential,
    notes: (by) => {
      if (isOwned && by === "id") return { owned: true, ownedNote: OWNED };
      if (claimDueAt === null) return {};
      return {
        claimPending: iso(claimDueAt),
        claimEndUrl: `${siteUrl()}/claim/end?id=${encodeURIComponent(name)}`,
      };
    },
  };
}

/** To whoever only names an id, so that nobody pays money into somebody else's wallet. */
const OWNED = "This userId has an owner: only its owner can move what is paid in";
