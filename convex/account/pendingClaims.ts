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
import { pendingClaimOf } from "./ownership/claimRows";

/**
 * Pending claims of userIds that could be guessed and have a wallet. For 48 hours the id stays without an owner, and
 * earlier users of the id can contest the claim.
 */

/** Makes the claimer the owner when the time is over, if both are still free. It is scheduled. */
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
 * Ends a pending claim. The code was sent to the channels that the id had before the claim. The id stays without an owner,
 * keeps what is set on it, and has the same caps. No token is needed, because an earlier user may have none. Guesses are
 * not counted: nobody can try 60 bits in two days, and a limit would let strangers block the right code.
 * @throws AppError `not_found` if no open claim has this code.
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
 * @param args.address One of the id's wallets, because the id itself is its user's secret.
 * @throws AppError `not_found`
 */
export const withdraw = change(
  { address: v.string(), reason: v.string() },
  async (ctx, { address, reason }) => {
    const userId = await userIdByAddress(ctx, address);
    const claim = userId === null ? null : await pendingClaimOf(ctx, userId);
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
