import { v } from "convex/values";
import { internalMutation, internalQuery } from "../_generated/server";
import { alertsOf, confirm, ownAlert, propose, switchOff, vAlert, vProposal } from "./model";

/** From a person's words to an alert: read, replayed, kept as a proposal, confirmed. */

export const keep = internalMutation({
  args: vProposal,
  returns: vAlert,
  handler: propose,
});

/** @throws AppError as `model.confirm` does; `not_found` for none of the user's. */
export const accept = internalMutation({
  args: { userId: v.string(), alertId: v.string(), address: v.union(v.string(), v.null()) },
  returns: vAlert,
  handler: async (ctx, { userId, alertId, address }) =>
    confirm(ctx, await ownAlert(ctx, userId, alertId), address),
});

/** @throws AppError `not_found` for none of the user's. */
export const end = internalMutation({
  args: { userId: v.string(), alertId: v.string() },
  returns: vAlert,
  handler: async (ctx, { userId, alertId }) => switchOff(ctx, await ownAlert(ctx, userId, alertId)),
});

/** A user's alerts. */
export const all = internalQuery({
  args: { userId: v.string() },
  returns: v.array(vAlert),
  handler: (ctx, { userId }) => alertsOf(ctx, userId),
});
