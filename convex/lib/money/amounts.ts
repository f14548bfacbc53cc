/** Amounts: strings of digits in a token's smallest unit outside, bigint inside. Never floating point. */

import { AppError } from "../errors";
import { trimTrailing } from "../text/strings";

export const BPS = 10_000n;

/** The largest amount a token can have: uint256. */
const MAX_UINT256 = 2n ** 256n - 1n;

/** An amount in the smallest unit, or `null` if the text is not one: `^[1-9][0-9]*$`, at most 2^256 - 1. */
export function parseUnits(text: string): bigint | null {
  if (!/^[1-9][0-9]{0,77}$/.test(text)) return null;
  const amount = BigInt(text);
  return amount <= MAX_UINT256 ? amount : null;
}

/** An amount in the smallest unit as an exact decimal: 1500000 with 6 decimals is "1.5". */
export function formatUnits(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = trimTrailing(digits.slice(digits.length - decimals), "0");
  return fraction === "" ? whole : `${whole}.${fraction}`;
}

/**
 * The same, rounded down to so many significant digits, for people: 7488321000000000 with 18 decimals and 4 digits is
 * "0.007488". The whole part is never rounded.
 */
export function roundUnits(amount: bigint, decimals: number, digits: number): string {
  const cut = Math.min(decimals, Math.max(0, amount.toString().length - digits));
  const unit = 10n ** BigInt(cut);
  return formatUnits((amount / unit) * unit, decimals);
}

/** A decimal in USD ("99.50") in micro-USD, the unit of limits. */
export function toMicroUsd(decimal: string): bigint {
  const [whole = "0", fraction = ""] = decimal.split(".");
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0").slice(0, 6));
}

/** The same for a user's input. @throws AppError `invalid_request`, naming the field. */
export function parseMicroUsd(field: string, text: string): bigint {
  const amount = text.trim();
  if (!/^\d{1,9}(?:\.\d{1,6})?$/.test(amount))
    throw new AppError("invalid_request", `${field} must be an amount in USD such as 250 or 99.50`);
  return toMicroUsd(amount);
}

/** The value of an amount in micro-USD, rounded down. */
export function computeMicroUsd(
  amount: bigint,
  decimals: number,
  price: bigint,
  priceDecimals: number,
): bigint {
  return (amount * price * 1_000_000n) / 10n ** BigInt(decimals + priceDecimals);
}

/** Micro-USD as a number of USD, for display; sums are made before. */
export function toUsd(micro: bigint): number {
  return micro < 0n ? -toUsd(-micro) : Number(formatUnits(micro, 6));
}
