import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { AppError } from "../lib/errors";
import { deadlines } from "../platform/outside/deadlines";
import { defineWorker } from "../platform/worker";
import { estimateValues } from "../wallets/holdings";
import { executeOrder } from "../wallets/orders/execution";
import { WALLET_TOKENS, type Symbol } from "../wallets/tokens";
import type { vPriceRequest } from "./mentions";

/** One attempt at a mention: fetches the prices, then one mutation opens the trade. */

export const executeMention = defineWorker({ mentionId: v.id("mentions") }, async (ctx, one) => {
  const requested = await ctx.runMutation(internal.social.mentions.beginMention, one);
  if (requested === null) return "over";
  const prices = await getTradePrices(requested);
  const orderId = await ctx.runMutation(internal.social.mentions.openTrade, { ...one, ...prices });
  if (orderId === null) return "over";
  await executeOrder(ctx, orderId, deadlines.transaction);
});

/** @throws AppError `upstream` if the chain does not answer, or has no live price. */
async function getTradePrices({ fromToken, toToken }: Infer<typeof vPriceRequest>) {
  const getTradePrice = async (token: Symbol) => {
    const amount = (10n ** BigInt(WALLET_TOKENS[token].decimals)).toString();
    const { value, etherPrice } = await estimateValues({ token, amount });
    if (value === undefined || value === "0")
      throw new AppError("upstream", `There is no live price for ${token}: nothing was moved`);
    return { price: value, etherPrice };
  };
  const { price: fromPrice, etherPrice } = await getTradePrice(fromToken);
  const prices = { fromPrice, etherPrice };
  return toToken === null ? prices : { ...prices, toPrice: (await getTradePrice(toToken)).price };
}
