import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { charge } from "../lib/limits/charges";
import type { Account } from "../messenger/links";
import { ensureWallet } from "../wallets/model";

/**
 * Links a messenger account to the user who made the code, and uses the code up. For actions. Each call counts as a
 * guess of whoever sends it: the account in the bot, elsewhere the network address, since anybody can name an account.
 * @returns The user, and the address of their custody wallet, which is created when there is none.
 * @throws AppError `not_found` when the code is unknown, expired or used; `conflict` when the account or the user has a
 * link that does not give way; `rate_limited`, `not_configured`.
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
  // The wallet comes first: a linked account always has one, wherever this is cut off.
  const account = { codeHash, messengerId, by };
  const userId = await ctx.runQuery(internal.messenger.links.codeOwner, { ...account, now: Date.now() });
  const wallet = await ensureWallet(ctx, { userId, kind: "custody" });
  await ctx.runMutation(internal.messenger.links.link, {
    ...account,
    ...(messengerUsername === undefined ? {} : { messengerUsername }),
  });
  return { userId, walletAddress: wallet.address };
}
