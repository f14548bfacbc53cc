import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import type { Arm } from "./names";

/** The arms of the lab, and what they have shown against each other. */

/** More arms than this are not begun: a page shows all that there ever were. */
const MOST_ARMS = 50;

export async function findArm(ctx: QueryCtx, arm: string): Promise<Doc<"signalArms"> | null> {
  return getOneFrom(ctx.db, "signalArms", "by_arm", arm);
}

/** Every arm that was ever asked, by name. */
export async function knownArms(ctx: QueryCtx): Promise<Doc<"signalArms">[]> {
  return ctx.db.query("signalArms").withIndex("by_arm").take(MOST_ARMS);
}

/** Keeps an arm from its first hour on. @returns Whether it may be asked: not one more than are shown. */
export async function rememberArm(ctx: MutationCtx, arm: Arm): Promise<boolean> {
  if ((await findArm(ctx, arm.arm)) !== null) return true;
  if ((await knownArms(ctx)).length >= MOST_ARMS) return false;
  await ctx.db.insert("signalArms", { ...arm, since: Date.now() });
  return true;
}

/** What an arm has shown against another so far. */
export async function findPair(
  ctx: QueryCtx,
  arm: string,
  against: string,
): Promise<Doc<"signalPairs"> | null> {
  return ctx.db
    .query("signalPairs")
    .withIndex("by_arm", (q) => q.eq("arm", arm).eq("against", against))
    .unique();
}

/** The arms that have been held against one, by what they have shown. */
export async function rivalsOf(ctx: QueryCtx, against: string): Promise<Doc<"signalPairs">[]> {
  return ctx.db
    .query("signalPairs")
    .withIndex("by_against", (q) => q.eq("against", against))
    .take(MOST_ARMS);
}
