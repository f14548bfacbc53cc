import type { Infer } from "convex/values";
import { internal } from "../_generated/api";
import { deadlines } from "../platform/outside/deadlines";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { formatUnits, computeMicroUsd, toUsd } from "../lib/money/amounts";
import { takeUsage, withUsage } from "../platform/outside/calls";
import { FEED_DECIMALS, listFeedAddresses, computeLivePrices, type FeedName } from "../market/feeds";
import { findPrices } from "../market/live";
import type { PriceSource } from "../market/tables";
import { readAccount, readRounds } from "../providers/chain/accounts";
import { getOutgoing, requireStoredAddress } from "./model";
import { computeResult, type Prices, type Result } from "./past/result";
import type { Look } from "./past/looks";
import type { Past, UserRequest, vHolding } from "./tables";
import { SYMBOLS, WALLET_TOKENS, type Symbol } from "./tokens";

/** Holdings of wallets on the chain, and their value. For actions. */

const ERC20S = SYMBOLS.filter((symbol) => WALLET_TOKENS[symbol].address !== null);
const FEEDS = ["ETH", "BTC", "USDC", "USDT", "DAI"] as const satisfies readonly FeedName[];

export type Portfolio = {
  balances: Infer<typeof vHolding>[];
  totalValueUsd: number;
  /** Epoch ms. */
  pricedAt: number;
  /** `null` before the wallet's first move. */
  past: Past | null;
  result: Result;
};

/**
 * All token balances of a wallet with live prices, in one call to the chain, and what it has made; what is new in them is
 * entered (`past/looks`).
 * @param isAsked Whether somebody has asked, so that the wallet is looked at daily.
 * @throws AppError `upstream`
 */
export const readPortfolio = withUsage(
  async (ctx, wallet: { walletId: string; address: string }, isAsked: boolean = true): Promise<Portfolio> => {
    const account = await readAccount(
      requireStoredAddress(wallet.address),
      listTokenAddresses(ERC20S),
      listFeedAddresses(FEEDS),
    );
    const now = Date.now();
    const live = await getPrices(FEEDS, account.rounds, now);
    let total = 0n;
    const tokens: Look["tokens"] = [];
    const prices: Prices = {};
    const balances = SYMBOLS.map((token) => {
      const { decimals, feed } = WALLET_TOKENS[token];
      const amount = token === "ETH" ? account.native : (account.tokens[ERC20S.indexOf(token)] ?? 0n);
      const { price = null, source = null } = live.get(feed) ?? {};
      const value = price === null ? null : computeMicroUsd(amount, decimals, price, FEED_DECIMALS);
      const raw = amount.toString();
      total += value ?? 0n;
      prices[token] = price;
      tokens.push({ token, raw, ...(price === null ? {} : { price: price.toString() }) });
      return {
        token,
        balance: formatUnits(amount, decimals),
        raw,
        decimals,
        priceUsd: price === null ? null : Number(formatUnits(price, FEED_DECIMALS)),
        priceSource: source,
        valueUsd: value === null ? null : toUsd(value),
      };
    });
    const past: Past | null = await ctx.runMutation(internal.wallets.past.looks.storeLook, {
      ...{ walletId: wallet.walletId, block: account.block, at: now, tokens, isAsked },
      usage: takeUsage(),
    });
    const { result, tokens: costs } = computeResult(past, prices);
    const costed = balances.map((one) => ({ ...one, ...costs[one.token] }));
    return { balances: costed, totalValueUsd: toUsd(total), pricedAt: now, past, result };
  },
);

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
  address: string,
  request: UserRequest,
  value: string | undefined,
): Promise<string | null> {
  if (request.size !== undefined || value === undefined || BigInt(value) >= CENT) return null;
  const { token, amount } = getOutgoing(request);
  const { decimals } = WALLET_TOKENS[token];
  const whole = BigInt(amount) * 10n ** BigInt(decimals);
  if ((await readBalance(address, token)) < whole) return null;
  const orders = `amount counts the token's smallest unit, so this is ${formatUnits(BigInt(amount), decimals)} ${token}, worth less than a cent`;
  return `${orders}: ${amount} ${token} is ${whole}`;
}

function listTokenAddresses(symbols: readonly Symbol[]) {
  return symbols.flatMap((symbol) => WALLET_TOKENS[symbol].address ?? []);
}

/** In the feeds' unit. */
type Price = { price: bigint; source: PriceSource };

/**
 * Live prices from the feeds. Ether falls back to the public tickers if its feed has no answer. Never a model's price.
 */
async function getPrices<Feed extends FeedName>(
  feeds: readonly Feed[],
  rounds: Awaited<ReturnType<typeof readRounds>>,
  now: number,
): Promise<ReadonlyMap<FeedName, Price>> {
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
