import { formatUnits } from "../../lib/money/amounts";
import { COINS, FLOOR_USD, type CoinSymbol } from "../coins";
import type { AlertType, Direction } from "../tables";
import { LABELS, ZERO } from "./labels";

/** What the transfers of one transaction come to. Pure: the service and `verify-whales` both go by it. */

/** Addresses in lower case, the amount in the coin's smallest unit. */
export type Transfer = {
  coin: CoinSymbol;
  from: string;
  to: string;
  amount: bigint;
  /** Of its log among the transaction's, from 0: the same in whatever block. `NATIVE` for the transaction's own value. */
  position: number;
};

export const NATIVE = -1;

/** One movement, from where it began to where it ended; its position is that of one of its transfers, and no other's. */
export type Movement = Transfer;

/**
 * The movements among a transaction's transfers. Only those from or to a labelled exchange, or out of or into nothing,
 * count. Transfers of one coin between the same two ends are one movement; so is what an address gets from one end and
 * hands on to another. What begins and ends at the same exchange is none.
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

/** Whose an address is: an exchange has many. */
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

/** Joins what comes to an address with what leaves it again, as far as the amounts go. */
function handedOn(transfers: readonly Transfer[]): Transfer[] {
  const left = transfers.map((one) => ({ ...one }));
  const joined: Transfer[] = [];
  for (const into of left) {
    for (const out of left) {
      const amount = into.amount < out.amount ? into.amount : out.amount;
      if (into.to !== out.from || endOf(into.to) !== into.to || amount === 0n) continue;
      into.amount -= amount;
      out.amount -= amount;
      // The one that is used up gives its position: it moves once, and the other may keep a rest.
      const { position } = out.amount === 0n ? out : into;
      joined.push({ coin: into.coin, from: into.from, to: out.to, amount, position });
    }
  }
  return [...joined, ...left.filter(({ amount }) => amount > 0n)];
}

/** What a movement is worth in whole USD. */
export function worthOf({ coin, amount }: Pick<Movement, "coin" | "amount">, priceUsd: number): number {
  return Math.round(Number(formatUnits(amount, COINS[coin].decimals)) * priceUsd);
}

export function isLarge(movement: Pick<Movement, "coin" | "amount">, priceUsd: number): boolean {
  return worthOf(movement, priceUsd) >= FLOOR_USD;
}

export type Told = { alertType: AlertType; direction: Direction; description: string };

/** How a movement is told. Coins that arrive at an exchange can be sold there; of a stablecoin that says nothing. */
export function toldOf({ coin, from, to, amount }: Movement): Told {
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

/** `1,234,567.89`: two digits behind the point, cut rather than rounded. */
function grouped(decimal: string): string {
  const [whole = "0", fraction = ""] = decimal.split(".");
  const cut = fraction.slice(0, 2);
  return `${BigInt(whole).toLocaleString("en-US")}${/[1-9]/.test(cut) ? `.${cut}` : ""}`;
}
