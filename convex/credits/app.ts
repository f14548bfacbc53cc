import { v, type Infer } from "convex/values";
import { mutation, query, type QueryCtx } from "../_generated/server";
import { findUser, requireUser } from "../identity/model";
import { requireSetter } from "../identity/access";
import { AppError } from "../lib/errors";
import { DAY } from "../lib/time";
import { getCreditBalance, creditDeposit, getCreditsPerUsdc } from "./model";
import { vGameResult } from "./tables";

/** Credits in the web application, of the signed-in user alone. */

/** The balance in whole credits (zero before the first sign-in), and the credits per USDC. */
export const balance = query({
  args: {},
  returns: v.object({ balance: v.number(), creditsPerUsdc: v.number() }),
  handler: async (ctx) => {
    const user = await findUser(ctx);
    const balance = user === null ? 0 : await getCreditBalance(ctx, user.userId);
    return { balance, creditsPerUsdc: getCreditsPerUsdc() };
  },
});

const MAX_LEVEL = 50;
const CREDITS_PER_LEVEL = 100;
/** Cap on credits from games in a UTC day: five USDC. */
const DAILY_CAP = 500;

/** Opens an arcade game. Its first result counts. */
export const openGame = mutation({
  args: {},
  returns: v.object({
    sessionId: v.id("gameSessions"),
    /** The highest level of any game. */
    maxLevel: v.number(),
    creditsPerLevel: v.number(),
    /** Credits that games may still earn in this UTC day. */
    creditsLeftToday: v.number(),
  }),
  handler: async (ctx) => {
    const { userId } = await requireSetter(ctx);
    return {
      sessionId: await ctx.db.insert("gameSessions", { userId }),
      maxLevel: MAX_LEVEL,
      creditsPerLevel: CREDITS_PER_LEVEL,
      creditsLeftToday: await countLeftToday(ctx, userId),
    };
  },
});

/**
 * Ends an arcade game, and deposits its credits. Idempotent: a repeat returns the first result.
 * @throws AppError `invalid_request` for a level that is not a whole number from 0 to 50; `not_found` for a session of
 * another user; `conflict` for one that has ended with another level.
 */
export const finishGame = mutation({
  args: { sessionId: v.id("gameSessions"), levelReached: v.number() },
  returns: vGameResult,
  handler: async (ctx, { sessionId, levelReached }): Promise<Infer<typeof vGameResult>> => {
    const { userId } = await requireUser(ctx);
    if (!Number.isInteger(levelReached) || levelReached < 0 || levelReached > MAX_LEVEL)
      throw new AppError("invalid_request", `levelReached must be a whole number from 0 to ${MAX_LEVEL}`);
    const session = await ctx.db.get("gameSessions", sessionId);
    if (session === null || session.userId !== userId)
      throw new AppError("not_found", "This user has no such game session: open a game first");
    if (session.result !== undefined) {
      if (session.result.levelReached === levelReached) return session.result;
      throw new AppError("conflict", "This game has ended with another result: open a new game");
    }
    const creditsEarned = levelReached * CREDITS_PER_LEVEL;
    const credited = Math.min(creditsEarned, await countLeftToday(ctx, userId));
    await creditDeposit(ctx, { userId, amount: credited, key: `game:${sessionId}`, source: "arcade" });
    const result = { levelReached, creditsEarned, credited };
    await ctx.db.patch("gameSessions", sessionId, { result });
    return result;
  },
});

async function countLeftToday(ctx: QueryCtx, userId: string): Promise<number> {
  const today = Math.floor(Date.now() / DAY) * DAY;
  const earned = await ctx.db
    .query("creditTransactions")
    .withIndex("by_userId_and_source", (q) => q.eq("userId", userId).eq("source", "arcade").gte("at", today))
    // Games are credited in whole levels, so the cap leaves no more rows.
    .take(DAILY_CAP / CREDITS_PER_LEVEL);
  return DAILY_CAP - earned.reduce((sum, { amount }) => sum + amount, 0);
}
