import { microUsd } from "../lib/money/amounts";
import { TOKENS, type Symbol } from "../wallets/tokens";
import type { Command } from "./commands";

/** A command in the units of the chain. Pure; never floating point. */

/** Micro-USD per whole token, from live price feeds. */
export type Prices = { from: bigint; to: bigint | null };

export type Sum = {
  /** In `fromToken`'s smallest unit; rounded down. */
  amount: bigint;
  /** Its value in micro-USD. */
  value: bigint;
};

/** Whether the bought token's price is needed, because the author named its amount. */
export function countsBought({ unit, fromToken, toToken }: Command): boolean {
  return unit !== fromToken && unit === toToken;
}

/** @returns The given amount, or `null` if it has more digits than its token, or is less than one unit. */
export function sumOf(command: Command, prices: Prices): Sum | null {
  const one = 10n ** BigInt(TOKENS[command.fromToken].decimals);
  const amount = given(command, prices, one);
  if (amount === null || amount <= 0n) return null;
  return { amount, value: (amount * prices.from) / one };
}

function given(command: Command, prices: Prices, one: bigint): bigint | null {
  const { amount, unit, fromToken } = command;
  if (unit === fromToken) return unitsOf(amount, fromToken);
  if (unit === "USD") return hasDecimals(amount, 6) ? (microUsd(amount) * one) / prices.from : null;
  const bought = unitsOf(amount, unit);
  if (bought === null || prices.to === null) return null;
  return (bought * prices.to * one) / 10n ** BigInt(TOKENS[unit].decimals) / prices.from;
}

/** A decimal of whole tokens in the token's smallest unit; `null` if it has more decimals than that. */
export function unitsOf(decimal: string, token: Symbol): bigint | null {
  const { decimals } = TOKENS[token];
  if (!hasDecimals(decimal, decimals)) return null;
  const [whole = "", fraction = ""] = decimal.split(".");
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}

function hasDecimals(decimal: string, most: number): boolean {
  return (decimal.split(".")[1] ?? "").length <= most;
}
