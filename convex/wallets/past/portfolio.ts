import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { FEED_DECIMALS } from "../../market/feeds";
import { getPortfolio, type Holdings } from "../holdings";
import type { Past } from "../tables";
import { computeResult, type Prices, type Result } from "./result";

/** What a wallet holds and has made. For actions. */

export type Portfolio = Omit<Holdings, "block"> & { result: Result };

/**
 * All token balances of a wallet with live prices, in one call to the chain, and what it has made: what is new in them is
 * entered first (`past/looks`).
 * @param isAsked Whether somebody has asked, so that the wallet is looked at daily.
 * @throws AppError `upstream`
 */
export async function readPortfolio(
  ctx: ActionCtx,
  { walletId, address }: { walletId: string; address: string },
  isAsked = true,
): Promise<Portfolio> {
  const { block, ...holdings } = await getPortfolio(ctx, address);
  const { balances, pricedAt: at } = holdings;
  const prices: Prices = Object.fromEntries(
    balances.map(({ token, priceUsd }) => [
      token,
      priceUsd === null ? null : BigInt(Math.round(priceUsd * 10 ** FEED_DECIMALS)),
    ]),
  );
  const tokens = balances.map(({ token, raw }) => {
    const price = prices[token] ?? null;
    return { token, raw, ...(price === null ? {} : { price: price.toString() }) };
  });
  const look = { walletId, block, at, tokens, isAsked };
  const past: Past | null = await ctx.runMutation(internal.wallets.past.looks.storeLook, look);
  const { result, tokens: costs } = computeResult(past, prices);
  return { ...holdings, balances: balances.map((one) => ({ ...one, ...costs[one.token] })), result };
}
