import type { MutationCtx } from "../_generated/server";
import { charge } from "../platform/limits/charges";
import { requireUser, type Account } from "./model";

/** The caller's account for a change of settings, charged to its limit. @throws AppError as `requireUser`; `rate_limited`. */
export async function requireSetter(ctx: MutationCtx): Promise<Account> {
  const user = await requireUser(ctx);
  await charge(ctx, "settings", { userId: user.userId, address: null });
  return user;
}
