import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery, type ActionCtx } from "../_generated/server";
import type { Asked, Known } from "../lib/http/router";
import { vCredential, type Credential } from "../lib/limits/callers";
import { isGuessable } from "../lib/records/ids";
import { iso } from "../lib/time";
import { noted, shownBy } from "../users/access";
import { levelOf } from "../users/levels";
import { ownerOf } from "../users/model";
import { accountNamed, replacedId } from "../users/names";
import { vLevel } from "../users/tables";
import { openClaimOf } from "./waitingClaims";

/** What a request needs to know of the `userId` that it names, in one query. */

const vId = v.object({
  userId: v.string(),
  /** What its caller has shown, where the endpoint asks. */
  credential: v.union(vCredential, v.null()),
  /** How far it goes with whoever names it, where it has an owner. */
  level: v.union(vLevel, v.null()),
  /** The claim of it that waits: until when (epoch ms), and whether the id was told. */
  claim: v.union(v.object({ dueAt: v.number(), told: v.boolean() }), v.null()),
});

/** `null` for an id in whose place its owner has put another. */
export const known = internalQuery({
  args: { name: v.string(), keyHash: v.optional(v.string()), shows: v.boolean(), now: v.number() },
  returns: v.union(vId, v.null()),
  handler: async (ctx, { name, keyHash, shows, now }): Promise<Infer<typeof vId> | null> => {
    const userId = await accountNamed(ctx, name);
    if (userId === null) return null;
    const owner = await ownerOf(ctx, userId);
    const credential = shows ? await shownBy(ctx, owner, { userId, keyHash, now }) : null;
    if (owner !== null)
      return { userId, credential, level: (await levelOf(ctx, userId, now)).level, claim: null };
    // Only ids that could be guessed have claims: all other ids of nobody cost nothing.
    const claim = isGuessable(userId) ? await openClaimOf(ctx, userId) : null;
    // What was opened by an earlier version does not say: what is set for the id now was there.
    const waits = claim === null ? null : { dueAt: claim.dueAt, told: claim.told ?? true };
    return { userId, credential, level: null, claim: waits };
  },
});

/** For actions. @throws AppError `not_found` for an id in whose place its owner has put another. */
export async function knownId(ctx: ActionCtx, name: string, { keyHash, shows }: Asked): Promise<Known> {
  const asked = { name, ...(keyHash === undefined ? {} : { keyHash }), shows, now: Date.now() };
  const id: Infer<typeof vId> | null = await ctx.runQuery(internal.account.namedIds.known, asked);
  if (id === null) throw replacedId();
  const { userId, credential, level, claim } = id;
  if (credential !== null) await noted(ctx, credential, keyHash);
  return {
    userId,
    credential,
    told: (by) => {
      if (level !== null && SHOWN.includes(by ?? "unclaimed")) return { owner: { level } };
      if (claim === null) return {};
      return { claimPending: iso(claim.dueAt), claimContest: claim.told ? "code" : "operator" };
    },
  };
}

/**
 * To these every answer tells besides its own that the id has an owner, so that nobody who only guessed it pays money in;
 * to others that a claim of it waits.
 */
const SHOWN: readonly Credential[] = ["id", "owner", "key"];
