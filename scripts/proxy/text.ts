import { TOKENS } from "../../convex/wallets/tokens";
import type { Body } from "./service";

/**
 * An answer as text for a chat: the same facts as its data, field by field, with money, times and amounts as people read
 * them. What only programs need (exact digits) is in the data.
 */

// Made once: making one takes longer than formatting fifty figures.
const twoDigits = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const fourSignificant = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 2 });

/** Fields of these names are amounts in the smallest unit of the token that another field names. */
const UNITS: Readonly<Record<string, string>> = {
  amount: "token",
  sellAmount: "fromToken",
  buyAmount: "toToken",
  minBuyAmount: "toToken",
};

/** The lines of an object, nested ones indented. */
export function textOf(body: Body, indent = ""): string {
  return Object.entries(body)
    .flatMap(([name, value]) => lineOf(name, value, body, indent))
    .join("\n");
}

function lineOf(name: string, value: unknown, within: Body, indent: string): string[] {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return [];
  if (Array.isArray(value)) {
    if (value.every((one) => !isObject(one))) return [`${indent}${wordsOf(name)}: ${value.join(", ")}`];
    const rows = value.map((one: unknown) => `${indent}- ${isObject(one) ? rowOf(one) : String(one)}`);
    return [`${indent}${wordsOf(name)}:`, ...rows];
  }
  if (isObject(value)) return [`${indent}${wordsOf(name)}:`, textOf(value, `${indent}  `)];
  return [`${indent}${wordsOf(name)}: ${valueOf(name, value, within)}`];
}

/** A row of a list, in one line. */
function rowOf(row: Body): string {
  return Object.entries(row)
    .flatMap(([name, value]) => {
      if (value === undefined || value === null) return [];
      if (Array.isArray(value))
        return value.length === 0 ? [] : [`${wordsOf(name)} ${JSON.stringify(value)}`];
      return [`${wordsOf(name)} ${isObject(value) ? `(${rowOf(value)})` : valueOf(name, value, row)}`];
    })
    .join(", ");
}

/** `market cap` for `marketCap`. */
function wordsOf(name: string): string {
  return /^[a-z]+(?:[A-Z][a-z]+)+$/.test(name)
    ? name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    : name;
}

function valueOf(name: string, value: unknown, within: Body): string {
  if (typeof value === "number") return numberOf(name, value, within);
  if (typeof value !== "string") return value === null ? "none" : JSON.stringify(value);
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return timeOf(value);
  if (/^-?\d+(?:\.\d+)?$/.test(value)) return amountOf(name, value, within);
  return value;
}

function numberOf(name: string, value: number, within: Body): string {
  if (/At$/.test(name) && value > 1e11) return timeOf(value);
  if (/percent|change24h|24h_change/i.test(name)) return `${value > 0 ? "+" : ""}${twoDigits.format(value)}%`;
  if (
    /usd|price|marketCap|volume|^(?:entry|tp1|tp2|sl)$/i.test(name) ||
    (name === "amount" && "alertType" in within)
  )
    return usdOf(value);
  return Number.isInteger(value) ? String(value) : fourSignificant.format(value);
}

function usdOf(value: number): string {
  const amount = Math.abs(value);
  const digits = amount >= 1e6 ? compact : amount < 1 && amount !== 0 ? fourSignificant : twoDigits;
  return `${value < 0 ? "-" : ""}$${digits.format(amount)}`;
}

/** ISO 8601 or epoch milliseconds as `2026-01-05 09:30 UTC`. */
function timeOf(at: string | number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Digits of a token, with four significant ones; with its symbol where another field names it. */
function amountOf(name: string, digits: string, within: Body): string {
  const symbol = within[UNITS[name] ?? ""];
  if (typeof symbol !== "string")
    return digits.includes(".") ? fourSignificant.format(Number(digits)) : digits;
  const token = Object.entries(TOKENS).find(([known]) => known === symbol)?.[1];
  if (token === undefined) return `${digits} smallest units of ${symbol}`;
  return `${fourSignificant.format(Number(digits) / 10 ** token.decimals)} ${symbol}`;
}

function isObject(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
