import type { Infer } from "convex/values";
import { deadlines } from "../platform/outside/deadlines";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { formatUnits, computeMicroUsd, toUsd } from "../lib/money/amounts";
import { listKeys } from "../lib/objects";
import { withUsage } from "../platform/outside/calls";
import { FEED_DECIMALS, listFeedAddresses, computeLivePrices, type FeedName } from "../market/feeds";
import { findPrices } from "../market/live";
import type { PriceSource } from "../market/tables";
import { readAccount, readRounds } from "../providers/chain/accounts";
import { getPaperStart } from "./book";
import { getOutgoing, requireStoredAddress } from "./model";
import { computeWorth, readSum, type Prices } from "./result";
import type { Balances, Payer, UserRequest, vHolding } from "./tables";
import { SYMBOLS, WALLET_TOKENS, type Symbol } from "./tokens";

/** Holdings of wallets on the chain, and their value. For actions. */

const ERC20S = SYMBOLS.filter((symbol) => WALLET_TOKENS[symbol].address !== null);
const FEEDS = ["ETH", "BTC", "USDC", "USDT", "DAI"] as const satisfies readonly FeedName[];

export type Holdings = {
  balances: Infer<typeof vHolding>[];
  totalValueUsd: number;
  /** Epoch ms. */
  pricedAt: number;
  /** Of the balances. */
  block: number;
  live: LivePrices;
};

/** A wallet whose holdings are read: on paper those of its book. */
export type HoldingWallet = Pick<Payer, "address" | "book">;

/**
 * All token balances of an address with live prices, in one call to the chain; `priceSource` names the price's source.
 * @throws AppError `upstream`
 */
export const readHoldings = withUsage(async (_ctx, address: string): Promise<Holdings> => {
  const { rounds, native, tokens, block } = await readAccount(
    requireStoredAddress(address),
    listTokenAddresses(ERC20S),
    listFeedAddresses(FEEDS),
  );
  const now = Date.now();
  const live = await getPrices(FEEDS, rounds, now);
  const readAmount = (token: Symbol) => (token === "ETH" ? native : (tokens[ERC20S.indexOf(token)] ?? 0n));
  return { ...valueHoldings(live, readAmount), pricedAt: now, block, live };
});

/** By token, in the feeds' unit. */
export const toPricesOfTokens = (live: LivePrices): Prices =>
  Object.fromEntries(SYMBOLS.map((token) => [token, live.get(WALLET_TOKENS[token].feed)?.price ?? null]));

/** Amounts of all tokens, in their smallest units, at these prices. */
export function valueHoldings(live: LivePrices, readAmount: (token: Symbol) => bigint) {
  let total = 0n;
  const balances = SYMBOLS.map((token) => {
    const { decimals, feed } = WALLET_TOKENS[token];
    const amount = readAmount(token);
    const { price = null, source = null } = live.get(feed) ?? {};
    const value = price === null ? null : computeMicroUsd(amount, decimals, price, FEED_DECIMALS);
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

/** What each token of a book's start is worth now, in micro-USD; without those that have no live price. @throws AppError `upstream` */
export async function valuePaperStart(): Promise<Balances> {
  const rounds = await readRounds(listFeedAddresses(FEEDS), deadlines.chain);
  const prices = toPricesOfTokens(await getPrices(FEEDS, rounds, Date.now()));
  const start = getPaperStart();
  const values: Balances = {};
  for (const token of listKeys(start)) {
    const worth = computeWorth(prices, token, start[token] ?? 0n);
    if (worth !== null) values[token] = worth.toString();
  }
  return values;
}

/**
 * Values for limits, in micro-USD: of the amount (absent without a live price), and of one ether (0 without one). Usage
 * is recorded; the caller counts it with its own.
 * @throws AppError `upstream` if the chain does not answer.
 */
export async function estimateValues({
  token,
  amount,
}: {
  token: Symbol;
  amount: string;
}): Promise<{ value?: string; etherPrice: string }> {
  const { decimals, feed } = WALLET_TOKENS[token];
  const feeds = [feed, "ETH"] as const;
  const rounds = await readRounds(listFeedAddresses(feeds), deadlines.chain);
  const prices = await getPrices(feeds, rounds, Date.now());
  const worth = (units: bigint, of: number, { price }: Price) =>
    computeMicroUsd(units, of, price, FEED_DECIMALS).toString();
  const price = prices.get(feed);
  const ether = prices.get("ETH");
  return {
    ...(price === undefined ? {} : { value: worth(BigInt(amount), decimals, price) }),
    etherPrice: ether === undefined ? "0" : worth(10n ** 18n, 18, ether),
  };
}

/**
 * The live price of a whole token, in micro-USD. Usage as with `estimateValues`.
 * @throws AppError `upstream`, also without a live price.
 */
export async function getMicroPrice(token: Symbol): Promise<bigint> {
  const { value = "0" } = await estimateValues({
    token,
    amount: (10n ** BigInt(WALLET_TOKENS[token].decimals)).toString(),
  });
  if (value === "0") throw new AppError("upstream", `There is no live price for ${token}: nothing was moved`);
  return BigInt(value);
}

/** A wallet's balance of a token, in its smallest unit; on paper its book's. @throws AppError `upstream` */
export async function readHeld({ address, book }: HoldingWallet, token: Symbol): Promise<bigint> {
  return book === undefined ? readBalance(address, token) : readSum(book.past.held, token);
}

/** An address's balance of a token, in its smallest unit. @throws AppError `upstream` */
export async function readBalance(address: string, token: Symbol): Promise<bigint> {
  const { native, tokens } = await readAccount(
    requireStoredAddress(address),
    listTokenAddresses([token]),
    [],
  );
  return token === "ETH" ? native : (tokens[0] ?? 0n);
}

/** In micro-USD: a smaller amount is not worth its network fee. */
const CENT = 10_000n;

/**
 * The warning about an amount without a size that looks like whole tokens instead of smallest units: it is worth less than a cent, and
 * the wallet holds as many whole tokens. Otherwise `null`. For callers that count chain calls.
 * @param value In micro-USD; absent without a live price.
 * @throws AppError `upstream`
 */
export async function computeSlip(
  wallet: HoldingWallet,
  request: UserRequest,
  value: string | undefined,
): Promise<string | null> {
  if (request.size !== undefined || value === undefined || BigInt(value) >= CENT) return null;
  const { token, amount } = getOutgoing(request);
  const { decimals } = WALLET_TOKENS[token];
  const whole = BigInt(amount) * 10n ** BigInt(decimals);
  if ((await readHeld(wallet, token)) < whole) return null;
  const orders = `amount counts the token's smallest unit, so this is ${formatUnits(BigInt(amount), decimals)} ${token}, worth less than a cent`;
  return `${orders}: ${amount} ${token} is ${whole}`;
}

function listTokenAddresses(symbols: readonly Symbol[]) {
  return symbols.flatMap((symbol) => WALLET_TOKENS[symbol].address ?? []);
}

/** In the feeds' unit. */
type Price = { price: bigint; source: PriceSource };
export type LivePrices = ReadonlyMap<FeedName, Price>;

/**
 * Live prices from the feeds. Ether falls back to the public tickers if its feed has no answer. Never a model's price.
 */
async function getPrices<Feed extends FeedName>(
  feeds: readonly Feed[],
  rounds: Awaited<ReturnType<typeof readRounds>>,
  now: number,
): Promise<LivePrices> {
  const prices = new Map<FeedName, Price>();
  for (const [feed, price] of computeLivePrices(feeds, rounds, now))
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
