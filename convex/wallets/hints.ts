import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { readAccount } from "../providers/chain";
import { asAddress } from "./addresses";
import { TOKENS, type Symbol } from "./tokens";
import { formatUnits } from "../lib/money";

/** " The user's basic wallet holds 3 USDC." when that would do; else nothing. A hint is never worth a failure. */
export async function otherWalletHint(
  ctx: ActionCtx,
  userId: string,
  walletId: string,
  token: Symbol,
  needed: bigint,
): Promise<string> {
  try {
    for (const kind of ["basic", "custody"] as const) {
      const wallet = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind });
      if (wallet === null || wallet.walletId === walletId) continue;
      const { address, decimals } = TOKENS[token];
      const balances = await readAccount(asAddress(wallet.address), address === null ? [] : [address], []);
      const held = address === null ? balances.native : (balances.tokens[0] ?? 0n);
      if (held >= needed)
        return `. The user's ${kind} wallet ${wallet.address} holds ${formatUnits(held, decimals)} ${token}`;
    }
  } catch {
    return "";
  }
  return "";
}
