import { v, type ObjectType } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction, internalMutation, internalQuery, type ActionCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { alertsOf, cancelAlert, fireCrossedPage, openAlert } from "./alertRows";
import { vAlert, vDirection, vPrice, vPricedToken, type Alert } from "./tables";

/** Price alerts of a user whom the caller has already made sure of. */

const MAX_LEVEL_USD = 1_000_000_000;

const wish = { userId: v.string(), token: vPricedToken, direction: vDirection, levelUsd: v.number() };
type Wish = ObjectType<typeof wish>;

/**
 * Sets an alert against the live price, for actions. Setting the same again is the same alert.
 * @throws AppError `invalid_request` for a level that is no price or is crossed already, naming the live price;
 * `conflict` with ten active alerts; `upstream` when nothing but the model tells a price.
 */
export async function createAlert(ctx: ActionCtx, wanted: Wish): Promise<Alert> {
  const { token, levelUsd } = wanted;
  if (!(levelUsd > 0 && levelUsd <= MAX_LEVEL_USD)) {
    throw new AppError("invalid_request", "levelUsd must be a price in USD above 0");
  }
  const { measuredPrice } = await import("./live");
  const { priceUsd } = await measuredPrice(ctx, token);
  return ctx.runMutation(internal.prices.alerts.open, { ...wanted, priceUsd });
}

/** The same for work on the schedule. @throws AppError as `createAlert` does. */
export const create = internalAction({
  args: wish,
  returns: vAlert,
  handler: createAlert,
});

/** @throws AppError as `createAlert` does. */
export const open = internalMutation({
  args: { ...wish, priceUsd: v.number() },
  returns: vAlert,
  handler: async (ctx, { priceUsd, ...args }) => openAlert(ctx, args, priceUsd),
});

/** The active ones, newest first, then the latest that ended. */
export const list = internalQuery({
  args: { userId: v.string() },
  returns: v.array(vAlert),
  handler: async (ctx, { userId }) => alertsOf(ctx, userId),
});

/** @throws AppError `not_found` for none of the user's; `conflict` when it has fired. */
export const cancel = internalMutation({
  args: { userId: v.string(), alertId: v.string() },
  returns: vAlert,
  handler: async (ctx, { userId, alertId }) => cancelAlert(ctx, userId, alertId),
});

/** Fires what one price crosses beyond a transaction's share. */
export const fireRest = internalMutation({
  args: { price: vPrice, direction: vDirection, cursor: v.union(v.string(), v.null()) },
  returns: v.null(),
  handler: async (ctx, { price, direction, cursor }) => {
    const next = await fireCrossedPage(ctx, price, direction, cursor);
    if (next !== null) {
      await ctx.scheduler.runAfter(0, internal.prices.alerts.fireRest, { price, direction, cursor: next });
    }
    return null;
  },
});
