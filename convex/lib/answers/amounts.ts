/** Powers of ten, as models write them. */
const MAGNITUDES: Readonly<Record<string, number>> = {
  "": 0,
  "%": 0,
  k: 3,
  thousand: 3,
  m: 6,
  mn: 6,
  million: 6,
  b: 9,
  bn: 9,
  billion: 9,
  t: 12,
  tn: 12,
  trillion: 12,
};

const FIGURE =
  /^([+-]?(?:[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?|\d+(?:\.\d*)?|\.\d+))(?:e([+-]?\d{1,3}))? ?(%|[a-z]{1,12})?$/i;

/**
 * The number in a text as English writes it: `$14.5M`, `1,234.50`, `12 %`, `USD 2 billion`.
 * @returns `undefined` for everything else: other units, ranges, words, and a figure such as `1,234M`, whose comma may
 * separate thousands or decimals.
 */
export function amountIn(text: string): number | undefined {
  const bare = text
    .trim()
    .replace(/[\u00A0\u2009\u202F]/g, " ")
    .replace(/^[~≈] ?/, "")
    .replace(/^\u2212/, "-")
    .replace(/^([+-]?)(?:US ?\$|\$|USD) ?/i, "$1")
    .replace(/ ?(?:\$|USD|US dollars|dollars)$/i, "");
  const [, figure, exponent, unit = ""] = FIGURE.exec(bare) ?? [];
  const magnitude = MAGNITUDES[unit.toLowerCase()];
  if (figure === undefined || magnitude === undefined) return undefined;
  if (magnitude > 0 && (exponent !== undefined || /^[+-]?\d{1,3},\d{3}$/.test(figure))) return undefined;
  // Shifted as text: multiplying would add the rounding of binary fractions.
  const amount = Number(`${figure.replaceAll(",", "")}e${exponent ?? magnitude}`);
  return Number.isFinite(amount) ? amount : undefined;
}
