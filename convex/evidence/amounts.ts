import { groupedDigits, withoutTrailing } from "../lib/text";
import type { Unit } from "./kinds";
import { SCRIPTS, type Locale } from "./languages";

/** A value as a locale writes it, rounded to what a reader needs. Pure. */

export type Shown = Unit | "points" | "times" | "place";

/** From which size on how many places are shown, twice; below, as many as make four digits that count. */
const PLACES: Partial<Record<Shown, readonly [from: number, places: number, then: number, its: number]>> = {
  USD: [1_000, 0, 1, 2],
  percent: [10, 1, 1, 2],
  points: [10, 1, 1, 2],
  coins: [100, 0, 0, 2],
  times: [10, 1, 0.1, 2],
  ...{ bps: [0, 2, 0, 2], count: [0, 2, 0, 2], place: [0, 0, 0, 0] },
};

/**
 * @param sign Whether a rise is shown with its plus sign, or no sign is.
 * @param ticker Of coins, which.
 */
export function amountIn(
  locale: Locale,
  value: number,
  unit: Shown,
  { sign = "minus", ticker = "" }: { sign?: "both" | "minus" | "none"; ticker?: string } = {},
): string {
  const { money, percent, points, large } = SCRIPTS[locale];
  const size = Math.abs(value);
  // Thousands are written out, in every script.
  const named = unit === "USD" && size >= 1e6 ? large.find(({ power }) => size >= 10 ** power) : undefined;
  const part = named === undefined ? size : size / 10 ** named.power;
  const places = named === undefined ? placesOf(size, unit) : Math.max(0, 2 - magnitude(part));
  const cents = unit === "USD" && named === undefined && places === 2;
  const own = unit === "bps" || unit === "gwei" ? unit : unit === "coins" ? ticker : "";
  const place = locale === "zh" || locale === "ja" ? "第" : "#";
  const lead = sign === "none" || value === 0 ? "" : value < 0 ? "−" : sign === "both" ? "+" : "";
  const text = (unit === "place" ? place : "") + numberIn(locale, part, places, cents) + (named?.name ?? "");
  const form =
    { USD: money, percent, points, times: "#×" }[String(unit)] ?? (own === "" ? "#" : `#\u00A0${own}`);
  return lead + form.replace("#", () => text);
}

function placesOf(size: number, unit: Shown): number {
  const [from, places, then, its] = PLACES[unit] ?? [Infinity, 0, Infinity, 0];
  const few = size === 0 ? 0 : Math.min(18, Math.max(2, 3 - magnitude(size)));
  return size >= from ? places : size >= then ? its : few;
}

function magnitude(size: number): number {
  return size === 0 ? 0 : Math.floor(Math.log10(size));
}

/** @param cents Whether both of two places are shown. */
function numberIn(locale: Locale, size: number, places: number, cents: boolean): string {
  const { point, group } = SCRIPTS[locale];
  const [whole = "0", part = ""] = size.toFixed(places).split(".");
  const rest = cents && part !== "00" ? part : withoutTrailing(part, "0");
  return groupedDigits(whole).replaceAll(",", group) + (rest === "" ? "" : point + rest);
}
