import { AppError } from "../lib/errors";
import { formatUnits } from "../lib/money/amounts";
import type { FeedName } from "../market/feeds";
import type { Mined } from "../providers/chain/transactions";
import { CHAIN, findCoinByAddress, COINS, FLOOR_USD, type CoinSymbol } from "./coins";
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

/*
 * Addresses of exchanges on Base, in lower case. Each line names its source: a stored copy of a public document that
 * names the address as the exchange's on this chain. An exchange without such a document is missing (Coinbase, for one,
 * publishes none), so its flows are not seen.
 */

/** The lists that these exchanges publish as their proof of reserves, from DefiLlama's copies, each at one revision. */
const LISTED = "https://github.com/DefiLlama/DefiLlama-Adapters/blob";
/**
 * Rows of network "BASE" in Binance's own list
 * (binance.com/en/blog/community/our-commitment-to-transparency-2895840147147652626).
 */
const BINANCE = `${LISTED}/b42f973e01c015c50bb1f345b1a26584dd8b3875/projects/binance/config.js`;
const BYBIT = `${LISTED}/9999551965adb5b61457a144b1d2f94e0e38df27/projects/bybit/index.js`;
const KUCOIN = `${LISTED}/02a8f05276ba852172dcb0da3c11bf0b6ce26546/projects/kucoin/index.js`;
const OKX = `${LISTED}/0748004f169415a13656a29188cdb956dad4afaf/projects/okex/index.js`;

const LINES = [
  ["0x3304e22ddaa22bcdc5fca2269b418046ae7b566a", "Binance", BINANCE],
  ["0xf977814e90da44bfa03b6295a0616a897441acec", "Binance", BINANCE],
  ["0x1db92e2eebc8e0c075a02bea49a2935bcd2dfcf4", "Bybit", BYBIT],
  ["0x7e8c73462aaa9d61c801bd9f5682db014387621a", "Bybit", BYBIT],
  ["0x88a1493366d48225fc3cefbdae9ebb23e323ade3", "Bybit", BYBIT],
  ["0xbaed383ede0e5d9d72430661f3285daa77e9439f", "Bybit", BYBIT],
  ["0xee5b5b923ffce93a870b3104b7ca09c3db80047a", "Bybit", BYBIT],
  ["0x17a30350771d02409046a683b18fe1c13ccfc4a8", "KuCoin", KUCOIN],
  ["0x18b0f4547a89fe4c5fe84f258bea3601fa281e9f", "KuCoin", KUCOIN],
  ["0x26c8e06590f73c2571d68a41ebccec38e12ddd9f", "KuCoin", KUCOIN],
  ["0x2933782b5a8d72f2754103d1489614f29bfa4625", "KuCoin", KUCOIN],
  ["0xb8e6d31e7b212b2b7250ee9c26c56cebbfbe6b23", "KuCoin", KUCOIN],
  ["0xcfdb97872667c55c15c255b9af5c715cc4bd8a69", "KuCoin", KUCOIN],
  ["0xd2cb829848f8857a589b03fa8b567c5ff0742e18", "KuCoin", KUCOIN],
  ["0xd6216fc19db775df9774a6e33526131da7d19a2c", "KuCoin", KUCOIN],
  ["0x0db6ffb36e26958cfa53cbe6d767f3cc7ba595d7", "OKX", OKX],
  ["0x10b7dfc30e290b77ded2550d66974c6a124dfa0d", "OKX", OKX],
  ["0x39591e7c099a379fd7b349ebfecaeef439c40454", "OKX", OKX],
  ["0xc8802feab2fafb48b7d1ade77e197002c210f391", "OKX", OKX],
] as const;

/** By address: its exchange, and the source of the label. */
const LABELS: ReadonlyMap<string, { exchange: string; source: string }> = new Map(
  LINES.map(([address, exchange, source]) => [address, { exchange, source }]),
);

/** The address that tokens are minted from and burned to. */
const ZERO = "0x0000000000000000000000000000000000000000";

/** Every address whose transfers are watched. */
export const PARTIES: readonly string[] = [...LABELS.keys(), ZERO];
