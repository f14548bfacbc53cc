import type { Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import type { QueryCtx, MutationCtx, ActionCtx } from "../_generated/server";
import { checksummed } from "../lib/money/addresses";
import { AppError } from "../lib/errors";
import { NOBODY } from "../lib/records/records";
import { rowsByBoth } from "../lib/records/rows";
import { linkedUser } from "../accounts/model";
import type { vWalletKind } from "./tables";

export type WalletKind = Infer<typeof vWalletKind>;

export const NO_WALLET = "No wallet was found for this user: connect first";

/** A user's wallet of a kind, or `null`. */
export async function walletOf(
  ctx: QueryCtx,
  userId: string,
  kind: WalletKind,
): Promise<Doc<"wallets"> | null> {
  return rowsByBoth(ctx.db.query("wallets"), "userId", userId, "kind", kind).unique();
}

/** The user of an address: by the service's wallets first, then by linked addresses; `null` if there is none. */
export async function userIdByAddress(ctx: QueryCtx, address: string): Promise<string | null> {
  const stored = checksummed(address);
  if (stored === null) return null;
  const wallet = await walletAt(ctx, stored);
  return wallet === null || wallet.userId === NOBODY ? linkedUser(ctx, stored) : wallet.userId;
}

/** The wallet or service account with an address, checksummed; `null` when there is none. */
export async function walletAt(ctx: QueryCtx, address: string): Promise<Doc<"wallets"> | null> {
  return getOneFrom(ctx.db, "wallets", "by_address", address);
}

export async function walletById(ctx: QueryCtx, walletId: string): Promise<Doc<"wallets"> | null> {
  return getOneFrom(ctx.db, "wallets", "by_walletId", walletId);
}

export async function byWalletId(ctx: QueryCtx, walletId: string): Promise<Doc<"wallets">> {
  const wallet = await walletById(ctx, walletId);
  if (wallet === null) throw new AppError("internal", "The wallet is gone");
  return wallet;
}

export async function insertWallet(
  ctx: MutationCtx,
  account: Pick<Doc<"wallets">, "walletId" | "userId" | "kind" | "address">,
): Promise<Id<"wallets">> {
  return ctx.db.insert("wallets", { ...account, createdAt: Date.now() });
}

/** `existing`: whether it was there before. */
type OwnWallet = { walletId: string; address: string; existing: boolean };

/**
 * The user's wallet of a kind. If there is none, it is created; of concurrent calls, one key is kept. For actions.
 * @throws AppError `not_configured` without WALLET_ENCRYPTION_KEY if one has to be created.
 */
export async function ensureWallet(
  ctx: ActionCtx,
  owned: { userId: string; kind: WalletKind },
  beforeMaking: () => Promise<void> = () => Promise.resolve(),
): Promise<OwnWallet> {
  const present = await ctx.runQuery(internal.wallets.wallets.find, owned);
  if (present !== null) return { ...present, existing: true };
  await beforeMaking();
  const { createWallet } = await import("./custody/signatures");
  return ctx.runMutation(internal.wallets.wallets.adopt, { ...owned, ...(await createWallet()) });
}
