import { v, type Infer } from "convex/values";
import { internalQuery } from "../../_generated/server";
import { vCredential } from "../../lib/limits/callers";
import { isGuessable } from "../../lib/records/ids";
import { shownBy } from "../../users/access";
import { levelOf } from "../../users/levels";
import { ownerOf } from "../../users/model";
import { accountNamed } from "../../users/names";
import { vLevel } from "../../users/tables";
import { openClaimOf } from "../ownership/waitingClaims";

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

export type NamedId = Infer<typeof vId>;

/** `null` for an id in whose place its owner has put another. */
export const known = internalQuery({
  args: { name: v.string(), keyHash: v.optional(v.string()), shows: v.boolean(), now: v.number() },
  returns: v.union(vId, v.null()),
  handler: async (ctx, { name, keyHash, shows, now }): Promise<NamedId | null> => {
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
