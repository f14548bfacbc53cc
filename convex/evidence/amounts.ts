import { groupedDigits, withoutTrailing } from "../lib/text";
import type { Unit } from "./kinds";
import { SCRIPTS, type Locale } from "./languages";

/** A value as a locale writes it, rounded to what a reader needs. Pure. */

const NB = "\u00A0";
const MINUS = "−";

export type Shown = Unit | "points" | "times" | "place";

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
  const script = SCRIPTS[locale];
  const size = Math.abs(value);
  const lead = sign === "none" || value === 0 ? "" : value < 0 ? MINUS : sign === "both" ? "+" : "";
  const number = (of: number, places: number) => numberIn(locale, of, places);
  const said = (form: string, text: string) => lead + form.replace("#", () => text);
  switch (unit) {
    case "USD": {
      // Thousands are written out, in every script.
      const named = size < 1e6 ? undefined : script.large.find(({ power }) => size >= 10 ** power);
      if (named !== undefined) {
        const part = size / 10 ** named.power;
        return said(script.money, number(part, Math.max(0, 2 - magnitude(part))) + named.name);
      }
      const places = placesOf(size, size >= 1_000 ? 0 : size >= 1 ? 2 : null);
      return said(script.money, numberIn(locale, size, places, true));
    }
    case "percent":
      return said(script.percent, number(size, percentPlaces(size)));
    case "points":
      return said(script.points, number(size, percentPlaces(size)));
    case "bps":
      return said(`#${NB}bps`, number(size, placesOf(size, 2)));
    case "gwei":
      return said(`#${NB}gwei`, number(size, placesOf(size, null)));
    case "times":
      return said("#×", number(size, placesOf(size, size >= 10 ? 1 : size >= 0.1 ? 2 : null)));
    case "coins":
      return said(ticker === "" ? "#" : `#${NB}${ticker}`, number(size, size >= 100 ? 0 : placesOf(size, 2)));
    case "place":
      return said(
        locale === "zh" || locale === "ja" ? "第#" : "#",
        locale === "zh" || locale === "ja" ? number(size, 0) : `#${number(size, 0)}`,
      );
    case "ratio":
      return said("#", number(size, placesOf(size, null)));
    case "count":
    case "text":
      return said("#", number(size, Number.isInteger(size) ? 0 : 2));
  }
}

function percentPlaces(size: number): number {
  return placesOf(size, size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : null);
}

/** As many places as told, or as make four digits that count. */
function placesOf(size: number, places: number | null): number {
  if (places !== null) return places;
  return size === 0 ? 0 : Math.min(18, Math.max(2, 3 - magnitude(size)));
}

function magnitude(size: number): number {
  return size === 0 ? 0 : Math.floor(Math.log10(size));
}

/** @param isMoney Cents are two places. */
function numberIn(locale: Locale, size: number, places: number, isMoney = false): string {
  const { point, group } = SCRIPTS[locale];
  const [whole = "0", part = ""] = size.toFixed(places).split(".");
  const grouped = groupedDigits(whole).replaceAll(",", group);
  const rest = isMoney && places === 2 && part !== "00" ? part : withoutTrailing(part, "0");
  return rest === "" ? grouped : `${grouped}${point}${rest}`;
}
