import { v } from "convex/values";
import { internal } from "../_generated/api";
import { gather } from "../evidence/collecting";
import { MINUTE } from "../lib/time";
import { providerAction } from "../lib/providerCalls";

/** Has the funding rates collected where nobody else has, and compares them. One answer has those of all coins. */
export const look = providerAction({
  args: { subjects: v.array(v.string()) },
  returns: v.null(),
  handler: async (ctx, { subjects }) => {
    // A failure is noted where facts are collected; the next tick asks again.
    await gather(ctx, [{ collector: "perpetuals", subject: "" }], 9 * MINUTE);
    for (const subject of subjects) await ctx.runMutation(internal.alerts.watching.compare, { subject });
    return null;
  },
});
