import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { counted } from "../../lib/outside/providerCalls";
import { priceSince } from "../outcomes/sight";
import { vToken, type Signal } from "../record/rows";
import { problemsOf } from "../trade/rules";

/**
 * Accepts people's proposals. The price is measured after a proposal has arrived, so that nobody can propose what has
 * already happened.
 */

export const vWish = v.object({
  arm: v.string(),
  token: vToken,
  signal: v.union(v.literal("BUY"), v.literal("SELL")),
  tp1: v.number(),
  /** Left out: `tp1`. */
  tp2: v.optional(v.number()),
  sl: v.number(),
  confidence: v.number(),
});

/**
 * Issues a wish at the price that is measured now.
 * @param keyHash Of the key that was sent; left out for a signed-in user.
 */
export const proposed = counted(
  async (ctx, wish: Infer<typeof vWish>, keyHash: string | undefined): Promise<Signal> => {
    const { arm, token, tp1, tp2 = tp1 } = wish;
    const by = keyHash === undefined ? {} : { keyHash };
    const cameAt = Date.now();
    await ctx.runMutation(internal.signals.people.arms.admit, { ...by, arm, token });
    const costBps = Number(setting("ROUND_TRIP_COST_BPS"));
    const seen = await priceSince(ctx, { desk: "people", token }, cameAt);
    const { priceUsd: usd, source, observedAt } = seen;
    const problem = problemsOf({ ...wish, tp2, entry: usd }, { priceUsd: usd, costBps });
    if (problem !== null) throw new AppError("invalid_request", problem);
    const price = { usd, source, observedAt };
    return ctx.runMutation(internal.signals.people.arms.issue, { ...by, ...wish, tp2, price, costBps });
  },
);
