import { formatDollars, formatBigUsd, formatPercent, formatSignedPercent } from "../lib/text/numbers";
import { WALLET_TOKENS } from "../wallets/tokens";

/**
 * An answer as text for a chat: the same facts as its data, field by field, with money, times and amounts as people read
 * them. What only programs need (exact digits) is in the data.
 */

export type Body = Record<string, unknown>;

/** Fields of these names are amounts in the smallest unit of the token that another field names. */
const UNITS: Readonly<Record<string, string>> = {
  amount: "token",
  sellAmount: "fromToken",
  buyAmount: "toToken",
  minBuyAmount: "toToken",
};

/** The lines of an object, nested ones indented. */
export function formatObject(body: Body, indent = ""): string {
  return Object.entries(body)
    .flatMap(([name, value]) => listLines(name, value, body, indent))
    .join("\n");
}

function listLines(name: string, value: unknown, within: Body, indent: string): string[] {
  const label = `${indent}${splitName(name)}:`;
  if (value === undefined) return [];
  if (Array.isArray(value) && value.length === 0) return [`${label} none`];
  if (isObject(value)) return [label, formatObject(value, `${indent}  `)];
  if (!Array.isArray(value)) return [`${label} ${formatValue(name, value, within)}`];
  if (!value.some(isObject)) return [`${label} ${value.join(", ")}`];
  return [
    label,
    ...value.map((one: unknown) => `${indent}- ${isObject(one) ? formatRow(one) : String(one)}`),
  ];
}

/** A row of a list, in one line. */
function formatRow(row: Body): string {
  return Object.entries(row)
    .flatMap(([name, value]) => {
      if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return [];
      if (Array.isArray(value)) return [`${splitName(name)} ${JSON.stringify(value)}`];
      return [
        `${splitName(name)} ${isObject(value) ? `(${formatRow(value)})` : formatValue(name, value, row)}`,
      ];
    })
    .join(", ");
}

/** `market cap` for `marketCap`. */
function splitName(name: string): string {
  return /^[a-z]+(?:[A-Z][a-z]+)+$/.test(name)
    ? name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    : name;
}

function formatValue(name: string, value: unknown, within: Body): string {
  if (typeof value === "number") return formatNumber(name, value, within);
  if (typeof value !== "string") return value === null ? "none" : JSON.stringify(value);
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return formatTime(value);
  return /^-?\d+(?:\.\d+)?$/.test(value) ? formatAmount(name, value, within) : value;
}

/** Figures are written as on the service's own cards and pages. */
function formatNumber(name: string, value: number, within: Body): string {
  if (/At$/.test(name) && value > 1e11) return formatTime(value);
  if (/percent|change24h|24h_change/i.test(name))
    return /change|pnl|afterCosts|expectancy|hold/i.test(name)
      ? formatSignedPercent(value)
      : formatPercent(value, 2);
  if (
    /usd|price|marketCap|volume|^(?:entry|tp1|tp2|sl)$/i.test(name) ||
    (name === "amount" && "alertType" in within)
  )
    return (value < 0 ? "−" : "") + (Math.abs(value) < 1e6 ? formatDollars : formatBigUsd)(Math.abs(value));
  return Number.isInteger(value) ? String(value) : fourDigits(value);
}

/** A formatter of its own, made beforehand, would cost each start of the proxy 15 ms. */
function fourDigits(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 4 });
}

/** ISO 8601 or epoch milliseconds as `2026-01-05 09:30 UTC`. */
function formatTime(at: string | number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Digits of a token, with four significant ones; with its symbol where another field names it. */
function formatAmount(name: string, digits: string, within: Body): string {
  const symbol = within[UNITS[name] ?? ""];
  if (typeof symbol !== "string") return digits.includes(".") ? fourDigits(Number(digits)) : digits;
  const [, token] = Object.entries(WALLET_TOKENS).find(([one]) => one === symbol) ?? [];
  if (token === undefined) return `${digits} smallest units of ${symbol}`;
  return `${fourDigits(Number(digits) / 10 ** token.decimals)} ${symbol}`;
}

export function isObject(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
