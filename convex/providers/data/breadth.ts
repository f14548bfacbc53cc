import type { ListedCoin } from "./coingecko";

/** How many of the largest coins rose, without coins that only track another value. Pure. */

type Coin = Pick<ListedCoin, "symbol" | "name" | "rank" | "price" | "change24h">;

/** How many independent coins are counted. */
const BREADTH = 50;

/** Names of coins that are claims on others: "Wrapped Bitcoin", "Lido Staked Ether", "Bridged USDC". */
const CLAIMS = /\b(?:wrapped|(?:re)?staked|bridged|pegged|tokenized)\b/i;
/** Names of coins that track a currency: "USDS", "Ethena USDe", "EURC", "Tether Gold". */
const CURRENCIES = /USD|EUR|\b(?:dollar|euro|gold)\b/i;
/** A price this near to 1 USD that hardly moved is pegged, in shares and percent. */
const PEG = { distance: 0.02, change: 0.5 };
/** A price this near to a larger coin's tracks it, in shares and percent. */
const SAME = { distance: 0.003, change: 0.3 };

/**
 * How many of the fifty largest independent coins rose over 24 hours; `null` if there are fewer. Stablecoins, wrapped
 * and staked coins carry no information of their own and would count twice.
 */
export function risingOf(coins: readonly Coin[]): number | null {
  const bySize = [...coins].sort((a, b) => a.rank - b.rank);
  const own = bySize.filter((coin, index) => !standsForAnother(coin, bySize.slice(0, index)));
  const changes = own.flatMap(({ change24h }) => change24h ?? []).slice(0, BREADTH);
  return changes.length < BREADTH ? null : changes.filter((change) => change > 0).length;
}

function standsForAnother({ symbol, name, price, change24h }: Coin, larger: readonly Coin[]): boolean {
  const isNear = (other: number, distance: number) => Math.abs(price / other - 1) <= distance;
  return (
    CLAIMS.test(name) ||
    CURRENCIES.test(`${symbol} ${name}`) ||
    (isNear(1, PEG.distance) && Math.abs(change24h ?? 0) <= PEG.change) ||
    larger.some(
      (one) =>
        // At a few dollars, equal prices may be a coincidence, which the day's change reveals.
        isNear(one.price, SAME.distance) && Math.abs((change24h ?? 0) - (one.change24h ?? 0)) <= SAME.change,
    )
  );
}
