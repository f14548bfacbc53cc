import { v, type Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalQuery, type ActionCtx, type QueryCtx } from "../_generated/server";
import { siteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import type { IdQuestion, Known } from "../lib/http/router";
import { vAccess, vCredential, type Credential, type Deed } from "../lib/limits/callers";
import { dateTime, iso } from "../lib/time";
import { accountNamed, owned, ownerOf, replacedId, requireUser, type Owned } from "./model";
import type { vScope } from "./tables";

/** Who may do what for a `userId`, from what the caller has proved. Nothing else decides that. */

/** The scope that a key needs for an act; `null`: any key. */
const SCOPE: Record<Deed, Infer<typeof vScope> | null> = {
  swap: "trade",
  send: "withdraw",
  delivery: "withdraw",
  holdings: null,
  shifts: null,
};

type Allowed = {
  kind: "allowed";
  by: Credential;
  /** The key that was used, and its limit in 24 hours (micro-USD; `null`: only its owner's limit). */
  key?: { id: Doc<"keys">["_id"]; name: string; daily: bigint | null };
};
/** `asks`: the owner's tap in their chat decides, if one is linked; otherwise it is a refusal. */
type Refused = { kind: "refused" | "asks"; code: "forbidden"; message: string };
export type Verdict = Allowed | Refused;

/** What a caller has proved about a `userId`. `other`: that they are another user. */
type Proof = { by: Exclude<Credential, "key"> | "other" } | { by: "key"; key: Doc<"keys"> };
type Shown = { keyHash?: string | undefined; now: number };

/** How owners prove who they are. */
export const TOKEN = "the owner's token (Authorization: Bearer <token>)";

/** An id without an owner is its own credential, and then the Authorization header is ignored. @throws AppError as `keyOf`. */
async function proofOf(ctx: QueryCtx, owner: Owned | null, { keyHash, now }: Shown): Promise<Proof> {
  if (owner === null) return { by: "unclaimed" };
  if (keyHash !== undefined) return { by: "key", key: await keyOf(ctx, owner.userId, keyHash, now) };
  const identity = await ctx.auth.getUserIdentity().catch(() => null);
  if (identity === null) return { by: "id" };
  return { by: identity.tokenIdentifier === owner.login ? "owner" : "other" };
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

function refused(message: string): Refused {
  return { kind: "refused", code: "forbidden", message };
}

function verdictOf(proof: Proof, deed: Deed, now: number): Verdict {
  if (proof.by === "other") return refused("This userId has another owner than the token");
  if (proof.by === "key") return verdictOfKey(proof.key, deed, now);
  return proof.by === "id" ? verdictOfId(deed) : { kind: "allowed", by: proof.by };
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

/** The verdict on an act of a caller who only names the `userId` of an owner. */
function verdictOfId(deed: Deed): Verdict {
  if (deed === "holdings" || deed === "shifts") return { kind: "allowed", by: "id" };
  const needs = `This userId has an owner: this needs ${TOKEN}, or a key with the scope ${SCOPE[deed]}`;
  if (deed === "delivery") return refused(needs);
  const tap = "or a tap in the owner's chat, which has to be linked with the service's bot";
  return { kind: "asks", code: "forbidden", message: `${needs}, ${tap}` };
}

/**
 * The verdict on an act, in the transaction that decides: the present state counts.
 * @throws AppError `unauthorized`, `forbidden` for a key that is wrong.
 */
export async function verdictNow(
  ctx: QueryCtx,
  userId: string,
  deed: Deed,
  now: number,
  keyHash?: string,
): Promise<Verdict> {
  return verdictOf(await proofOf(ctx, await ownerOf(ctx, userId), { keyHash, now }), deed, now);
}

/** The same, and a refusal is thrown. @throws AppError `unauthorized`, `forbidden` */
export async function permitNow(
  ctx: QueryCtx,
  userId: string,
  deed: Deed,
  now: number,
  keyHash?: string,
): Promise<void> {
  refuse(await verdictNow(ctx, userId, deed, now, keyHash));
}

function refuse(verdict: Verdict): void {
  if (verdict.kind !== "allowed") throw new AppError(verdict.code, verdict.message);
}

/**
 * Whether naming a `userId` identifies the caller. For an id without an owner it does, since only its user knows it; an
 * owned one needs its owner's token, or a key. To be called in the transaction that decides.
 * @throws AppError as `keyOf`.
 */
export async function mayActAs(ctx: QueryCtx, userId: string, keyHash?: string): Promise<boolean> {
  const { by } = await proofOf(ctx, await ownerOf(ctx, userId), { keyHash, now: Date.now() });
  return by !== "id" && by !== "other";
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

/**
 * All that a request needs to know about the `userId` that it names; `null` if the owner has replaced the id.
 * @throws AppError `unauthorized`, `forbidden` for a caller without the access that the endpoint asks for.
 */
export const named = internalQuery({
  args: {
    name: v.string(),
    keyHash: v.optional(v.string()),
    access: v.optional(vAccess),
    isTokenWrong: v.optional(v.boolean()),
    now: v.number(),
  },
  returns: v.union(vNamed, v.null()),
  handler: async (ctx, { name, access, isTokenWrong, ...shown }) => {
    const found = await accountNamed(ctx, name);
    if (found === null) return null;
    const owner = owned(found.row);
    const claimDueAt = found.row?.claim?.dueAt ?? null;
    const known = { userId: found.userId, isOwned: owner !== null, claimDueAt, credential: null };
    if (access === undefined) return known;
    const proof = await proofOf(ctx, owner, shown);
    // A wrong token never falls back to the id alone.
    if (proof.by === "id" && isTokenWrong === true)
      throw new AppError("unauthorized", "The token is not valid");
    if (access !== "shown") refuse(verdictOf(proof, access, shown.now));
    return { ...known, credential: proof.by === "other" ? ("id" as const) : proof.by };
  },
});

/**
 * What every HTTP request learns of the `userId` that it names.
 * @throws AppError `not_found` if the id was replaced; `unauthorized`, `forbidden` as the endpoint's access says.
 */
export async function knownId(ctx: ActionCtx, name: string, question: IdQuestion): Promise<Known> {
  const asked = { name, ...question, now: Date.now() };
  const id: Infer<typeof vNamed> | null = await ctx.runQuery(internal.accounts.access.named, asked);
  if (id === null) throw replacedId();
  const { userId, credential, isOwned, claimDueAt } = id;
  return {
    userId,
    credential,
    notes: (by) => {
      if (isOwned && by === "id") return { owned: true, ownedNote: OWNED };
      if (claimDueAt === null) return {};
      return {
        claimPending: iso(claimDueAt),
        claimEndUrl: `${siteUrl()}/claim/end`,
      };
    },
  };
}

/** To whoever only names an id, so that nobody pays money into somebody else's wallet. */
const OWNED = "This userId has an owner: only its owner can move what is paid in";
