import { lazy } from "../../lib/once";
import { LOCALES } from "../../lib/text/locales";
import { escaped } from "../../lib/money/names";
import { plain } from "../../lib/text/sentences";

/** Digits that are not figures: in names, dates and quotations. Pure. */

/** No name is followed by a unit. */
const NO_UNIT =
  "(?![\\w.,]*\\d|\\s*(?:%|percent|bps|USD|\\$|x\\b|×|k\\b|million|billion|thousand|[MBKT]\\b))(?!\\w)";
/** L2, Q3, C98, v4, ERC-20; not an amount written against its currency. */
export const NAMES = new RegExp(
  "https?:\\/\\/\\S+|\\b0x(?=\\d*[a-fA-F])[0-9a-fA-F]{6,}\\b|" +
    "\\b(?:S&P 500|Nasdaq 100|Russell 2000|24\\/7|Nikkei 225|DAX 40|1inch|1INCH|4chan|3Commas)\\b|" +
    "(?:(?<![\\w$€£.-])(?!USD?\\d{2}|EUR|GBP|JPY|BTC|ETH|SOL)(?:v|[A-Z][A-Za-z]{0,4})\\d{1,2}|" +
    "(?<![\\w$€£-])(?:ERC|EIP|BIP|SIP|COVID|BEP|TRC)-\\d{1,5}|" +
    `\\b(?:[Ll]ayer|[Pp]hase|[Tt]ier|[Ww]eb|[Vv]ersion)[ -]\\d{1,2})${NO_UNIT}`,
  "g",
);

/**
 * Patterns of digits that are not figures: those of names, and of the dates and times of these moments (epoch ms); any
 * other date is a figure without a fact.
 * @param question The question that a text answers, which it may quote.
 */
export function freeDigits(moments: readonly number[], question: string): RegExp[] {
  const stamps = moments.map((at) => new Date(at).toISOString());
  const days = [...new Set(stamps.map((stamp) => stamp.slice(0, 10)))].flatMap(dayForms);
  const times = [...new Set(stamps.map((stamp) => stamp.slice(11, 16)))].map(
    (time) =>
      `${time.replace(/^0/, "0?").replace(/:(\d\d)/, ":(?:$1|00)")}(?::\\d\\d(?:\\.\\d+)?)?(?: ?(?:UTC|GMT|Z|Uhr|h)\\b)?`,
  );
  const quoted = question === "" ? [] : [`(?<=["“„«「])${escaped(plain(question))}(?=["”“»」])`];
  const form = [...days, ...times, ...quoted].join("|");
  const dated = `(?<![\\p{Script=Latin}\\d.,:$-])(?:${form})(?![\\p{Script=Latin}\\d]|[.,:]\\d|\\s?%)`;
  return [new RegExp(dated, "giu"), NAMES];
}

/** Names of a month in the supported languages, in full and short. */
const MONTHS = lazy(() =>
  LOCALES.flatMap((locale) =>
    (["long", "short"] as const).map((month) => new Intl.DateTimeFormat(locale, { month, timeZone: "UTC" })),
  ),
);

function dayForms(date: string): string[] {
  const [year = "", , day] = date.split("-").map((part) => String(Number(part)));
  const months = MONTHS().map((form) => form.format(new Date(date)).replace(/\.$/, ""));
  const month = `(?:${[...new Set(months)].map(escaped).join("|")})\\.?`;
  const nth = `${day ?? ""}(?:st|nd|rd|th|er|\\.| ?日)?`;
  const named = `${nth} (?:de |of )?${month}|${month} ?${nth}`;
  return [
    `${date}(?:T[\\d:.]+Z)?|(?:${year} ?年 ?)?(?:${named})(?:,? (?:de )?${year})?|${month} (?:de )?${year}|${year} ?年`,
    `(?<=(?<!\\p{L})(?:in|of|since|year|early|late|Jahr|en|em|de|del|année|año|ano) )${year}(?! ?(?:%|percent|USD|dollars|coins|tokens|transactions|bps))`,
  ];
}
