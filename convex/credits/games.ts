import type { Infer } from "convex/values";
import { omit } from "convex-helpers";
import type { Id } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { HOUR, iso, SECOND } from "../lib/time";
import { creditDeposit } from "./model";
import type { vGameResult } from "./tables";

/** Arcade games: the server opens a session, one result ends it, and what the result earns is a deposit. */

const MAX_LEVEL = 50;
/** What a day of playing is worth at most: five USDC. */
const DAILY_CAP = 500;
/** Nobody gets from one level to the next faster. */
const LEVEL_MS = 15 * SECOND;
const CREDITS_PER_LEVEL = 100;
const SESSION_MS = 2 * HOUR;

/** Opens a session, good for one result within two hours. */
export async function openSession(
  ctx: MutationCtx,
  userId: string,
): Promise<{ sessionId: Id<"gameSessions">; expiresAt: number }> {
  const openedAt = Date.now();
  const expiresAt = openedAt + SESSION_MS;
  return { sessionId: await ctx.db.insert("gameSessions", { userId, openedAt, expiresAt }), expiresAt };
}

/**
 * Takes a session's result; repeating it returns the first one.
 * @throws AppError `invalid_request` for a level that is no whole number from 0 to 50, or reached too fast; `not_found` for a session that is
 * not this user's; `conflict` for one that expired or ended with another level.
 */
export async function finishSession(
  ctx: MutationCtx,
  {
    userId,
    sessionId,
    levelReached,
  }: { userId: string; sessionId: Id<"gameSessions">; levelReached: number },
): Promise<Infer<typeof vGameResult>> {
  if (!Number.isInteger(levelReached) || levelReached < 0 || levelReached > MAX_LEVEL) {
    throw new AppError("invalid_request", `levelReached must be a whole number from 0 to ${MAX_LEVEL}`);
  }
  const session = await ctx.db.get("gameSessions", sessionId);
  if (session === null || session.userId !== userId) {
    throw new AppError("not_found", "This user has no such game session");
  }
  if (session.result !== undefined) {
    if (session.result.levelReached !== levelReached) {
      throw new AppError("conflict", "This game ended with another result");
    }
    return omit(session.result, ["finishedAt"]);
  }
  const now = Date.now();
  if (now > session.expiresAt) throw new AppError("conflict", "This game session has expired");
  if (now - session.openedAt < (levelReached - 1) * LEVEL_MS) {
    throw new AppError("invalid_request", "This level cannot have been reached in this time");
  }
  const creditsEarned = levelReached * CREDITS_PER_LEVEL;
  const credited = await takeFromDay(ctx, userId, creditsEarned, now);
  await creditDeposit(ctx, { userId, amount: credited, key: `game:${sessionId}`, source: "arcade" });
  const result = { levelReached, creditsEarned, credited };
  await ctx.db.patch("gameSessions", sessionId, { result: { ...result, finishedAt: now } });
  return result;
}

/** How much of an amount the user's day still allows; counted. */
async function takeFromDay(ctx: MutationCtx, userId: string, amount: number, now: number): Promise<number> {
  const day = iso(now).slice(0, 10);
  const row = await ctx.db
    .query("gameDays")
    .withIndex("by_userId_and_day", (q) => q.eq("userId", userId).eq("day", day))
    .unique();
  const before = row?.credited ?? 0;
  const allowed = Math.min(amount, DAILY_CAP - before);
  if (row === null) await ctx.db.insert("gameDays", { userId, day, credited: allowed });
  else await ctx.db.patch("gameDays", row._id, { credited: before + allowed });
  return allowed;
}
