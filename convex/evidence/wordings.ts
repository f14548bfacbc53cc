import { numberIn } from "../lib/text/locales";
import { namesIn } from "../lib/records/records";
import { KINDS, unitOf, type Unit } from "./kinds";
import type { Fact, Kind } from "./tables";

/** The wording of facts, for writers, figures and readers alike. Pure. */

export type Wording = {
  /** In full, as in `BTC price change over 24 hours`. */
  label: string;
  unit: Unit;
  tag: string;
  family: string;
  /** Over how many hours it is measured; `null` for a value at a moment. */
  hours: number | null;
  isSigned: boolean;
  /** A number in its own label, as prose repeats it: "of the 50 largest", "within 1 %". */
  aside: { value: number; unit: "none" | "percent" } | null;
};

const WORDINGS = new Map<Kind, Wording>(namesIn(KINDS).map((kind) => [kind, wordingIn(kind)]));

function wordingIn(kind: Kind): Wording {
  const [label = "", measured = "", tag = "", family = ""] = KINDS[kind].split(" | ");
  const [, hours] = / (\d+)h/.exec(measured) ?? [];
  const [, sort, number] = / (of|near)(\d+)/.exec(measured) ?? [];
  return {
    ...{ label, tag, family, isSigned: measured.includes("±") },
    unit: unitOf(kind),
    hours: hours === undefined ? null : Number(hours),
    aside: number === undefined ? null : { value: Number(number), unit: sort === "of" ? "none" : "percent" },
  };
}

/** How a kind stands in prose. */
export function wordingOf(kind: Kind): Wording {
  return WORDINGS.get(kind) ?? wordingIn(kind);
}

/** A source's figures, kind by kind, as facts; `null` for what it does not say. */
export function factsOf(
  by: Pick<Fact, "subject" | "observedAt" | "source" | "url">,
  values: Partial<Record<Kind, Fact["value"] | null>>,
): Fact[] {
  return namesIn(values).flatMap((kind) => {
    const value = values[kind] ?? null;
    return value === null ? [] : [{ ...by, kind, value, unit: unitOf(kind) }];
  });
}

/** A fact in words: `BTC price: 97,250.50 USD`. */
export function sayingOf(fact: Pick<Fact, "subject" | "kind" | "value" | "unit">): string {
  const { subject, kind, value, unit } = fact;
  const amount = typeof value === "string" ? `“${value}”` : amountOf(value, unit);
  const whose = subject === "market" ? "Market" : subject;
  return `${whose} ${wordingOf(kind).label}: ${amount}`;
}

/** The significant digits of a small number, and what follows it. */
const SAID: Partial<Record<Unit, readonly [digits: number, behind: string]>> = {
  ...{ USD: [6, " USD"], percent: [4, " %"], bps: [3, " bps"], gwei: [4, " gwei"] },
};

/** A number with its unit, with as many decimals as matter: two from 100 up, with thousands separators. */
export function amountOf(value: number, unit: Fact["unit"]): string {
  const [digits, behind] = SAID[unit] ?? [6, ""];
  const size = Math.abs(value);
  const places = size >= 1_000_000 || (size >= 100 && Number.isInteger(value)) ? 0 : 2;
  const rounding =
    size < 100
      ? { maximumSignificantDigits: digits }
      : { minimumFractionDigits: places, maximumFractionDigits: places };
  return (unit === "percent" && value > 0 ? "+" : "") + numberIn("en", value, rounding) + behind;
}
