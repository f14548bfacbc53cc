import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { AppError } from "../lib/errors";
import { deadlines } from "../lib/outside/deadlines";
import { worker } from "../lib/worker";
import { valuesOf } from "../wallets/holdings";
import { carry } from "../wallets/orders/desk";
import { TOKENS, type Symbol } from "../wallets/tokens";
import type { vWanted } from "./mentions";

/** One attempt at one mention: prices are fetched, one mutation opens the trade. */

export const carryOut = worker({ mentionId: v.id("mentions") }, async (ctx, one) => {
  const wanted = await ctx.runMutation(internal.social.mentions.begin, one);
  if (wanted === null) return "over";
  const prices = await pricesOf(wanted);
  const orderId = await ctx.runMutation(internal.social.mentions.execute, { ...one, ...prices });
  if (orderId === null) return "over";
  await carry(ctx, orderId, deadlines.transaction);
});

/** @throws AppError `upstream` if the chain does not answer, or has no live price. */
async function pricesOf({ fromToken, toToken }: Infer<typeof vWanted>) {
  const priceOf = async (token: Symbol) => {
    const amount = (10n ** BigInt(TOKENS[token].decimals)).toString();
    const { value, etherPrice } = await valuesOf({ token, amount });
    if (value === undefined || value === "0")
      throw new AppError("upstream", `There is no live price for ${token}`);
    return { price: value, etherPrice };
  };
  const { price: fromPrice, etherPrice } = await priceOf(fromToken);
  const prices = { fromPrice, etherPrice };
  return toToken === null ? prices : { ...prices, toPrice: (await priceOf(toToken)).price };
}
