import type { Infer } from "convex/values";
import type { ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/outside/deadlines";
import { messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { formatUnits, microUsdOf, usdValue } from "../lib/money/amounts";
import { counted } from "../lib/outside/providerCalls";
import { FEED_DECIMALS, feedAddresses, livePrices, type FeedName } from "../prices/feeds";
import { currentPrice, modelPrice } from "../market/prices";
import { findPrices } from "../prices/sources";
import type { PriceSource } from "../prices/tables";
import { readAccount, readRounds } from "../providers/chain/accounts";
import { storedAddress } from "./addresses";
import type { vHolding } from "./tables";
import { SYMBOLS, TOKENS, type Symbol } from "./tokens";

/** Holdings of wallets on the chain, and their value. For actions. */

const ERC20S = SYMBOLS.filter((symbol) => TOKENS[symbol].address !== null);
const VALUE_FEEDS = ["ETH", "USDC", "USDT", "DAI"] as const satisfies readonly FeedName[];

/** ETH and USDC of an address, as exact decimals. */
export const balanceOf = counted(async (_ctx, address: string) => {
  const { native, tokens } = await readAccount(storedAddress(address), addressesOf(["USDC"]), []);
  return { eth: formatUnits(native, 18), usdc: formatUnits(tokens[0] ?? 0n, TOKENS.USDC.decimals) };
});

export type Portfolio = {
  balances: Infer<typeof vHolding>[];
  totalValueUsd: number;
  /** Epoch ms. */
  pricedAt: number;
};

/**
 * All five tokens of an address with live prices, in one call to the chain. If a token's feed has no live price, the
 * public tickers' or the model's is used; `source` says which.
 */
export const portfolioOf = counted(async (ctx, address: string): Promise<Portfolio> => {
  const account = await readAccount(storedAddress(address), addressesOf(ERC20S), feedAddresses(VALUE_FEEDS));
  const now = Date.now();
  const prices = await shownPrices(ctx, livePrices(VALUE_FEEDS, account.rounds, now));
  let total = 0n;
  const balances = SYMBOLS.map((token) => {
    const { decimals, feed } = TOKENS[token];
    const amount = token === "ETH" ? account.native : (account.tokens[ERC20S.indexOf(token)] ?? 0n);
    const price = prices.get(feed) ?? null;
    const value = price === null ? null : microUsdOf(amount, decimals, price.price, FEED_DECIMALS);
    total += value ?? 0n;
    return {
      token,
      balance: formatUnits(amount, decimals),
      raw: amount.toString(),
      decimals,
      priceUsd: price === null ? null : Number(formatUnits(price.price, FEED_DECIMALS)),
      priceSource: price === null ? null : price.source,
      valueUsd: value === null ? null : usdValue(value),
    };
  });
  return { balances, totalValueUsd: usdValue(total), pricedAt: now };
});

/**
 * The value of an amount in micro-USD, as digits; `null` without a live price. For transfer limits: from the feeds or
 * the public tickers, never from the model. Its calls are noted; the caller counts them with its own.
 */
export async function valueOf({ token, amount }: { token: Symbol; amount: string }): Promise<string | null> {
  const { decimals, feed } = TOKENS[token];
  const rounds = await readRounds(feedAddresses([feed]), deadlines.chain);
  const price = livePrices([feed], rounds, Date.now()).get(feed) ?? (await tickerPrice(feed));
  return price === null ? null : microUsdOf(BigInt(amount), decimals, price, FEED_DECIMALS).toString();
}

function addressesOf(symbols: readonly Symbol[]) {
  return symbols.flatMap((symbol) => TOKENS[symbol].address ?? []);
}

type ValueFeed = (typeof VALUE_FEEDS)[number];
type DisplayPrice = { price: bigint; source: PriceSource };

/** The feeds' prices; for tokens without one, the next source's. */
async function shownPrices(
  ctx: ActionCtx,
  fed: ReadonlyMap<ValueFeed, bigint>,
): Promise<ReadonlyMap<ValueFeed, DisplayPrice | null>> {
  const shown = VALUE_FEEDS.map(async (feed) => {
    const price = fed.get(feed);
    const found = price === undefined ? await otherPrice(ctx, feed) : { price, source: "chainlink" as const };
    return [feed, found] as const;
  });
  return new Map(await Promise.all(shown));
}

async function otherPrice(ctx: ActionCtx, feed: ValueFeed): Promise<DisplayPrice | null> {
  try {
    if (feed === "ETH") {
      const { priceUsd, source } = await currentPrice(ctx, "ETH");
      return { price: scaled(priceUsd), source };
    }
    const quote = await modelPrice(ctx, feed, { ask: true });
    return quote === null ? null : { price: scaled(quote.priceUsd), source: "llm" };
  } catch (error) {
    log.warn("wallets.unpriced", { token: feed, reason: messageOf(error) });
    return null;
  }
}

/** A price for limits if the feed has none: the tickers only know Ether's. */
async function tickerPrice(feed: ValueFeed): Promise<bigint | null> {
  if (feed !== "ETH") return null;
  const [price] = (await findPrices(["ETH"])).found;
  return price === undefined ? null : scaled(price.priceUsd);
}

/** A price in USD in the feeds' unit. */
function scaled(priceUsd: number): bigint {
  return BigInt(Math.round(priceUsd * 10 ** FEED_DECIMALS));
}
