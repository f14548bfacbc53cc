import type { FunctionReference } from "convex/server";
import { v } from "convex/values";
import { internal } from "./_generated/api";
import { internalMutation } from "./_generated/server";
import { recordCronRun } from "./lib/cronRuns";
import { messageOf } from "./lib/errors";
import { log } from "./lib/log";

/**
 * One cron takes up all work whose attempt was lost with its server. Each kind of work knows its own: rows whose lease has
 * run out, or that were due and that nobody has taken.
 */

const LOST: Readonly<Record<string, FunctionReference<"mutation", "internal", Record<string, never>>>> = {
  "jobs of the lanes": internal.lib.jobs.resumeLost,
  "collections of research": internal.research.observations.resumeLost,
  deliveries: internal.messenger.outbox.resumeLost,
  "payments of reports": internal.payments.reports.progress.resumeLost,
  "answers of the bot": internal.bot.jobs.resumeLost,
  mentions: internal.social.mentions.resumeLost,
  "looks for whales": internal.whales.agent.watches.resumeLost,
};

/** Each kind is undone alone: one that fails stops no other, and health tells that this cron is late. */
export const takeUp = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    let failed = 0;
    for (const [work, resumeLost] of Object.entries(LOST)) {
      try {
        await ctx.runMutation(resumeLost, {});
      } catch (error) {
        failed++;
        log.error("work.not taken up", { work, error: messageOf(error) });
      }
    }
    if (failed === 0) await recordCronRun(ctx, "take up lost work");
    return null;
  },
});
