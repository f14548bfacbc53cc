import { internal } from "../_generated/api";
import { internalAction, type ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/outside/deadlines";
import { AppError, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { counted, providerAction } from "../lib/outside/providerCalls";
import { takeNoted } from "../lib/outside/notes";
import { MINUTE } from "../lib/time";
import { bestPrice } from "../prices/live";
import { findPrices } from "../prices/sources";
import { PRICED_TOKENS, vPrice, vPricedToken, type Price, type PricedToken } from "../prices/tables";
import { NO_MODEL } from "./desk";
import { recentMarket } from "./recent";

/** Prices that fall back on the model's market data if no source has them: for display, never for limits. */

/** A younger snapshot is used as it is. */
const FRESH_MS = MINUTE;
/** An older snapshot has no live price. */
const STALE_MS = 10 * MINUTE;

/** `observedAt`: epoch ms of the snapshot. */
export type ModelPrice = { priceUsd: number; observedAt: number };

/**
 * The model's price of a token by its symbol; `null` if the snapshot has no such price, or no snapshot arrives in time.
 * A snapshot from the sources alone has no model price.
 * @param ask Whether a new snapshot may be requested, which costs a call to the LLM gateway, shared by everyone.
 * @throws AppError `upstream` if the gateway was asked and failed.
 */
async function modelPrice(
  ctx: ActionCtx,
  symbol: string,
  { ask }: { ask: boolean },
): Promise<ModelPrice | null> {
  const snapshot = ask
    ? await recentMarket(ctx, { freshMs: FRESH_MS, waitMs: deadlines.modelPrice, forService: false })
    : await ctx.runQuery(internal.market.snapshots.current, { focus: "" });
  if (snapshot === null || Date.now() - snapshot.fetchedAt > STALE_MS) return null;
  if (snapshot.model === NO_MODEL) {
    if (!ask) return null;
    throw new AppError("upstream", "The LLM gateway failed, and the market snapshot was made without it");
  }
  const { keyPrices, top20 } = snapshot.figures;
  const key = { BTC: keyPrices.bitcoin, ETH: keyPrices.ethereum }[symbol]?.usd;
  const priceUsd = key ?? top20.find((coin) => coin.symbol === symbol)?.price;
  return priceUsd === undefined ? null : { priceUsd, observedAt: snapshot.fetchedAt };
}

/**
 * The live price of a token in USD: the newest sample if it is at most 60 s old; otherwise from Chainlink's feeds, the
 * public tickers (Coinbase, Binance, CoinGecko) or, marked `llm`, the model's market data, and stored. Takes at most 24
 * s, if every source hangs. For actions.
 * @throws AppError `upstream` naming what failed if nothing answers.
 */
const currentPrice = counted(async (ctx, token: PricedToken): Promise<Price> => {
  const { price: best, failures } = await bestPrice(ctx, token, { model: true });
  if (best !== null) return best;
  try {
    const price = await modelPrice(ctx, token, { ask: true });
    if (price !== null) {
      return await ctx.runMutation(internal.prices.samples.store, { token, source: "llm", ...price });
    }
    failures.push("The LLM gateway did not answer in time");
  } catch (error) {
    failures.push(messageOf(error));
  }
  throw new AppError("upstream", `No source has a live price of ${token}: ${failures.join("; ")}`);
});

/** The same by hand: `npx convex run market/prices:current '{"token":"ETH"}'`. */
export const current = internalAction({
  args: { token: vPricedToken },
  returns: vPrice,
  handler: counted((ctx, { token }: { token: PricedToken }): Promise<Price> => currentPrice(ctx, token)),
});

/**
 * Takes one sample of each token, with one call to the chain for all. A token that neither feeds nor tickers know gets
 * the price of the model's last market data, which are not renewed for this.
 */
export const sample = providerAction({}, async (ctx) => {
  const { found, failures } = await findPrices(PRICED_TOKENS);
  const stored = { samples: found, noted: takeNoted() };
  await ctx.runMutation(internal.prices.samples.storeAll, stored);
  if (failures.length > 0) log.warn("prices.sources failed", { reasons: failures.join("; ") });
  for (const token of PRICED_TOKENS) {
    if (found.some((price) => price.token === token)) continue;
    const price = await modelPrice(ctx, token, { ask: false });
    if (price === null) log.error("prices.no sample", { token });
    else await ctx.runMutation(internal.prices.samples.store, { token, source: "llm", ...price });
  }
});
