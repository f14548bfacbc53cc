import type { Infer } from "convex/values";
import { internal } from "../_generated/api";
import { deadlines } from "../platform/outside/deadlines";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { formatUnits, toUsd } from "../lib/money/amounts";
import { defined, listKeys } from "../lib/objects";
import { withUsage } from "../platform/outside/calls";
import { FEED_DECIMALS, listFeedAddresses, computeLivePrices, type FeedName } from "../market/feeds";
import { findPrices } from "../market/live";
import type { PriceSource } from "../market/tables";
import { readAccount, readRounds } from "../providers/chain/accounts";
import { getPaperStart } from "./book";
import { requireStoredAddress } from "./model";
import { computeResult, computeWorth, readSum, type Prices, type Result } from "./result";
import type { Balances, Past, Payer, vHolding } from "./tables";
import { SYMBOLS, WALLET_TOKENS, type Symbol } from "./tokens";

/** Holdings of wallets, their value, and what they have made. For actions. */

const ERC20S = SYMBOLS.filter((symbol) => WALLET_TOKENS[symbol].address !== null);
const FEEDS = ["ETH", "BTC", "USDC", "USDT", "DAI"] as const satisfies readonly FeedName[];
const FEED_ADDRESSES = listFeedAddresses(FEEDS);

/** A wallet whose holdings are read: on paper those of its book. */
export type HoldingWallet = Pick<Payer, "address" | "book">;

export type Portfolio = {
  balances: Infer<typeof vHolding>[];
  totalValueUsd: number;
  /** Epoch ms. */
  pricedAt: number;
  result: Result;
  /** Beside a book: the address's real holdings, if above a dollar. */
  realValueUsd?: number;
};

/** Real holdings of less are not told beside a book. */
const LEAST_REAL_USD = 1;

/**
 * All token balances of a wallet with live prices, in one call to the chain, and what it has made: what is new in them
 * is entered first (`past/looks`). On paper the balances and the result are the book's.
 * @param isAsked Whether a request causes it, so that the wallet is read daily.
 * @throws AppError `upstream`
 */
export const readPortfolio = withUsage(
  async (ctx, { walletId, address, book }: Payer, isAsked: boolean = true): Promise<Portfolio> => {
    const account = requireStoredAddress(address);
    const { rounds, native, tokens, block } = await readAccount(
      account,
      listTokenAddresses(ERC20S),
      FEED_ADDRESSES,
    );
    const pricedAt = Date.now();
    const live = await getPrices(rounds, pricedAt);
    const prices = toPricesOfTokens(live);
    const real = valueHoldings(live, prices, (token) =>
      token === "ETH" ? native : (tokens[ERC20S.indexOf(token)] ?? 0n),
    );
    const observed = real.balances.map(({ token, raw }) => {
      return { token, raw, ...defined({ price: prices[token]?.toString() }) };
    });
    const observation = { walletId, block, at: pricedAt, tokens: observed, isAsked };
    const found: Past | null = await ctx.runMutation(internal.wallets.past.looks.storeLook, observation);
    const past = book === undefined ? found : book.past;
    const view =
      book === undefined ? real : valueHoldings(live, prices, (token) => readSum(book.past.held, token));
    const { result, tokens: costs } = computeResult(past, prices);
    const isReal = book !== undefined && real.totalValueUsd > LEAST_REAL_USD;
    return {
      balances: view.balances.map((one) => ({ ...one, ...costs[one.token] })),
      totalValueUsd: view.totalValueUsd,
      pricedAt,
      result,
      ...(isReal ? { realValueUsd: real.totalValueUsd } : {}),
    };
  },
);

/** Amounts of all tokens, in their smallest units, at these prices; `priceSource` names the price's source. */
function valueHoldings(live: LivePrices, prices: Prices, readAmount: (token: Symbol) => bigint) {
  let total = 0n;
  const balances = SYMBOLS.map((token) => {
    const { decimals, feed } = WALLET_TOKENS[token];
    const amount = readAmount(token);
    const { price = null, source = null } = live.get(feed) ?? {};
    const value = computeWorth(prices, token, amount);
    total += value ?? 0n;
    return {
      token,
      balance: formatUnits(amount, decimals),
      raw: amount.toString(),
      decimals,
      priceUsd: price === null ? null : Number(formatUnits(price, FEED_DECIMALS)),
      priceSource: source,
      valueUsd: value === null ? null : toUsd(value),
    };
  });
  return { balances, totalValueUsd: toUsd(total) };
}

/** The live prices of all tokens. Usage is recorded; the caller counts it with its own. @throws AppError `upstream` */
async function readPrices(): Promise<Prices> {
  const rounds = await readRounds(FEED_ADDRESSES, deadlines.chain);
  return toPricesOfTokens(await getPrices(rounds, Date.now()));
}

/** What each token of a book's start is worth now, in micro-USD; without those that have no live price. @throws AppError `upstream` */
export async function valuePaperStart(): Promise<Balances> {
  const [prices, start] = [await readPrices(), getPaperStart()];
  const values: Balances = {};
  for (const token of listKeys(start)) {
    const worth = computeWorth(prices, token, start[token] ?? 0n);
    if (worth !== null) values[token] = worth.toString();
  }
  return values;
}

/**
 * Values for limits, in micro-USD: of the amount (absent without a live price), and of one ether (0 without one). Usage as
 * with `readPrices`.
 * @throws AppError `upstream` if the chain does not answer.
 */
export async function estimateValues({
  token,
  amount,
}: {
  token: Symbol;
  amount: string;
}): Promise<{ value?: string; etherPrice: string }> {
  const prices = await readPrices();
  const value = computeWorth(prices, token, BigInt(amount))?.toString();
  return { ...defined({ value }), etherPrice: (computeWorth(prices, "ETH", 10n ** 18n) ?? 0n).toString() };
}

/** The live price of a whole token, in micro-USD. Usage as with `readPrices`. @throws AppError `upstream`, also without a live price. */
export async function getMicroPrice(token: Symbol): Promise<bigint> {
  const price = computeWorth(await readPrices(), token, 10n ** BigInt(WALLET_TOKENS[token].decimals)) ?? 0n;
  if (price > 0n) return price;
  throw new AppError("upstream", `There is no live price for ${token}: nothing was moved`);
}

/** A wallet's balance of a token, in its smallest unit; on paper its book's. @throws AppError `upstream` */
export async function readHeld({ address, book }: HoldingWallet, token: Symbol): Promise<bigint> {
  if (book !== undefined) return readSum(book.past.held, token);
  const { native, tokens } = await readAccount(
    requireStoredAddress(address),
    listTokenAddresses([token]),
    [],
  );
  return token === "ETH" ? native : (tokens[0] ?? 0n);
}

function listTokenAddresses(symbols: readonly Symbol[]) {
  return symbols.flatMap((symbol) => WALLET_TOKENS[symbol].address ?? []);
}

/** In the feeds' unit. */
type LivePrices = ReadonlyMap<FeedName, { price: bigint; source: PriceSource }>;

/** By token, in the feeds' unit. */
const toPricesOfTokens = (live: LivePrices): Prices =>
  Object.fromEntries(SYMBOLS.map((token) => [token, live.get(WALLET_TOKENS[token].feed)?.price ?? null]));

/**
 * Live prices from the feeds. Ether falls back to the public tickers if its feed has no answer. Never a model's price.
 */
async function getPrices(rounds: Awaited<ReturnType<typeof readRounds>>, now: number): Promise<LivePrices> {
  const prices = new Map<FeedName, { price: bigint; source: PriceSource }>();
  for (const [feed, price] of computeLivePrices(FEEDS, rounds, now))
    prices.set(feed, { price, source: "chainlink" });
  if (prices.has("ETH")) return prices;
  const { found, failures } = await findPrices(["ETH"]);
  const [best] = found;
  if (best === undefined) log.warn("wallets.unpriced", { token: "ETH", reason: failures.join("; ") });
  else {
    const price = BigInt(Math.round(best.priceUsd * 10 ** FEED_DECIMALS));
    prices.set("ETH", { price, source: best.source });
  }
  return prices;
}
