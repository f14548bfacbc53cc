import { AppError } from "../lib/errors";
import { formatUnits } from "../lib/money/amounts";
import type { FeedName } from "../market/feeds";
import type { Mined } from "../providers/chain/transactions";
import { CHAIN, findCoinByAddress, COINS, FLOOR_USD, type CoinSymbol } from "./coins";
import { LABELS, ZERO } from "./labels";
import type { AlertType, MovementDirection, Measured } from "./tables";

/** Reduces the transfers of one transaction to movements, and these to alerts. Pure. */

type Price = Measured["movement"]["price"];
/** Of the feeds on Base. */
export type FeedPrices = ReadonlyMap<FeedName, Price>;

/** The price of a coin. @throws AppError `upstream` if its feed has no live price: the movement is valued by a later run. */
function getCoinPrice(prices: FeedPrices, coin: CoinSymbol): Price {
  const { feed } = COINS[coin];
  const price = prices.get(feed);
  if (price === undefined) throw new AppError("upstream", `The price feed for ${feed} gives no live price`);
  return price;
}

/** Addresses in lower case, the amount in the coin's smallest unit. */
export type CoinTransfer = {
  coin: CoinSymbol;
  from: string;
  to: string;
  amount: bigint;
  /** The index of its log in the transaction, from 0: the same in any block. `NATIVE` for the transaction's own value. */
  position: number;
};

/** The place of the ether that a transaction itself carries. */
export const NATIVE = -1;

/** The alerts in one transaction; none if it failed. */
export function measureTransaction(txHash: string, outcome: Mined, prices: FeedPrices): Measured[] {
  const { succeeded, payment, transfers, block } = outcome;
  if (!succeeded) return [];
  const ether = payment === null ? [] : [{ ...payment, coin: "ETH" as const, position: NATIVE }];
  const tokens = transfers.flatMap(({ token, from, to, amount, position }): CoinTransfer[] => {
    const coin = findCoinByAddress(token);
    return coin === null ? [] : [{ coin, from, to, amount, position }];
  });
  return listLargeMovements([...ether, ...tokens], prices).map((one): Measured => {
    const price = getCoinPrice(prices, one.coin);
    return {
      token: one.coin,
      ...describeMovement(one),
      amount: computeWorth(one, price.usd),
      txHash,
      chain: CHAIN,
      occurredAt: block.time,
      movement: {
        from: labelAddress(one.from),
        to: labelAddress(one.to),
        quantity: one.amount.toString(),
        position: one.position,
        blockNumber: block.number,
        blockHash: block.hash,
        price,
      },
    };
  });
}

function labelAddress(address: string): Measured["movement"]["from"] {
  const label = LABELS.get(address);
  return label === undefined ? { address } : { address, label };
}

/** The movements worth an alert. */
export function listLargeMovements(transfers: readonly CoinTransfer[], prices: FeedPrices): CoinTransfer[] {
  return mergeMovements(transfers).filter(
    (one) => computeWorth(one, getCoinPrice(prices, one.coin).usd) >= FLOOR_USD,
  );
}

/**
 * The movements among a transaction's transfers. Only those from or to a labelled exchange, or from or to nothing,
 * count. Transfers of one coin between the same two ends are one movement. Movements within one exchange are left out.
 */
function mergeMovements(transfers: readonly CoinTransfer[]): CoinTransfer[] {
  const byEnds = new Map<string, CoinTransfer>();
  for (const one of transfers.toSorted((a, b) => a.position - b.position)) {
    const [source, target] = [getOwner(one.from), getOwner(one.to)];
    const isStrangers = source === one.from && target === one.to;
    if (isStrangers || source === target) continue;
    const ends = `${one.coin} ${source} ${target}`;
    const sum = byEnds.get(ends);
    byEnds.set(ends, sum === undefined ? one : { ...sum, amount: sum.amount + one.amount });
  }
  return [...byEnds.values()];
}

/** The owner of an address: an exchange has many. */
function getOwner(address: string): string {
  return address === ZERO ? "nothing" : (LABELS.get(address)?.exchange ?? address);
}

/** The value of a movement in whole USD. */
export function computeWorth(
  { coin, amount }: Pick<CoinTransfer, "coin" | "amount">,
  priceUsd: number,
): number {
  return Math.round(Number(formatUnits(amount, COINS[coin].decimals)) * priceUsd);
}

type AlertWords = { alertType: AlertType; direction: MovementDirection; description: string };

/** A movement in words. Coins that arrive at an exchange can be sold there; for a stablecoin that means nothing. */
function describeMovement({ coin, from, to, amount }: CoinTransfer): AlertWords {
  const { name, decimals, isStable } = COINS[coin];
  const quantity = Number(formatUnits(amount, decimals));
  const what = `${quantity.toLocaleString("en-US", { maximumFractionDigits: 2 })} ${name}`;
  const source = LABELS.get(from)?.exchange;
  const target = LABELS.get(to)?.exchange;
  const large = { alertType: "large_transfer", direction: "neutral" } as const;
  if (from === ZERO)
    return { ...large, description: `${what} was minted to ${target ?? shortenAddress(to)}.` };
  if (to === ZERO)
    return { ...large, description: `${what} of ${source ?? shortenAddress(from)} was burned.` };
  const description = `${what} moved from ${source ?? shortenAddress(from)} to ${target ?? shortenAddress(to)}.`;
  if (source !== undefined && target !== undefined) return { ...large, description };
  if (target !== undefined) {
    return { alertType: "cex_inflow", direction: isStable ? "neutral" : "bearish", description };
  }
  return { alertType: "cex_outflow", direction: isStable ? "neutral" : "bullish", description };
}

function shortenAddress(address: string): string {
  return `${address.slice(0, 6)}…${address.slice(-4)}`;
}
