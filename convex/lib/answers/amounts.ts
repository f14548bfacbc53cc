/** Amounts as models write them in English: `$14.5M`, `1.2bn`, `1,234.50`, `12 %`. */

/** Powers of ten. A billion is 10⁹. */
const POWERS: Readonly<Record<string, number>> = {
  "%": 0,
  k: 3,
  thousand: 3,
  m: 6,
  mn: 6,
  mln: 6,
  million: 6,
  b: 9,
  bn: 9,
  bln: 9,
  billion: 9,
  t: 12,
  tn: 12,
  trn: 12,
  trillion: 12,
};

const AMOUNT = new RegExp(
  [
    String.raw`^[~≈]? ?(?<sign>[+-]?) ?(?:us ?\$|\$|usd)? ?`,
    String.raw`(?<figure>[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:e(?<exponent>[+-]?\d{1,3}))?`,
    String.raw` ?(?<unit>${Object.keys(POWERS).join("|")})? ?(?:\$|usd|us dollars|dollars)?$`,
  ].join(""),
);

/**
 * The number in a text that may have a sign, US dollars, a percent sign, separators and a magnitude around it.
 * @returns `undefined` for everything else: other units, ranges, words, decimal commas.
 */
export function amountIn(text: string): number | undefined {
  const plain = text
    .trim()
    .toLowerCase()
    .replace(/[\u00A0\u2009\u202F]/g, " ")
    .replace(/\u2212/g, "-");
  const { sign = "", figure, exponent, unit } = AMOUNT.exec(plain)?.groups ?? {};
  if (figure === undefined || (exponent !== undefined && unit !== undefined)) return undefined;
  // Shifted as text: multiplying would add the rounding of binary fractions.
  const amount = Number(`${sign}${figure.replaceAll(",", "")}e${exponent ?? POWERS[unit ?? "%"] ?? 0}`);
  return Number.isFinite(amount) ? amount : undefined;
}
