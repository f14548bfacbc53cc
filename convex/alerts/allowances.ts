import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { sha256Hex } from "../lib/security/digests";
import { AppError } from "../lib/errors";
import { ownerOf } from "../users/model";

/** How many alerts may be active at once: each is compared and announced for months. */

/** Of a signed-in user, no matter how they were set. */
export const MOST_ACTIVE = 20;
/** Of a `userId` that nobody has signed in for: names cost nothing. */
const MOST_UNPROVEN = 5;
/** Of all such users together who have confirmed from one network address. */
const MOST_FROM_ADDRESS = 20;

/** Whether a `userId` is a signed-in user's. */
export async function isProven(ctx: QueryCtx, userId: string): Promise<boolean> {
  return (await ownerOf(ctx, userId)) !== null;
}

/** A user's alerts, oldest first. */
export function inState(ctx: QueryCtx, userId: string, state: Doc<"alerts">["state"]) {
  return ctx.db
    .query("alerts")
    .withIndex("by_userId_and_state", (q) => q.eq("userId", userId).eq("state", state));
}

/**
 * Refuses one more active alert than a user may have.
 * @param address The address that the confirmation came from; `null` if it came without a network.
 * @returns The address that the alert counts for; none for a signed-in user.
 * @throws AppError `conflict`
 */
export async function allowOneMore(
  ctx: MutationCtx,
  userId: string,
  address: string | null,
): Promise<{ setFrom?: string }> {
  const proven = await isProven(ctx, userId);
  const most = proven ? MOST_ACTIVE : MOST_UNPROVEN;
  const own = await inState(ctx, userId, "active").take(most);
  if (own.length >= most) {
    const more = proven ? "" : `; a signed-in user can have ${MOST_ACTIVE}`;
    throw new AppError("conflict", `At most ${most} alerts can be active: switch one off first${more}`);
  }
  if (proven || address === null) return {};
  const setFrom = sha256Hex(`alerts from ${address}`);
  const neighbours = await ctx.db
    .query("alerts")
    .withIndex("by_setFrom", (q) => q.eq("setFrom", setFrom).eq("state", "active"))
    .take(MOST_FROM_ADDRESS);
  if (neighbours.length >= MOST_FROM_ADDRESS)
    throw new AppError(
      "conflict",
      `At most ${MOST_FROM_ADDRESS} alerts can be active that were set from one network address without signing in`,
    );
  return { setFrom };
}
