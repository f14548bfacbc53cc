/** Numbers as people write them. Pure. */

const PLAIN = String.raw`(?:0|[1-9]\d{0,11})(?:\.\d{1,8})?`;
const GROUPED = String.raw`[1-9]\d{0,2}(?:,\d{3})+(?:\.\d{1,8})?`;
const MULTIPLES: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  tausend: 1e3,
  m: 1e6,
  mn: 1e6,
  mio: 1e6,
  million: 1e6,
  millions: 1e6,
  millionen: 1e6,
  b: 1e9,
  bn: 1e9,
  billion: 1e9,
};

/** A number with a multiple, for use in a pattern: two groups, `digits` and `multiple`. */
export const NUMBER = String.raw`(?<digits>${GROUPED}|${PLAIN})(?:\s?(?<multiple>${Object.keys(MULTIPLES).toSorted().toReversed().join("|")}))?(?![\w.,])`;

/** The number that `NUMBER` found. */
export function numberOf(digits: string, multiple: string | undefined): number {
  const value = Number(digits.replaceAll(",", ""));
  // Whole powers of ten: the product is rounded back to the digits that were written.
  return Number((value * (MULTIPLES[multiple ?? ""] ?? 1)).toPrecision(15));
}

/**
 * Whether a text has a number that means different amounts in different countries: `100.000`, `2,5`, `1.234,5`. `0.050` is
 * none: nobody groups from a leading zero.
 */
export function hasAmbiguousNumber(text: string): boolean {
  return (text.match(/\d[\d.,]*\d/g) ?? []).some(
    (one) => /^[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?$/.test(one) || (one.includes(",") && !isGrouped(one)),
  );
}

const WHOLE_GROUPED = new RegExp(`^${GROUPED}$`);

function isGrouped(number: string): boolean {
  return WHOLE_GROUPED.test(number) && !number.startsWith("0");
}

/** What stands behind the number of a percentage. */
export const PERCENT_SIGN = "%|percent|per cent|pct|prozent|pour ?cent|por ?cien?to|per ?cento";

const WORDS = [
  "one",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
  "eleven",
  "twelve",
];
const SPELLED = new RegExp(
  String.raw`(?<![\w.,-])(${WORDS.join("|")})(?= (?:%|percent|per cent|pct|hours?|days?|weeks?|thousand|million|billion)(?!\w))`,
  "g",
);

/** `five percent` as `5 percent`, `half a percent` as `0.5 percent`. Longer numbers stay in words, which nothing here reads. */
export function spelledOut(text: string): string {
  return text
    .replaceAll(/(?<![\w.,-])half (?:a |an )?(?=(?:%|percent|per cent|pct)(?!\w))/g, "0.5 ")
    .replaceAll(SPELLED, (word) => String(WORDS.indexOf(word) + 1));
}
