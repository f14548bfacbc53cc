/** The supported languages, and how each writes figures, rounded to what a reader needs. Pure. */

export const LOCALES = ["en", "de", "es", "fr", "pt", "zh", "ja"] as const;
export type Locale = (typeof LOCALES)[number];

/**
 * How each writes figures: its marks, money, shares, points, ranks and quotations (`#` is the placeholder), and its
 * names for powers of ten, largest first. An underscore is a non-breaking space.
 */
export const SCRIPTS: Readonly<Record<Locale, ReturnType<typeof script>>> = {
  en: script(". $# #% #_pp # “#” 12:T 9:B 6:M"),
  de: script(", #_$ #_% #_Prozentpunkte # „#“ 12:_Bio. 9:_Mrd. 6:_Mio."),
  es: script(", #_$ #_% #_p._p. # «#» 12:_billones 6:_millones"),
  fr: script(", #_$ #_% #_pt # «_#_» 9:_Md 6:_M"),
  pt: script(", US$_# #% #_p.p. # “#” 12:_tri 9:_bi 6:_mi"),
  zh: script(". #美元 #% #个百分点 第 “#” 12:万亿 8:亿 4:万"),
  ja: script(". #ドル #% #ポイント 第 「#」 12:兆 8:億 4:万"),
};

function script(forms: string) {
  const [mark, money = "", percent = "", points = "", place = "", quote = "", ...named] = forms
    .replaceAll("_", "\u00A0")
    .split(" ");
  const large = named.map((one) => ({ power: Number.parseInt(one), name: one.replace(/^\d+:/, "") }));
  const point: "." | "," = mark === "," ? "," : ".";
  return { point, money, percent, points, place, quote, large };
}

/** Common words by which a text's language is recognised. */
const COMMON = Object.entries({
  en: "the|and|of|is|are|has|at|with|to|its|over|in|on|a|by|for|from|as|no|do|up|while",
  de: "der|die|das|und|ist|bei|mit|auf|den|im|von|liegt",
  es: "el|la|los|las|de|del|y|es|con|en|una?|por|se|que|su|más",
  fr: "le|la|les|de|des|du|et|est|avec|une?|dans|au|à|sur|en",
  pt: "o|a|os|as|de|d[oa]s?|e|é|com|em|uma?|n[oa]s?|está|para",
}).map(([locale, list]) => ({ locale, pattern: words(list) }));

/** The language of a text, by its script and its commonest words; English if nothing decides. */
export function localeOf(text: string): Locale {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return "ja";
  if (/\p{Script=Han}/u.test(text)) return "zh";
  const counts = COMMON.map(({ locale, pattern }) => ({ locale, count: text.match(pattern)?.length ?? 0 }));
  const most = counts.reduce((first, one) => (one.count > first.count ? one : first));
  return LOCALES.find((locale) => locale === most.locale) ?? "en";
}

/** A pattern that finds these words whole; in scripts without spaces, anywhere. */
export function words(list: string): RegExp {
  return new RegExp(`(?<!\\p{Script=Latin})(?:${list})(?!\\p{Script=Latin})`, "giu");
}

/** The units in which a value may be shown. */
export type DisplayUnit =
  | ("USD" | "percent" | "bps" | "coins" | "gwei" | "count" | "ratio" | "text")
  | ("points" | "times" | "place");

/** `large`: millions and more, three digits of them. */
type Rounded = DisplayUnit | "large";

/** The sizes at which a unit gets fewer than two decimals, and how many. */
const COARSE: Partial<Record<Rounded, readonly [from: number, places: number]>> = {
  ...{ USD: [1_000, 0], percent: [10, 1], points: [10, 1], times: [10, 1], coins: [100, 0], large: [100, 0] },
};
/** From here on powers of ten have names; thousands are written out in every script. */
const LARGE = 1e6;

/** @param sign Whether to show a plus sign for a rise, or no sign at all. @param ticker For coins, which one. */
export function amountIn(
  locale: Locale,
  value: number,
  unit: DisplayUnit,
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

export function numberIn(locale: Locale, size: number, rounding: Intl.NumberFormatOptions): string {
  const key = locale + JSON.stringify(rounding);
  const form = FORMS.get(key) ?? new Intl.NumberFormat(locale, { useGrouping: "always", ...rounding });
  FORMS.set(key, form);
  return form.format(size);
}
