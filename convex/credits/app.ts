import { v } from "convex/values";
import { mutation, query } from "../_generated/server";
import { charge } from "../lib/limits/charges";
import { ownRows } from "../accounts/lists";
import { findUser, requireUser } from "../accounts/model";
import { finishSession, openSession, vGame } from "./games";
import { balanceOf, creditsPerUsdc } from "./model";
import { creditTables, vGameResult } from "./tables";

/** Credits in the web application. Every function concerns only the signed-in user. */

/** The balance in whole credits, zero before the first sign-in, and the credits per USDC. */
export const balance = query({
  args: {},
  returns: v.object({ balance: v.number(), creditsPerUsdc: v.number() }),
  handler: async (ctx) => {
    const user = await findUser(ctx);
    const balance = user === null ? 0 : await balanceOf(ctx, user.userId);
    return { balance, creditsPerUsdc: creditsPerUsdc() };
  },
});

export const history = ownRows(
  creditTables.creditTransactions.validator.omit("userId", "key", "sequence"),
  (db, userId) =>
    db.query("creditTransactions").withIndex("by_userId_and_sequence", (q) => q.eq("userId", userId)),
);

/** Opens an arcade game, and returns what it may earn. Its result counts once, until `expiresAt` (epoch ms). */
export const openGame = mutation({
  args: {},
  returns: vGame,
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    await charge(ctx, "settings", { userId, address: null });
    return openSession(ctx, userId);
  },
});

/** Ends an arcade game; its credits are a deposit. Repeating it returns the first outcome. */
export const finishGame = mutation({
  args: { sessionId: v.id("gameSessions"), levelReached: v.number() },
  returns: vGameResult,
  handler: async (ctx, { sessionId, levelReached }) => {
    const { userId } = await requireUser(ctx);
    return finishSession(ctx, { userId, sessionId, levelReached });
  },
});
