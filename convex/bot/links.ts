import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { charge } from "../lib/limits/charges";
import type { Account } from "../messenger/links";
import { ensureWallet } from "../wallets/model";

/**
 * Links a messenger account to the user who made the code, and uses the code up. For actions. Each call counts as a
 * guess of its sender: in the bot this is the account, elsewhere the network address, because anybody can name an
 * account.
 * @returns The user, and the address of their custody wallet, which is created if there is none.
 * @throws AppError `not_found` if the code is unknown, expired or used; `conflict` if the account or the user has a
 * link that cannot be replaced; `rate_limited`, `not_configured`.
 */
export async function connectAccount(
  ctx: ActionCtx,
  { codeHash, messengerId, messengerUsername, by }: Account,
  address: string | null,
): Promise<{ userId: string; walletAddress: string }> {
  await charge(
    ctx,
    "link",
    by === "account" ? { userId: `messenger:${messengerId}`, address: null } : { address },
  );
  // The wallet is created first, so that a linked account always has one, even if this is interrupted.
  const account = { codeHash, messengerId, by };
  const userId = await ctx.runQuery(internal.messenger.links.codeOwner, { ...account, now: Date.now() });
  const wallet = await ensureWallet(ctx, { userId, kind: "custody" });
  await ctx.runMutation(internal.messenger.links.link, {
    ...account,
    ...(messengerUsername === undefined ? {} : { messengerUsername }),
  });
  return { userId, walletAddress: wallet.address };
}
