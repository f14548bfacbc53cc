import { trimTrailing } from "../lib/text/strings";
import { findToken, WALLET_TOKENS, type Symbol } from "./tokens";

/** Sizes of orders as people say them: `25`, `0.5 ETH`, `$20`, `50%`, `half`, `all`. Pure. */

/** `worth`: a decimal of whole tokens or of USD. `share`: a part of the balance, in basis points. */
export type Size = { kind: "worth"; amount: string; unit: Symbol | "USD" } | { kind: "share"; bps: number };

export const DOLLARS: ReadonlySet<string> = new Set(["$", "usd", "dollar", "dollars", "buck", "bucks"]);
/** Words for a part of the balance, in basis points. */
export const SHARES: ReadonlyMap<string, number> = new Map([
  ["all", 10_000],
  ["everything", 10_000],
  ["half", 5_000],
]);

const SHARE = /^(\d{1,3}(?:\.\d{1,2})?)\s*(?:%|percent)$/;
const WORTH = /^(\$?)\s*(\d+(?:\.\d+)?|\.\d+)\s*(\$|[a-z]*)$/;

const HOW =
  'must be the amount as people say it: "25" or "0.5" whole tokens, "$20", "50%", "half" or "all", with a point before decimals and no commas';

/**
 * Reads a size of an order that moves `token`.
 * @returns What is wrong with it, completing "size …", for a text that is none.
 */
export function parseSize(text: string, token: Symbol): Size | string {
  const words = text.trim().toLowerCase();
  const bps = SHARES.get(words) ?? Math.round(Number(SHARE.exec(words)?.[1] ?? "0") * 100);
  if (bps > 0) return bps <= 10_000 ? { kind: "share", bps } : "must be at most 100%";
  const [, sign, number = "", name = ""] = WORTH.exec(words) ?? [];
  const amount = toCanonicalAmount(number);
  const isDollars = sign === "$" || DOLLARS.has(name);
  const unit = isDollars ? "USD" : name === "" ? token : findToken(name);
  if (amount === null || unit === null || (sign === "$" && name !== "" && !DOLLARS.has(name))) return HOW;
  const decimals = unit === "USD" ? 6 : WALLET_TOKENS[unit].decimals;
  if (!hasDecimals(amount, decimals)) return `must have at most ${decimals} decimals`;
  return { kind: "worth", amount, unit };
}

/** The one spelling of a size, by which orders are compared. */
export function formatSize(size: Size, token: Symbol): string {
  if (size.kind === "share") return size.bps === 10_000 ? "all" : `${size.bps / 100}%`;
  const { amount, unit } = size;
  if (unit === "USD") return `$${amount}`;
  return unit === token ? amount : `${amount} ${unit}`;
}

/** A decimal in its canonical form, without idle zeros; `null` for zero and for anything but a plain decimal. */
export function toCanonicalAmount(text: string): string | null {
  const parts = /^(\d{0,78})(?:\.(\d{0,78}))?$/.exec(text);
  if (parts === null) return null;
  const whole = (parts[1] ?? "").replace(/^0+/, "");
  const fraction = trimTrailing(parts[2] ?? "", "0");
  if (whole === "" && fraction === "") return null;
  return fraction === "" ? whole : `${whole || "0"}.${fraction}`;
}

/** A decimal of whole tokens, with no more decimals than the token has, in the smallest unit. */
export function toUnits(decimal: string, token: Symbol): bigint {
  const [whole = "", fraction = ""] = decimal.split(".");
  return BigInt(whole + fraction.padEnd(WALLET_TOKENS[token].decimals, "0"));
}

function hasDecimals(decimal: string, most: number): boolean {
  return (decimal.split(".")[1] ?? "").length <= most;
}
