/** The numbers of a text in any language, each with its possible values and the unit after it. Pure. */

export type Quantity = {
  /** As it is written. */
  words: string;
  /**
   * Its possible values: `100.000` is a hundred in some languages and a hundred thousand in others. Empty if it is not
   * an amount.
   */
  values: readonly number[];
  sign: -1 | 0 | 1;
  /** `foreign`: another currency than USD. */
  unit: "percent" | "hours" | "usd" | "foreign" | null;
};

/** Digits of other scripts, by their zero. */
const ZEROS = [0x06_60, 0x06_f0, 0x09_66, 0x09_e6, 0x0e_50];

/** A text with its digits and signs as they are written here; `null` for one with numbers that have no place value: ½, ², 十. */
export function plainDigits(text: string): string | null {
  if (/\p{No}/u.test(text)) return null;
  const plain = Array.from(text.normalize("NFKC"), (char) => {
    const code = char.codePointAt(0) ?? 0;
    const zero = ZEROS.find((one) => code >= one && code <= one + 9);
    return zero === undefined ? char : String(code - zero);
  }).join("");
  const signs = plain.replaceAll("٪", "%").replaceAll("٫", ".").replaceAll("٬", ",").replaceAll("’", "'");
  return /[^\P{Nd}0-9]/u.test(signs) ? null : signs.replace(/[\u2012-\u2015\u2212]/gu, "-");
}

/** Words after a number that multiply it, in the languages that have such words. */
const SCALES: readonly (readonly [scale: number, words: string])[] = [
  [1e9, "bn?(?!\\p{L})|billion(?!\\p{L})|mrd|млрд|mil milh[õo]es|mil millones|milliard\\p{L}*"],
  [1e8, "億|亿|억"],
  [1e7, "crores?"],
  [
    1e6,
    "m(?!\\p{L})|mn(?!\\p{L})|mio|mln|млн|million\\p{L}*|mill[oó]n(?:es)?|milion\\p{L}*|milh\\p{L}*|milyon|милли\\p{L}*|百万",
  ],
  [1e5, "lakhs?"],
  [1e4, "万|萬|만"],
  [1e3, "k(?!\\p{L})|thousand|tausend|tsd|mil(?!\\p{L})|mila|mille(?!\\p{L})|тыс\\p{L}*|bin(?!\\p{L})|千|천"],
];

/** Units of time, with their hours and names. */
const SPANS: readonly (readonly [hours: number, words: string])[] = [
  [
    1,
    "h(?!\\p{L})|hrs?(?!\\p{L})|hours?|std|stunden?|heures?|horas?|or[ae](?!\\p{L})|час\\p{L}*|ч(?!\\p{L})|saat\\p{L}*|[个個]?小[时時]|時間|시간",
  ],
  [
    24,
    "d(?!\\p{L})|days?|tag(?:en?)?(?!\\p{L})|jours?|d[ií]as?|giorn[oi]|дн\\p{L}*|день|сут\\p{L}*|gün\\p{L}*|dag\\p{L}*|天|日|일",
  ],
  [168, "w(?!\\p{L})|weeks?|wochen?|semaines?|semanas?|settiman[ae]|недел\\p{L}*|hafta\\p{L}*|周|週|주"],
];
/**
 * A unit without a number: “in an hour”, “за час”. A plural, or a unit after a number in words, counts as one with a
 * number.
 */
const ALONE: readonly (readonly [hours: number, words: string])[] = [
  [1, "hour|hourly|stunde|heure|hora|ora|час|saat(?:te)?|小[时時]|時間|시간"],
  [24, "day|tag|jour|d[ií]a|giorno|день|сутки|gün(?:de)?|dag|天|日|하루"],
  [168, "week|woche|semaine|semana|settimana|неделю|hafta(?:da)?|周|週|일주일"],
];
const COUNTED = "[二两兩三四五六七八九十半数数几]";

const PERCENT =
  "%|per ?cent|pct|pour ?cent|por ?cien(?:to)?|por ?cento|per ?cento|prozent|процент\\p{L}*|procent\\p{L}*|퍼센트|프로|パーセント";
const DOLLARS =
  "\\$|usd[tc]?(?!\\p{L})|us[- ]?dollars?|dollar\\p{L}*|d[oó]lar\\p{L}*|долл\\p{L}*|бакс\\p{L}*|bucks|美元|美金|ドル|달러";
const FOREIGN =
  "[€£¥₽₹₩₺]|(?:eur|gbp|jpy|chf|cad|aud|inr|krw|cny|rmb|brl|try|tl)(?!\\p{L})|euros?|pounds?|pfund|yen|franken|francs?|руб\\p{L}*|евро|円|元|원|lira\\p{L}*|reais";

const SPACE = "[ \\u00a0\\u202f-]?";
const either = (pairs: readonly (readonly [number, string])[]) => pairs.map(([, words]) => words).join("|");
const DIGITS =
  "\\d{1,3}(?:[ \\u00a0\\u202f'_]\\d{3})+(?:[.,]\\d+)?(?!\\d)|\\d+(?:[.,]\\d+)*|(?<!\\d)[.,]\\d+";
const QUANTITY = new RegExp(
  `(?<sign>(?<![\\p{L}\\d.,])[-+] ?)?(?<before>%|百分之|yüzde |[\\p{L}]{0,2}\\p{Sc})? ?(?<digits>${DIGITS})(?:${SPACE}(?<scale>${either(SCALES)})\\.?)?(?:${SPACE}(?:(?<percent>${PERCENT})|(?<span>${either(SPANS)})|(?<usd>${DOLLARS})|(?<foreign>${FOREIGN})))?`,
  "giu",
);

/** @param text As `plainDigits` gives it. */
export function quantitiesIn(text: string): Quantity[] {
  return Array.from(text.matchAll(QUANTITY), ({ 0: words, groups = {} }): Quantity => {
    const { sign, before = "", digits = "", scale, percent, span, usd, foreign } = groups;
    const factor = scaleOf(SCALES, scale) * scaleOf(SPANS, span);
    const isPercent = percent !== undefined || /^(?:%|百|y)/i.test(before);
    // `A$` and `HK$` are other dollars.
    const isForeign = foreign !== undefined || (!isPercent && before !== "" && !/^(?:us)?\$$/i.test(before));
    return {
      words: words.trim(),
      values: amounts(digits).map((value) => Number((value * factor).toPrecision(15))),
      sign: sign === undefined ? 0 : sign.startsWith("-") ? -1 : 1,
      unit: isForeign
        ? "foreign"
        : isPercent
          ? "percent"
          : span !== undefined
            ? "hours"
            : usd !== undefined || before !== ""
              ? "usd"
              : null,
    };
  });
}

/** The hours of a span that words name without a number; `null` if they name none, or several. */
export function spanAlone(text: string): number | null {
  const named = ALONE.filter(([, words]) =>
    new RegExp(
      `(?<!${COUNTED}|[\\p{Script=Latin}\\p{Script=Cyrillic}\\d])(?:${words})(?![\\p{Script=Latin}\\p{Script=Cyrillic}])`,
      "iu",
    ).test(text),
  );
  return named.length === 1 ? (named[0]?.[0] ?? null) : null;
}

function scaleOf(pairs: readonly (readonly [number, string])[], found: string | undefined): number {
  if (found === undefined) return 1;
  return pairs.find(([, words]) => new RegExp(`^(?:${words})$`, "iu").test(found))?.[0] ?? NaN;
}

const GROUPED = {
  ".": /^\d{1,3}(?:\.\d{3})+$/,
  ",": /^\d{1,2}(?:,\d{2})*,\d{3}$|^\d{1,3}(?:,\d{3})+$/,
} as const;

/** The possible values of digits with points and commas. */
function amounts(written: string): number[] {
  const digits = written.replace(/[ \u00a0\u202f'_]/gu, "");
  const [point, comma] = [digits.lastIndexOf("."), digits.lastIndexOf(",")];
  const mark = point > comma ? "." : ",";
  const other = mark === "." ? "," : ".";
  const at = Math.max(point, comma);
  if (at === -1) return [Number(digits)];
  const [whole, rest] = [digits.slice(0, at) || "0", digits.slice(at + 1)];
  const joined = (text: string) => Number(text.replace(/[.,]/g, ""));
  if (whole.includes(mark)) return GROUPED[mark].test(digits) ? [joined(digits)] : [];
  if (whole.includes(other)) {
    return GROUPED[other].test(whole) ? [Number(`${joined(whole)}.${rest}`)] : [];
  }
  const decimal = Number(`${whole}.${rest}`);
  return GROUPED[mark].test(digits) && !whole.startsWith("0") ? [decimal, joined(digits)] : [decimal];
}
