import { formatUnits } from "../../lib/money/amounts";
import { COINS, FLOOR_USD, type CoinSymbol } from "../coins";
import type { AlertType, Direction } from "../tables";
import { LABELS, ZERO } from "./labels";

/** Reduces the transfers of one transaction to movements. Pure; used by the service and by `verify-whales`. */

/** Addresses in lower case, the amount in the coin's smallest unit. */
export type Transfer = {
  coin: CoinSymbol;
  from: string;
  to: string;
  amount: bigint;
  /** The index of its log in the transaction, from 0: the same in any block. `NATIVE` for the transaction's own value. */
  position: number;
};

export const NATIVE = -1;

/** One movement, from its origin to its destination; its position is that of one of its transfers, and unique. */
export type Movement = Transfer;

/**
 * The movements among a transaction's transfers. Only those from or to a labelled exchange, or from or to nothing,
 * count. Transfers of one coin between the same two ends are one movement; so are those through an address that passes
 * on what it gets. Movements within one exchange are left out.
 */
export function movementsOf(transfers: readonly Transfer[]): Movement[] {
  const coins = [...new Set(transfers.map(({ coin }) => coin))];
  return coins
    .flatMap((coin) => {
      const touching = transfers.filter((one) => one.coin === coin && one.amount > 0n && isParty(one));
      return summed(handedOn(summed(touching)));
    })
    .toSorted((a, b) => a.position - b.position);
}

function isParty({ from, to }: Transfer): boolean {
  return endOf(from) !== from || endOf(to) !== to;
}

/** The owner of an address: an exchange has many. */
function endOf(address: string): string {
  return address === ZERO ? "nothing" : (LABELS.get(address)?.exchange ?? address);
}

/** One transfer for each pair of ends; none from an end to itself. */
function summed(transfers: readonly Transfer[]): Transfer[] {
  const byEnds = new Map<string, Transfer>();
  for (const one of transfers.toSorted((a, b) => a.position - b.position)) {
    if (endOf(one.from) === endOf(one.to)) continue;
    const ends = `${endOf(one.from)} ${endOf(one.to)}`;
    const sum = byEnds.get(ends);
    byEnds.set(ends, sum === undefined ? one : { ...sum, amount: sum.amount + one.amount });
  }
  return [...byEnds.values()];
}

/** Joins incoming and outgoing transfers of an address, as far as the amounts match. */
function handedOn(transfers: readonly Transfer[]): Transfer[] {
  const left = transfers.map((one) => ({ ...one }));
  const joined: Transfer[] = [];
  for (const into of left) {
    for (const out of left) {
      const amount = into.amount < out.amount ? into.amount : out.amount;
      if (into.to !== out.from || endOf(into.to) !== into.to || amount === 0n) continue;
      into.amount -= amount;
      out.amount -= amount;
      // The transfer that is used up gives its position: it is used only once, while the other may keep a rest.
      const { position } = out.amount === 0n ? out : into;
      joined.push({ coin: into.coin, from: into.from, to: out.to, amount, position });
    }
  }
  return [...joined, ...left.filter(({ amount }) => amount > 0n)];
}

/** The value of a movement in whole USD. */
export function worthOf({ coin, amount }: Pick<Movement, "coin" | "amount">, priceUsd: number): number {
  return Math.round(Number(formatUnits(amount, COINS[coin].decimals)) * priceUsd);
}

export function isLarge(movement: Pick<Movement, "coin" | "amount">, priceUsd: number): boolean {
  return worthOf(movement, priceUsd) >= FLOOR_USD;
}

export type AlertWords = { alertType: AlertType; direction: Direction; description: string };

/** A movement in words. Coins that arrive at an exchange can be sold there; for a stablecoin that means nothing. */
export function alertWords({ coin, from, to, amount }: Movement): AlertWords {
  const { name, decimals, isStable } = COINS[coin];
  const what = `${grouped(formatUnits(amount, decimals))} ${name}`;
  const source = LABELS.get(from)?.exchange;
  const target = LABELS.get(to)?.exchange;
  const large = { alertType: "large_transfer", direction: "neutral" } as const;
  if (from === ZERO) return { ...large, description: `${what} was minted to ${target ?? short(to)}.` };
  if (to === ZERO) return { ...large, description: `${what} of ${source ?? short(from)} was burned.` };
  const description = `${what} moved from ${source ?? short(from)} to ${target ?? short(to)}.`;
  if (source !== undefined && target !== undefined) return { ...large, description };
  if (target !== undefined) {
    return { alertType: "cex_inflow", direction: isStable ? "neutral" : "bearish", description };
  }
  return { alertType: "cex_outflow", direction: isStable ? "neutral" : "bullish", description };
}

function short(address: string): string {
  return `${address.slice(0, 6)}…${address.slice(-4)}`;
}

/** `1,234,567.89`: two decimals, cut rather than rounded. */
function grouped(decimal: string): string {
  const [whole = "0", fraction = ""] = decimal.split(".");
  const cut = fraction.slice(0, 2);
  return `${BigInt(whole).toLocaleString("en-US")}${/[1-9]/.test(cut) ? `.${cut}` : ""}`;
}
