import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { internalAction } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { counted, providerAction } from "../../lib/outside/providerCalls";
import { UPSTREAM } from "../../providers/chain/rpc/client";
import { countedAgain, readMined } from "../../providers/chain/transactions";
import { storedAddress } from "../addresses";
import { PREPARED_FOR_MS } from "../rules";
import { carry as carryOut, check as checkOrder } from "./desk";

/** Carries out an order for which nobody may wait: its owner has tapped for it. */
export const carry = providerAction({ orderId: v.id("orders") }, async (ctx, { orderId }) => {
  await carryOut(ctx, orderId, PREPARED_FOR_MS, { drops: false });
});

/** For the cron. */
export const check = providerAction({ orderId: v.id("orders") }, async (ctx, { orderId }) => {
  await checkOrder(ctx, await ctx.runQuery(internal.wallets.orders.rows.view, { orderId }));
});

/**
 * For an operator who has restored a backup: `npx convex run wallets/orders/actions:repair '{"address":"0x…"}'`, with a
 * wallet's address or a service account's. Takes the chain's count of the account's transactions as its next nonce, if
 * that is higher. Moves nothing; safe to repeat.
 * @throws AppError `invalid_request` if no account has this address; `upstream`, also if the chain's answers differ.
 */
export const repair = internalAction({
  args: { address: v.string() },
  returns: v.object({ mined: v.number(), nextNonce: v.number() }),
  handler: counted(async (ctx, { address: given }: { address: string }) => {
    const wallet = await ctx.runQuery(internal.wallets.wallets.byAddress, { address: given });
    const { walletId } = wallet;
    const address = storedAddress(wallet.address);
    const mined = await readMined(address);
    if (!(await countedAgain(address, mined)))
      throw new AppError(
        "upstream",
        `${UPSTREAM} gives two answers about this account: nothing was repaired`,
      );
    const nextNonce: number = await ctx.runMutation(internal.wallets.orders.rows.acceptCount, {
      walletId,
      mined,
    });
    return { mined, nextNonce };
  }),
});
