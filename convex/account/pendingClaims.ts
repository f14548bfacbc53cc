import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import { mutation, type MutationCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { OPERATOR, recordAudit } from "../lib/records/audit";
import { AppError } from "../lib/errors";
import { codeHash } from "../messenger/codes";
import { tellEverywhere } from "../messenger/notices";
import { userIdByAddress } from "../wallets/model";
import { bind, refusalOf } from "./ownership/binding";
import { openClaimOf } from "./ownership/waitingClaims";

/**
 * Claims of userIds that could be guessed and have a wallet: 48 hours in which the id stays nobody's, and whoever was there
 * before can contest.
 */

/** Makes the id the claimer's once its time has come, where both are still free. Runs by itself. */
export const carryOut = change({ claimId: v.id("pendingClaims") }, async (ctx, { claimId }) => {
  const claim = await ctx.db.get("pendingClaims", claimId);
  if (claim?.state !== "open" || claim.dueAt > Date.now()) return;
  const { tokenIdentifier, userId, keep } = claim;
  const refusal = await refusalOf(ctx, tokenIdentifier, userId);
  if (refusal !== null) return end(ctx, claim, "refused", refusal);
  await bind(ctx, tokenIdentifier, userId, keep);
  await end(ctx, claim, "done");
});

/**
 * Ends a claim that waits, for whoever reads a channel that the id had before it: the code was told there. The id stays
 * nobody's, with what stands on it and under the same caps. No token is needed: who was there before may have none. Guesses
 * are not counted: nobody tries 60 bits in two days, and a count would let strangers keep the right code out.
 * @throws AppError `not_found` for a code that no open claim has.
 */
export const contest = mutation({
  args: { userId: v.string(), code: v.string() },
  returns: v.null(),
  handler: async (ctx, { userId, code }) => {
    const claim = await getOneFrom(ctx.db, "pendingClaims", "by_codeHash", codeHash(code));
    if (claim?.state !== "open" || claim.userId !== userId)
      throw new AppError("not_found", "This code contests no claim of this userId");
    return end(ctx, claim, "contested");
  },
});

/**
 * For an operator who knows whose wallet it is:
 * `npx convex run account/pendingClaims:withdraw '{"address":"0x…","reason":"…"}'`.
 * @param args.address Of one of the id's wallets: the id is a secret of its user's.
 * @throws AppError `not_found`
 */
export const withdraw = change(
  { address: v.string(), reason: v.string() },
  async (ctx, { address, reason }) => {
    const userId = await userIdByAddress(ctx, address);
    const claim = userId === null ? null : await openClaimOf(ctx, userId);
    if (claim === null) throw new AppError("not_found", "No claim waits for this address's user");
    await end(ctx, claim, "withdrawn", reason);
  },
);

async function end(
  ctx: MutationCtx,
  { _id, userId }: Doc<"pendingClaims">,
  state: Exclude<Doc<"pendingClaims">["state"], "open">,
  detail?: string,
): Promise<void> {
  await ctx.db.patch("pendingClaims", _id, { state, endedAt: Date.now() });
  const actor = state === "withdrawn" ? OPERATOR : userId;
  const event = { actor, action: `claim ${state}` as const, subject: _id };
  await recordAudit(ctx, { ...event, ...(detail === undefined ? {} : { detail }) });
  if (state === "done") return;
  const paragraphs = [[{ bold: "🔐 The claim of your account id has ended" }], ["It stays as it was."]];
  await tellEverywhere(ctx, { userId, kind: "claim", paragraphs });
}
