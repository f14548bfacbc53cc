import { action } from "../../_generated/server";
import { vSignal } from "../record/rows";
import { proposed, vWish } from "./proposals";

/**
 * Proposes a signal to one of the caller's arms, entered at the price that is measured now.
 * @throws AppError `invalid_request` if its levels break the rules at that price; `conflict` for a second signal for
 * the token and day; `unauthorized`, `forbidden`, `not_found`, `rate_limited`, `upstream`
 */
export const propose = action({
  args: vWish,
  returns: vSignal,
  handler: async (ctx, wish) => proposed(ctx, wish, undefined),
});
