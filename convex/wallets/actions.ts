import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction } from "../_generated/server";
import { AppError, getErrorMessage } from "../lib/errors";
import { log } from "../lib/log";
import { toChecksum } from "../lib/money/base";
import { withUsage, defineProviderAction } from "../platform/outside/calls";
import { UPSTREAM } from "../providers/chain/rpc";
import { readMined } from "../providers/chain/transactions";
import { NOBODY } from "../platform/records";
import { readPortfolio } from "./holdings";
import { NO_ACCOUNT, PREPARED_FOR_MS } from "./model";
import { executeOrder as carryOut, checkOrder, readOrder } from "./orders/execution";
import { isEnded } from "./orders/model";

const TWO_ANSWERS = `${UPSTREAM} gives two answers about this account: nothing was repaired`;

/** Executes an order that its owner has approved by tap, whether or not a caller still waits. */
export const executeApproved = defineProviderAction({ orderId: v.id("orders") }, async (ctx, { orderId }) => {
  await carryOut(ctx, orderId, PREPARED_FOR_MS, true);
});

/** For the cron. The moves of an order are entered at the next read after its end, when its block is final. */
export const checkSigned = defineProviderAction({ orderId: v.id("orders") }, async (ctx, { orderId }) => {
  const row = await readOrder(ctx, orderId);
  const checked = await checkOrder(ctx, row);
  if (!isEnded(row) || !isEnded(checked) || row.userId === NOBODY) return;
  await readPortfolio(ctx, row).catch((error: unknown) =>
    log.warn("wallets.not looked at", { orderId, reason: getErrorMessage(error) }),
  );
});

/** The daily look at a wallet. */
export const lookDaily = defineProviderAction(
  { walletId: v.string(), address: v.string() },
  async (ctx, wallet) => void (await readPortfolio(ctx, wallet, false)),
);

/**
 * For an operator who has restored a backup: `npx convex run --prod wallets/actions:repair '{"address":"0x…"}'`, with
 * the address of a wallet or of a service account. Takes the chain's count of the account's transactions as its next
 * nonce, if that is higher. Moves nothing; safe to repeat.
 * @throws AppError `invalid_request` if no account has this address; `upstream`, also if the chain's answers differ.
 */
export const repair = internalAction({
  args: { address: v.string() },
  returns: v.object({ mined: v.number(), nextNonce: v.number() }),
  handler: withUsage(async (ctx, { address: given }: { address: string }) => {
    const address = toChecksum(given);
    if (address === null) throw new AppError("invalid_request", NO_ACCOUNT);
    const mined = await readMined(address);
    if ((await readMined(address)) !== mined) throw new AppError("upstream", TWO_ANSWERS);
    const nextNonce: number = await ctx.runMutation(internal.wallets.orders.steps.acceptCount, {
      address,
      mined,
    });
    return { mined, nextNonce };
  }),
});
