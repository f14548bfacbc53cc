import type { Auth, UserIdentity } from "convex/server";
import { AppError } from "../errors";

/**
 * The identity in the caller's token.
 * @throws AppError `unauthorized` without a token, or with an invalid one (for which the platform throws).
 */
export async function requireIdentity(ctx: { auth: Auth }): Promise<UserIdentity> {
  const identity = await ctx.auth.getUserIdentity().catch(() => null);
  if (identity === null) {
    throw new AppError("unauthorized", "A valid token is needed: Authorization: Bearer <token>");
  }
  return identity;
}
