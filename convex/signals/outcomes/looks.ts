import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { providerAction } from "../../lib/providerCalls";
import { vDesk, vLabToken } from "../record/tables";
import { assembled } from "../trade/path";
import { measuredNow, pathOf } from "./sight";

/** Looks of a tick: usually one holds all. More, after an outage, wait for the next tick. */
const LOOKS = 20;

/** Looks at a token's price once, and at the path of each of a desk's open signals of it. */
export const look = providerAction({
  args: { desk: vDesk, token: vLabToken },
  returns: v.null(),
  handler: async (ctx, { desk, token }) => {
    const price = await measuredNow(ctx, { desk, token });
    let after = 0;
    for (let n = 0; n < LOOKS; n++) {
      const wanted = { desk, token, after, now: Date.now() };
      const open = await ctx.runQuery(internal.signals.outcomes.tracker.next, wanted);
      if (open === null) break;
      const seen = assembled(await pathOf(ctx, token, open.span), price);
      await ctx.runMutation(internal.signals.outcomes.tracker.settle, { signalIds: open.signalIds, seen });
      after = open.until;
    }
    return null;
  },
});
