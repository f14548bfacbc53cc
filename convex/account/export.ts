import { paginationOptsValidator, paginationResultValidator, type PaginationResult } from "convex/server";
import { v } from "convex/values";
import { query } from "../_generated/server";
import { requireUser } from "../users/model";

/** Never leaves the service: sealed or signed bytes, and how work is done. */
const WITHHELD = new Set([
  "sealedBotToken",
  "sealedSigning",
  "keyId",
  "rawTransaction",
  "authorization",
  "onSettled",
  "codeHash",
  "driver",
  "driverUntil",
]);

/**
 * One page of one section of the caller's data, as JSON Lines: a row of the service per element, times in epoch ms. The
 * sections together are all the service keeps about them besides `users/profile:me`.
 */
export const page = query({
  args: {
    section: v.union(
      v.literal("credits"),
      v.literal("reversals"),
      v.literal("reservations"),
      v.literal("deposits"),
      v.literal("payments"),
      v.literal("games"),
      v.literal("runs"),
      v.literal("reports"),
      v.literal("shifts"),
      v.literal("wallets"),
      v.literal("transactions"),
      v.literal("transferDays"),
      v.literal("trades"),
      v.literal("messengerSettings"),
      v.literal("messengerLinks"),
      v.literal("messages"),
      v.literal("mentions"),
      v.literal("socialAccounts"),
      v.literal("socialLimits"),
      v.literal("socialDays"),
      v.literal("socialRecipients"),
      v.literal("alerts"),
      v.literal("alertFirings"),
      v.literal("alertWebhooks"),
      v.literal("alertPosts"),
      v.literal("deletions"),
    ),
    paginationOpts: paginationOptsValidator,
  },
  returns: paginationResultValidator(v.string()),
  handler: async (ctx, { section, paginationOpts }) => {
    const { userId } = await requireUser(ctx);
    const { db } = ctx;
    switch (section) {
      case "credits":
        return lines(
          await db
            .query("creditTransactions")
            .withIndex("by_userId_and_sequence", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "reversals":
        return lines(
          await db
            .query("creditReversals")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "reservations":
        return lines(
          await db
            .query("creditReservations")
            .withIndex("by_userId_and_state", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "deposits":
        return lines(
          await db
            .query("deposits")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "payments":
        return lines(
          await db
            .query("paymentClaims")
            .withIndex("by_userId", (q) => q.eq("order.userId", userId))
            .paginate(paginationOpts),
        );
      case "games":
        return lines(
          await db
            .query("gameSessions")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "runs":
        return lines(
          await db
            .query("agentRuns")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "reports":
        return lines(
          await db
            .query("reports")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "shifts":
        return lines(
          await db
            .query("shifts")
            .withIndex("by_userId_and_status", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "wallets":
        return lines(
          await db
            .query("wallets")
            .withIndex("by_userId_and_kind", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "transactions":
        return lines(
          await db
            .query("transactions")
            .withIndex("by_userId_and_txHash", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "transferDays":
        return lines(
          await db
            .query("transferDays")
            .withIndex("by_userId_and_day", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "trades":
        return lines(
          await db
            .query("trades")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "messengerSettings":
        return lines(
          await db
            .query("messengerConfigs")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "messengerLinks":
        return lines(
          await db
            .query("messengerLinks")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "messages":
        return lines(
          await db
            .query("messages")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "mentions":
        return lines(
          await db
            .query("mentions")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "socialAccounts":
        return lines(
          await db
            .query("socialAuthors")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "socialLimits":
        return lines(
          await db
            .query("socialLimits")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "socialDays":
        return lines(
          await db
            .query("socialDays")
            .withIndex("by_userId_and_day", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "socialRecipients":
        return lines(
          await db
            .query("socialRecipients")
            .withIndex("by_userId_and_address", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "alerts":
        return lines(
          await db
            .query("alerts")
            .withIndex("by_userId_and_state", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "alertFirings":
        return lines(
          await db
            .query("alertFirings")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "alertWebhooks":
        return lines(
          await db
            .query("alertSinks")
            .withIndex("by_userId_and_state", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "alertPosts":
        return lines(
          await db
            .query("alertDeliveries")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
      case "deletions":
        return lines(
          await db
            .query("accountDeletions")
            .withIndex("by_userId", (q) => q.eq("userId", userId))
            .paginate(paginationOpts),
        );
    }
  },
});

function lines(result: PaginationResult<object>): PaginationResult<string> {
  const withheld = (name: string, value: unknown) => (WITHHELD.has(name) ? undefined : value);
  return { ...result, page: result.page.map((row) => JSON.stringify(row, withheld)) };
}
