import * as z from "zod/mini";
import { formatUnits, parseUnits } from "../../convex/lib/money/amounts";
import { TOKENS } from "../../convex/wallets/tokens";

/** Figures for people in a chat. */

// Made once: making one takes longer than formatting fifty figures.
const twoDigits = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const fourSignificant = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 2 });

/** A price or value in USD: `$97,250.50`; small ones with four significant digits, `$0.00001234`. */
export function usd(value: number): string {
  const amount = Math.abs(value);
  const digits = amount < 1 && amount !== 0 ? fourSignificant : twoDigits;
  return `${value < 0 ? "-" : ""}$${digits.format(amount)}`;
}

/** A large sum in USD: `$1.93T`. */
export function largeUsd(value: number): string {
  return `$${compact.format(value)}`;
}

/** A signed change in percent: `+1.42%`. */
export function percent(value: number): string {
  return `${value > 0 ? "+" : ""}${twoDigits.format(value)}%`;
}

/** ISO 8601 or epoch milliseconds as `2026-01-05 09:30 UTC`. */
export function time(at: string | number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Digits in a token's smallest unit as `25 USDC`; for a token with unknown decimals, only the digits. */
export function tokenAmount(units: string, symbol: string): string {
  const token = Object.entries(TOKENS).find(([name]) => name === symbol)?.[1];
  const amount = parseUnits(units);
  if (token === undefined || amount === null) return `${units} smallest units of ${symbol}`;
  return `${formatUnits(amount, token.decimals)} ${symbol}`;
}

/** Joins lines; `null` is left out. */
export function lines(...parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null).join("\n");
}

export const outlook = z.pipe(
  z.string(),
  z.transform((word: string) => OUTLOOK_MARKS[word] ?? word),
);

const OUTLOOK_MARKS: Record<string, string> = {
  bullish: "🟢 bullish",
  bearish: "🔴 bearish",
  neutral: "🟡 neutral",
};
