import { MAGNITUDES } from "../money/magnitudes";

/**
 * Amounts as people and models write them: `$14.5M`, `1.2bn`, `3,4 Mio`, `1,234.50`, `1.234.567,89`, `12 %`. A text
 * that can be read in two ways is not an amount.
 */

/** These words come with a decimal comma. */
const WITH_DECIMAL_COMMA = new Set(["tsd", "mio", "millionen", "mrd", "milliarde", "milliarden"]);

/**
 * The number in a text that may have a sign, US dollars, a percent sign, separators and a magnitude around it.
 * @returns `undefined` for everything else: other units, ranges, words, and a figure such as `1,234M`, whose comma may
 * separate thousands or decimals.
 */
export function amountIn(text: string): number | undefined {
  const plain = text
    .trim()
    .replace(/[\u00A0\u2009\u202F]/g, " ")
    .replace(/^[~≈] ?/, "")
    .replace(/^\u2212/, "-");
  const sign = /^[+-]/.exec(plain)?.[0] ?? "";
  const bare = withoutDollars(plain.slice(sign.length).trimStart());
  const [, figure, exponent, unit = ""] =
    /^([\d.,' ]+)(?:[eE]([+-]?\d{1,3}))?(%|[a-zA-Z]{1,12})?$/.exec(bare) ?? [];
  if (figure === undefined) return undefined;
  const word = unit.toLowerCase();
  const magnitude = word === "" || word === "%" ? 0 : MAGNITUDES[word];
  if (magnitude === undefined || (exponent !== undefined && magnitude > 0)) return undefined;
  const digits = decimalOf(figure.trimEnd(), word);
  if (digits === undefined) return undefined;
  // Shifted as text: multiplying would add the rounding of binary fractions.
  const amount = Number(`${sign}${digits}e${exponent ?? magnitude}`);
  return Number.isFinite(amount) ? amount : undefined;
}

/** The figure as `1234.5`. */
function decimalOf(figure: string, word: string): string | undefined {
  const scaled = word !== "" && word !== "%";
  if (/^(?:\d+\.?|\d*\.\d+)$/.test(figure)) {
    const mayBeThousands = WITH_DECIMAL_COMMA.has(word) && /^[1-9]\d{0,2}\.\d{3}$/.test(figure);
    return mayBeThousands ? undefined : figure;
  }
  if (/^\d{1,3}(?:[' ]\d{3})+(?:[.,]\d+)?$/.test(figure)) {
    return figure.replace(/[' ]/g, "").replace(",", ".");
  }
  if (/^\d{1,3}(?:,\d{3})+\.\d*$/.test(figure) || /^\d{1,3}(?:,\d{3}){2,}$/.test(figure)) {
    return figure.replaceAll(",", "");
  }
  if (/^\d{1,3}(?:\.\d{3})+,\d+$/.test(figure) || /^\d{1,3}(?:\.\d{3}){2,}$/.test(figure)) {
    return figure.replaceAll(".", "").replace(",", ".");
  }
  if (/^[1-9]\d{0,2},\d{3}$/.test(figure)) {
    if (WITH_DECIMAL_COMMA.has(word)) return figure.replace(",", ".");
    return scaled ? undefined : figure.replace(",", "");
  }
  return /^\d+,\d+$/.test(figure) ? figure.replace(",", ".") : undefined;
}

/** `$5`, `US$ 5`, `USD 5`, `5 USD`, `5 dollars` are 5. */
function withoutDollars(text: string): string {
  return text
    .replace(/^(?:US ?\$|\$|USD)/i, "")
    .replace(/(?:\$|USD|US dollars|dollars)$/i, "")
    .trim();
}
