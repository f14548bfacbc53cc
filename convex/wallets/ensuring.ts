import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import type { WalletKind } from "./model";

/** `existing`: whether it was there before. */
type OwnWallet = { walletId: string; address: string; existing: boolean };

/**
 * The user's wallet of a kind; made when there is none, and however many calls come at once, one key is kept. For actions.
 * @throws AppError `not_configured` without WALLET_ENCRYPTION_KEY where one has to be made.
 */
export async function ensureWallet(
  ctx: ActionCtx,
  owned: { userId: string; kind: WalletKind },
  beforeMaking: () => Promise<void> = () => Promise.resolve(),
): Promise<OwnWallet> {
  const present = await ctx.runQuery(internal.wallets.wallets.find, owned);
  if (present !== null) return { ...present, existing: true };
  await beforeMaking();
  const { createWallet } = await import("./custody/signing");
  return ctx.runMutation(internal.wallets.wallets.adopt, { ...owned, ...(await createWallet()) });
}
