import { v, type Infer } from "convex/values";
import { internalQuery } from "../../_generated/server";
import { vCredential } from "../../lib/limits/callers";
import { isGuessable } from "../../lib/records/ids";
import { credentialOrId } from "../../users/access";
import { levelOf } from "../../users/levels";
import { ownerOf } from "../../users/model";
import { accountNamed } from "../../users/names";
import { vLevel } from "../../users/tables";
import { pendingClaimOf } from "../ownership/claimRows";

/** All that a request needs to know about the `userId` that it names, in one query. */

const vId = v.object({
  userId: v.string(),
  /** The caller's credential, if the endpoint needs it. */
  credential: v.union(vCredential, v.null()),
  /** Its level, if it has an owner. */
  level: v.union(vLevel, v.null()),
  /** Its pending claim: until when (epoch ms), and whether a channel of the id was notified. */
  claim: v.union(v.object({ dueAt: v.number(), told: v.boolean() }), v.null()),
});

export type NamedId = Infer<typeof vId>;

/** `null` if the owner has replaced the id. */
export const known = internalQuery({
  args: { name: v.string(), keyHash: v.optional(v.string()), shows: v.boolean(), now: v.number() },
  returns: v.union(vId, v.null()),
  handler: async (ctx, { name, keyHash, shows, now }): Promise<NamedId | null> => {
    const userId = await accountNamed(ctx, name);
    if (userId === null) return null;
    const owner = await ownerOf(ctx, userId);
    const credential = shows ? await credentialOrId(ctx, owner, { userId, keyHash, now }) : null;
    if (owner !== null)
      return { userId, credential, level: (await levelOf(ctx, userId, now)).level, claim: null };
    // Only ids that could be guessed have pending claims, so other ids need no look-up.
    const claim = isGuessable(userId) ? await pendingClaimOf(ctx, userId) : null;
    // Claims that an earlier version opened do not say: the present channels were notified.
    const waits = claim === null ? null : { dueAt: claim.dueAt, told: claim.told ?? true };
    return { userId, credential, level: null, claim: waits };
  },
});
