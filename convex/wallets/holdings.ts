import type { Infer } from "convex/values";
import { deadlines } from "../lib/outside/deadlines";
import { log } from "../lib/log";
import { formatUnits, microUsdOf, usdValue } from "../lib/money/amounts";
import { counted } from "../lib/outside/providerCalls";
import { FEED_DECIMALS, feedAddresses, livePrices, type FeedName } from "../market/feeds";
import { findPrices } from "../market/live";
import type { PriceSource } from "../market/tables";
import { readAccount, readRounds } from "../providers/chain/accounts";
import { storedAddress } from "./model";
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
 * All five tokens of an address with live prices, in one call to the chain. If ether's feed has no live price, a
 * public ticker's is used; `source` says which.
 */
export const portfolioOf = counted(async (_ctx, address: string): Promise<Portfolio> => {
  const account = await readAccount(storedAddress(address), addressesOf(ERC20S), feedAddresses(VALUE_FEEDS));
  const now = Date.now();
  const prices = await shownPrices(livePrices(VALUE_FEEDS, account.rounds, now));
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
 * Values for limits, in micro-USD: of an amount, absent without a live price; and of one ether, 0 without one. From the
 * feeds or the public tickers: never a model's. Its calls are noted; the caller counts them with its own.
 * @throws AppError `upstream` if the chain does not answer.
 */
export async function valuesOf({
  token,
  amount,
}: {
  token: Symbol;
  amount: string;
}): Promise<{ value?: string; etherPrice: string }> {
  const { decimals, feed } = TOKENS[token];
  const feeds = [feed, "ETH"] as const;
  const rounds = await readRounds(feedAddresses(feeds), deadlines.chain);
  const live = livePrices(feeds, rounds, Date.now());
  const ether = live.get("ETH") ?? (feed === "ETH" ? ((await ticked(feed))?.price ?? null) : null);
  const price = feed === "ETH" ? ether : (live.get(feed) ?? null);
  const worth = (units: bigint, of: number, each: bigint) =>
    microUsdOf(units, of, each, FEED_DECIMALS).toString();
  return {
    ...(price === null ? {} : { value: worth(BigInt(amount), decimals, price) }),
    etherPrice: ether === null ? "0" : worth(10n ** 18n, 18, ether),
  };
}

function addressesOf(symbols: readonly Symbol[]) {
  return symbols.flatMap((symbol) => TOKENS[symbol].address ?? []);
}

type ValueFeed = (typeof VALUE_FEEDS)[number];
type DisplayPrice = { price: bigint; source: PriceSource };

/** The feeds' prices; for ether without one, the next source's. */
async function shownPrices(
  fed: ReadonlyMap<ValueFeed, bigint>,
): Promise<ReadonlyMap<ValueFeed, DisplayPrice | null>> {
  const shown = VALUE_FEEDS.map(async (feed) => {
    const price = fed.get(feed);
    return [
      feed,
      price === undefined ? await ticked(feed) : { price, source: "chainlink" as const },
    ] as const;
  });
  return new Map(await Promise.all(shown));
}

/** The tickers only know ether's. */
async function ticked(feed: ValueFeed): Promise<DisplayPrice | null> {
  if (feed !== "ETH") return null;
  const { found, failures } = await findPrices(["ETH"]);
  const [best] = found;
  if (best !== undefined) return { price: scaled(best.priceUsd), source: best.source };
  log.warn("wallets.unpriced", { token: feed, reason: failures.join("; ") });
  return null;
}

/** A price in USD in the feeds' unit. */
function scaled(priceUsd: number): bigint {
  return BigInt(Math.round(priceUsd * 10 ** FEED_DECIMALS));
}
