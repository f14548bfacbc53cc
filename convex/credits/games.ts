import { v, type Infer } from "convex/values";
import { omit } from "convex-helpers";
import type { Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { DAY, HOUR, SECOND } from "../lib/time";
import { creditDeposit } from "./model";
import type { vGameResult } from "./tables";

/** Arcade games: the server opens a session, one result ends it, and its earnings are a deposit. */

const MAX_LEVEL = 50;
/** The most that games earn in a day: five USDC. */
const DAILY_CAP = 500;
/** The shortest time of a level. */
const LEVEL_MS = 15 * SECOND;
const CREDITS_PER_LEVEL = 100;
const SESSION_MS = 2 * HOUR;
/** More games than end in one millisecond: the newest of a day tells what the day has earned. */
const SAME_MOMENT = 20;

/** What a player should know before playing. */
export const vGame = v.object({
  sessionId: v.id("gameSessions"),
  /** Epoch ms. */
  expiresAt: v.number(),
  /** The highest level of any game. */
  maxLevel: v.number(),
  /** The shortest time per level: after so many seconds level 2 is the highest that counts, after twice as many level 3. */
  secondsPerLevel: v.number(),
  creditsPerLevel: v.number(),
  /** What games can still earn until the end of the UTC day. */
  creditsLeftToday: v.number(),
  dailyCap: v.number(),
});

/** Opens a session for one result within two hours. */
export async function openSession(ctx: MutationCtx, userId: string): Promise<Infer<typeof vGame>> {
  const openedAt = Date.now();
  const expiresAt = openedAt + SESSION_MS;
  return {
    sessionId: await ctx.db.insert("gameSessions", { userId, openedAt, expiresAt }),
    expiresAt,
    maxLevel: MAX_LEVEL,
    secondsPerLevel: LEVEL_MS / SECOND,
    creditsPerLevel: CREDITS_PER_LEVEL,
    creditsLeftToday: DAILY_CAP - (await earnedOn(ctx, userId, openedAt)),
    dailyCap: DAILY_CAP,
  };
}

/**
 * Takes a session's result; repeating it returns the first one.
 * @throws AppError `invalid_request` for a level that is not a whole number from 0 to 50, or was reached too fast;
 * `not_found` for a session of another user; `conflict` for one that expired or ended with another level.
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
    return omit(session.result, ["finishedAt", "today"]);
  }
  const now = Date.now();
  if (now > session.expiresAt) throw new AppError("conflict", "This game session has expired");
  const highest = Math.floor((now - session.openedAt) / LEVEL_MS) + 1;
  if (levelReached > highest) {
    throw new AppError(
      "invalid_request",
      `Level ${levelReached} cannot have been reached yet: a level takes at least ${LEVEL_MS / SECOND} seconds, so level ${highest} is the highest now`,
    );
  }
  const creditsEarned = levelReached * CREDITS_PER_LEVEL;
  const before = await earnedOn(ctx, userId, now);
  const credited = Math.min(creditsEarned, DAILY_CAP - before);
  await creditDeposit(ctx, { userId, amount: credited, key: `game:${sessionId}`, source: "arcade" });
  const less = `Games earn at most ${DAILY_CAP} credits in a UTC day, and ${credited} of these were left`;
  const result = { levelReached, creditsEarned, credited, ...(credited < creditsEarned ? { less } : {}) };
  await ctx.db.patch("gameSessions", sessionId, {
    result: { ...result, finishedAt: now, today: before + credited },
  });
  return result;
}

/** What a user's games have earned on the UTC day of a moment. */
async function earnedOn(ctx: QueryCtx, userId: string, at: number): Promise<number> {
  const games = await ctx.db
    .query("gameSessions")
    .withIndex("by_userId", (q) =>
      q.eq("userId", userId).gte("result.finishedAt", Math.floor(at / DAY) * DAY),
    )
    .order("desc")
    .take(SAME_MOMENT);
  return Math.max(0, ...games.map(({ result }) => result?.today ?? 0));
}
