import type { Unit } from "./kinds";
import { SCRIPTS, type Locale } from "./languages";

/** A value as a locale writes it, rounded to what a reader needs. Pure. */

export type Shown = Unit | "points" | "times" | "place";

/** `large`: millions and more, three digits of them. */
type Rounded = Shown | "large";

/** From which size on a unit has fewer than two places, and how many. */
const COARSE: Partial<Record<Rounded, readonly [from: number, places: number]>> = {
  ...{ USD: [1_000, 0], percent: [10, 1], points: [10, 1], times: [10, 1], coins: [100, 0], large: [100, 0] },
};
/** Thousands are written out, in every script. */
const LARGE = 1e6;

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
  const { money, percent, points, place, large } = SCRIPTS[locale];
  const size = Math.abs(value);
  const named = unit === "USD" && size >= LARGE ? large.find(({ power }) => size >= 10 ** power) : undefined;
  const part = size / 10 ** (named?.power ?? 0);
  const text =
    numberIn(locale, part, roundingOf(part, named === undefined ? unit : "large")) + (named?.name ?? "");
  const lead = sign === "none" || value === 0 ? "" : value < 0 ? "−" : sign === "both" ? "+" : "";
  const own = unit === "bps" || unit === "gwei" ? unit : unit === "coins" ? ticker : "";
  const form = { USD: money, percent, points, times: "#×" }[String(unit)];
  return (
    lead +
    (form ?? (own === "" ? "#" : `#\u00A0${own}`)).replace("#", () => (unit === "place" ? place : "") + text)
  );
}

function roundingOf(size: number, unit: Rounded): Intl.NumberFormatOptions {
  const [from, places] = COARSE[unit] ?? [Infinity, 0];
  if (size > 0 && size < 1) return { maximumSignificantDigits: unit === "USD" ? 4 : 3 };
  if (size >= from) return { maximumFractionDigits: places };
  if (unit === "large") return { maximumSignificantDigits: 3 };
  const cents = { minimumFractionDigits: 2, trailingZeroDisplay: "stripIfInteger" } as const;
  return { maximumFractionDigits: 2, ...(unit === "USD" ? cents : {}) };
}

const FORMS = new Map<string, Intl.NumberFormat>();

function numberIn(locale: Locale, size: number, rounding: Intl.NumberFormatOptions): string {
  const key = locale + JSON.stringify(rounding);
  const form = FORMS.get(key) ?? new Intl.NumberFormat(locale, { useGrouping: "always", ...rounding });
  FORMS.set(key, form);
  return form.format(size);
}
