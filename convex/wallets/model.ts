import type { Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import type { vWalletKind } from "./tables";

export type WalletKind = Infer<typeof vWalletKind>;

export const NO_WALLET = "No wallet was found for this user: connect first";

/** A user's wallet of a kind, or `null`. */
export async function walletOf(
  ctx: QueryCtx,
  userId: string,
  kind: WalletKind,
): Promise<Doc<"wallets"> | null> {
  return ctx.db
    .query("wallets")
    .withIndex("by_userId_and_kind", (q) => q.eq("userId", userId).eq("kind", kind))
    .unique();
}
