import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction } from "../_generated/server";
import { AppError } from "../lib/errors";
import { counted } from "../lib/outside/providerCalls";
import { UPSTREAM } from "../providers/chain/rpc/client";
import { readMined, saysAgain } from "../providers/chain/transactions";
import { storedAddress } from "./addresses";
import { mendGap } from "./transactions/progress/replacement";

/**
 * For an operator: `npx convex run wallets/transactions:repair '{"address":"0x…"}'`, with a wallet's address or the
 * payment relayer's. Accepts the chain's count of the account's nonces, sends again what the chain is missing, fills
 * free nonces, drops what was signed with an unreachable nonce, and starts the account's work. Moves nothing that was
 * not ordered; safe to repeat.
 * @throws AppError `invalid_request` if no account has this address; `upstream`, also if the chain's answers differ, or
 * lack transactions that were mined.
 */
export const repair = internalAction({
  args: { address: v.string() },
  returns: v.object({
    /** The next nonces of the chain and of this service. */
    mined: v.number(),
    nextNonce: v.number(),
    handedOut: v.number(),
    filled: v.number(),
    dropped: v.number(),
  }),
  handler: counted(async (ctx, { address: given }: { address: string }) => {
    const wallet = await ctx.runQuery(internal.wallets.wallets.byAddress, { address: given });
    const { walletId } = wallet;
    const address = storedAddress(wallet.address);
    const mined = await readMined(address);
    if (!(await saysAgain(address, mined))) {
      throw new AppError(
        "upstream",
        `${UPSTREAM} gives two answers about this account: nothing was repaired`,
      );
    }
    const accepted: { nextNonce: number; dropped: number } = await ctx.runMutation(
      internal.wallets.transactions.progress.nonces.accept,
      {
        walletId,
        mined,
      },
    );
    const { handedOut, filled } = await mendGap(ctx, { walletId, address, mined });
    await ctx.runMutation(internal.wallets.transactions.progress.queue.resume, { walletId });
    return { mined, ...accepted, handedOut, filled };
  }),
});
