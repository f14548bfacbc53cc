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
import { accountNamed, claimDueAt, owned, ownerOf, replacedId, requireUser, type Owned } from "./model";
import type { vScope } from "./tables";

/** Who may do what for a `userId`, from what the caller has proved. Nothing else decides that. */

/** To whoever only names an id, so that nobody pays money into somebody else's wallet. */
const OWNED = "This userId has an owner: only its owner can move what is paid in";

/** The scope that a key needs for an act; `null`: any key. */
const SCOPE: Record<Deed, Infer<typeof vScope> | null> = {
  swap: "trade",
  send: "withdraw",
  delivery: "withdraw",
  holdings: null,
  shifts: null,
};

/** `asks`: the owner's tap in their chat decides, if one is linked; otherwise it is a refusal. */
export type Verdict =
  | {
      kind: "allowed";
      by: Credential;
      /** The key that was used, and its limit in 24 hours (micro-USD; `null`: only its owner's limit). */
      key?: { id: Doc<"keys">["_id"]; name: string; daily: bigint | null };
    }
  | { kind: "refused" | "asks"; code: "forbidden"; message: string };

/** What a caller has proved about a `userId`. `other`: that they are another user. */
type Proof = { by: Credential | "other"; key?: Doc<"keys"> };

/** How owners prove who they are. */
const TOKEN = "the owner's token (Authorization: Bearer <token>)";

/**
 * An id without an owner is its own credential, and then the Authorization header is ignored.
 * @throws AppError `unauthorized` for a key that is unknown, revoked or expired; `forbidden` for another user's.
 */
async function proofOf(
  ctx: QueryCtx,
  owner: Owned | null,
  keyHash: string | undefined,
  now: number,
): Promise<Proof> {
  if (owner === null) return { by: "unclaimed" };
  if (keyHash === undefined) {
    const identity = await ctx.auth.getUserIdentity().catch(() => null);
    if (identity === null) return { by: "id" };
    return { by: identity.tokenIdentifier === owner.login ? "owner" : "other" };
  }
  const key = await getOneFrom(ctx.db, "keys", "by_keyHash", keyHash);
  if (key === null || key.revokedAt !== undefined || (key.expiresAt ?? Infinity) <= now)
    throw new AppError("unauthorized", "This key is not valid: it was revoked, has expired or is unknown");
  if (key.userId !== owner.userId) throw new AppError("forbidden", "This key belongs to another user");
  return { by: "key", key };
}

function refused(message: string, kind: "refused" | "asks" = "refused"): Verdict {
  return { kind, code: "forbidden", message };
}

function verdictOf({ by, key }: Proof, deed: Deed, now: number): Verdict {
  const scope = SCOPE[deed];
  if (by === "other") return refused("This userId has another owner than the token");
  if (key !== undefined) {
    const { _id: id, name, scopes, dailyMicroUsd, countsFrom } = key;
    if (scope !== null && !scopes.includes(scope)) return refused(`This key lacks the scope ${scope}`);
    if (scope !== null && countsFrom > now)
      return refused(`This key is new: until ${dateTime(countsFrom)} it only reads`);
    return {
      kind: "allowed",
      by,
      key: { id, name, daily: dailyMicroUsd === undefined ? null : BigInt(dailyMicroUsd) },
    };
  }
  if (by !== "id" || scope === null) return { kind: "allowed", by };
  const needs = `This userId has an owner: this needs ${TOKEN}, or a key with the scope ${scope}`;
  if (deed === "delivery") return refused(needs);
  return refused(
    `${needs}, or a tap in the owner's chat, which has to be linked with the service's bot`,
    "asks",
  );
}

/**
 * The verdict on an act, in the transaction that decides: the present state counts.
 * @throws AppError as `proofOf`.
 */
export async function verdictNow(
  ctx: QueryCtx,
  userId: string,
  deed: Deed,
  now: number,
  keyHash?: string,
): Promise<Verdict> {
  return verdictOf(await proofOf(ctx, await ownerOf(ctx, userId), keyHash, now), deed, now);
}

/** Throws a refusal. @throws AppError `forbidden` */
export function permit(verdict: Verdict): void {
  if (verdict.kind !== "allowed") throw new AppError(verdict.code, verdict.message);
}

/**
 * Whether naming a `userId` identifies the caller. For an id without an owner it does, since only its user knows it; an
 * owned one needs its owner's token, or a key. To be called in the transaction that decides.
 * @throws AppError as `proofOf`.
 */
export async function mayActAs(ctx: QueryCtx, userId: string, keyHash?: string): Promise<boolean> {
  const { by } = await proofOf(ctx, await ownerOf(ctx, userId), keyHash, Date.now());
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
  handler: async (ctx, { name, access, isTokenWrong, keyHash, now }) => {
    const found = await accountNamed(ctx, name);
    if (found === null) return null;
    const { userId, row } = found;
    const owner = owned(row);
    const known = { userId, isOwned: owner !== null, claimDueAt: claimDueAt(row), credential: null };
    if (access === undefined) return known;
    const proof = await proofOf(ctx, owner, keyHash, now);
    // A wrong token never falls back to the id alone.
    if (proof.by === "id" && isTokenWrong === true)
      throw new AppError("unauthorized", "The token is not valid");
    if (access !== "shown") permit(verdictOf(proof, access, now));
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
