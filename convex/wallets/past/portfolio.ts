import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { defined } from "../../lib/objects";
import { readHoldings, toPricesOfTokens, valueHoldings, type Holdings } from "../holdings";
import type { Past, Payer } from "../tables";
import { computeResult, readSum, type Result } from "../result";

/** What a wallet holds and has made. For actions. */

/** Real holdings of less are not told beside a book. */
const LEAST_REAL_USD = 1;

export type Portfolio = Pick<Holdings, "balances" | "totalValueUsd" | "pricedAt"> & {
  result: Result;
  /** Beside a book: what the address really holds, if it is more than a dollar. */
  realValueUsd?: number;
};

/**
 * All token balances of a wallet with live prices, in one call to the chain, and what it has made: what is new in them is
 * entered first (`past/looks`). On paper the balances and the result are the book's.
 * @param isAsked Whether somebody has asked, so that the wallet is looked at daily.
 * @throws AppError `upstream`
 */
export async function readPortfolio(
  ctx: ActionCtx,
  { walletId, address, book }: Payer,
  isAsked = true,
): Promise<Portfolio> {
  const real = await readHoldings(ctx, address);
  const { block, live, pricedAt } = real;
  const prices = toPricesOfTokens(live);
  const tokens = real.balances.map(({ token, raw }) => {
    return { token, raw, ...defined({ price: prices[token]?.toString() }) };
  });
  const look = { walletId, block, at: pricedAt, tokens, isAsked };
  const found: Past | null = await ctx.runMutation(internal.wallets.past.looks.storeLook, look);
  const past = book === undefined ? found : book.past;
  const shown = book === undefined ? real : valueHoldings(live, (token) => readSum(book.past.held, token));
  const { result, tokens: costs } = computeResult(past, prices);
  const isReal = book !== undefined && real.totalValueUsd > LEAST_REAL_USD;
  return {
    balances: shown.balances.map((one) => ({ ...one, ...costs[one.token] })),
    totalValueUsd: shown.totalValueUsd,
    pricedAt,
    result,
    ...(isReal ? { realValueUsd: real.totalValueUsd } : {}),
  };
}
