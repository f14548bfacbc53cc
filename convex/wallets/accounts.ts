import { v } from "convex/values";
import { internalAction } from "../_generated/server";
import { formatUnits, microUsdOf, usdValue } from "../lib/money";
import { readAccount, type Rounds } from "../providers/chain";
import {
  FEED_DECIMALS,
  FEEDS,
  livePrice,
  SEQUENCER_FEED,
  sequencerIsUp,
  type FeedName,
} from "../prices/feeds";
import { asAddress } from "./addresses";
import { vHolding, vSymbol } from "./tables";
import { SYMBOLS, TOKENS, type Symbol } from "./tokens";

/** What wallets hold and what that is worth, as the chain says it. */

const ERC20S = SYMBOLS.filter((symbol) => TOKENS[symbol].address !== null);
const VALUE_FEEDS = ["ETH", "USDC", "USDT", "DAI"] as const satisfies readonly FeedName[];

/** The basic figures of an address: ETH and USDC as exact decimals. */
export const balance = internalAction({
  args: { address: v.string() },
  returns: v.object({ eth: v.string(), usdc: v.string() }),
  handler: async (_ctx, { address }) => {
    const { native, tokens } = await readAccount(asAddress(address), addressesOf(["USDC"]), []);
    return { eth: formatUnits(native, 18), usdc: formatUnits(tokens[0] ?? 0n, TOKENS.USDC.decimals) };
  },
});

/** All five tokens of an address with live prices, in one call to the chain. */
export const portfolio = internalAction({
  args: { address: v.string() },
  returns: v.object({ balances: v.array(vHolding), totalValueUsd: v.number(), pricedAt: v.number() }),
  handler: async (_ctx, { address }) => {
    const account = await readAccount(asAddress(address), addressesOf(ERC20S), feedAddresses());
    const now = Date.now();
    const prices = pricesOf(account.rounds, now);
    let total = 0n;
    const balances = SYMBOLS.map((token) => {
      const { decimals, feed } = TOKENS[token];
      const held = token === "ETH" ? account.native : (account.tokens[ERC20S.indexOf(token)] ?? 0n);
      const price = prices[feed];
      const value = price === null ? null : microUsdOf(held, decimals, price, FEED_DECIMALS);
      total += value ?? 0n;
      return {
        token,
        balance: formatUnits(held, decimals),
        raw: held.toString(),
        decimals,
        priceUsd: price === null ? null : Number(formatUnits(price, FEED_DECIMALS)),
        priceSource: price === null ? null : ("chainlink" as const),
        valueUsd: value === null ? null : usdValue(value),
      };
    });
    return { balances, totalValueUsd: usdValue(total), pricedAt: now };
  },
});

/** What an amount of a token is worth in micro-USD, as digits; `null` without a live price. For transfer limits. */
export const value = internalAction({
  args: { token: vSymbol, amount: v.string(), address: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: async (_ctx, { token, amount, address }) => {
    const { rounds } = await readAccount(asAddress(address), [], feedAddresses());
    const { decimals, feed } = TOKENS[token];
    const price = pricesOf(rounds, Date.now())[feed];
    return price === null ? null : microUsdOf(BigInt(amount), decimals, price, FEED_DECIMALS).toString();
  },
});

function addressesOf(symbols: readonly Symbol[]) {
  return symbols.flatMap((symbol) => TOKENS[symbol].address ?? []);
}

function feedAddresses() {
  return [SEQUENCER_FEED, ...VALUE_FEEDS.map((feed) => FEEDS[feed].address)] as const;
}

/** Live prices by feed, from rounds in the order of `feedAddresses`. */
function pricesOf(rounds: Rounds, now: number): Record<(typeof VALUE_FEEDS)[number], bigint | null> {
  const up = sequencerIsUp(rounds[0] ?? null, now);
  const price = (i: number, feed: FeedName) => (up ? livePrice(feed, rounds[i + 1] ?? null, now) : null);
  return { ETH: price(0, "ETH"), USDC: price(1, "USDC"), USDT: price(2, "USDT"), DAI: price(3, "DAI") };
}
