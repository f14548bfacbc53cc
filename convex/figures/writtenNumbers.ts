import { getUnit, type Source } from "./facts";
import { normalizeText } from "../lib/text/sentences";

/** Figures in a writer's text without a placeholder. Pure. */

/** No name is followed by a unit. */
const NO_UNIT =
  "(?![\\w.,]*\\d|\\s*(?:%|percent|bps|USD|\\$|x\\b|×|k\\b|million|billion|thousand|[MBKT]\\b))(?!\\w)";
/** Digits that are no figures: lengths of time that facts have, and names such as L2, Q3, C98, v4, ERC-20. */
export const NAMES = new RegExp(
  "https?:\\/\\/\\S+|\\b0x(?=\\d*[a-fA-F])[0-9a-fA-F]{6,}\\b|" +
    "\\b(?:24 to 48|24|48)(?:[ -]?(?:h|hrs?|hours?|Stunden|horas|heures)(?!\\p{L})|-Stunden|小时|時間)|\\b(?:within|inside) (?:1 ?(?:%|per ?cent)|one per ?cent)|\\b(?:1|one)[ -]?(?:%|per ?cent) (?:band|range)\\b|\\bof the 50\\b|" +
    "\\b(?:S&P 500|Nasdaq 100|Russell 2000|24\\/7|Nikkei 225|DAX 40|1inch|1INCH|4chan|3Commas)\\b|" +
    "(?:(?<![\\w$€£.-])(?!USD?\\d{2}|EUR|GBP|JPY|BTC|ETH|SOL)(?:v|[A-Z][A-Za-z]{0,4})\\d{1,2}|" +
    "(?<![\\w$€£-])(?:ERC|EIP|BIP|SIP|COVID|BEP|TRC)-\\d{1,5}|" +
    `\\b(?:[Ll]ayer|[Pp]hase|[Tt]ier|[Ww]eb|[Vv]ersion)[ -]\\d{1,2})${NO_UNIT}`,
  "gu",
);

const SPELT =
  "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|" +
  // The word behind a hyphen is one way to read it, and the only one.
  "(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\\w+|(?!-))|hundred|dozen|half|quarter|few|several|couple";
const COUNTED =
  "percent(?:age points?)?|per cent|basis points?|bps|gwei|dollars?|cents?|bucks|grand|thousand|[mbtr]+illion|points?|times|fold|digits?|figures?";
/** Figures in words, which no fact is held against: "ten percent", "doubled", "two to one", "millions". */
const IN_WORDS = new RegExp(
  `\\b(?:${SPELT})(?:[ -](?:and[ -])?(?:a[ -])?(?:${SPELT}|odd)){0,8}[ -](?:of an? )?(?:${COUNTED})\\b|` +
    `\\b(?:${SPELT})[ -](?:to|in|out of|for)[ -](?:one|two|three|four|five|six|seven|eight|nine|ten|each|every)\\b|` +
    "\\b(?:(?:hundred|thousand|million|billion|trillion|dozen)s?|(?:elev|twelv|(?:thir|four|fif|six|seven|eigh|nine)te)en|" +
    "(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\\w+)?|percent|per cent|basis points?|grand|\\w+-thirds|(?:a|one) (?:third|fifth|tenth)(?! \\p{L})|(?:a|one) (?:third|fifth|tenth) (?=(?:of|more|less|higher|lower|larger|smaller|above|below|as)\\b)|by (?:half|a quarter)|(?<!\\b(?:lower|upper|top|bottom|first|second|other|latter|former|back|front|final) )half (?:as|of)|doubled|double (?:that|the|of)|tripled?|trebled|quadrupled|halved|(?:twice|thrice)(?= (?:as|the|that|its|their|what|of|more)\\b)|\\w+fold|double-digit|\\w+-figure)\\b",
  "giu",
);

const PERCENT = "%|percent|per cent|Prozent|por ciento|pour cent|por cento";
const DOLLARS = "USD|dollars?|Dollar|dólares|\\$|美元|ドル";
/** Words after a figure that make it another figure: another currency, unit or time. */
const NOT_BEHIND =
  " ?(?:[€£¥₿‰°×成倍]|(?:x|st|nd|rd|th|euros?|yen|pounds?|cents?|points?|times|years?|months?|weeks?|days?|hours?|h|minutes?|of \\d+)(?!\\p{L}))";
/** A figure in digits, with its marks; its decimal mark may be a point or a comma. */
const IN_DIGITS = new RegExp(
  "(?<![\\p{Script=Latin}\\p{N}.,:/-])(?<sign>[+-] ?)?(?<money>US\\$ ?|\\$ ?)?(?<number>\\d+(?:[.,]\\d+)*)(?![:/]?\\d)" +
    "(?: ?(?<scale>trillion|billion|million|thousand|tn|bn|bln|mn|mln|[TBMKtbmk])(?![\\p{L}\\d]))?" +
    `(?: ?(?<percent>${PERCENT})(?!\\p{Script=Latin})| ?(?<dollars>${DOLLARS})(?!\\p{Script=Latin})|` +
    ` ?(?<unit>bps|basis points?|gwei)(?!\\p{L})| (?<ticker>[A-Z][A-Z\\d]{1,9})(?![\\p{L}\\d]))?(?!${NOT_BEHIND})(?!\\p{Nd})`,
  "gu",
);
/** Right before a figure, words that make it a bound, which the fact's own figure would not be. */
const BOUND =
  /(?:\b(?:above|(?<!\bturn(?:s|ed|ing)? )over|below|under|than|least|most|nearly|almost|beyond|exceeds?|R)|[€£¥₿])\s?$/iu;
const SCALES: Readonly<Record<string, number>> = { t: 1e12, b: 1e9, m: 1e6, k: 1e3 };

/** Whether a text states figures, in digits or in words. */
export function hasFigures(text: string): boolean {
  const remainder = normalizeText(text).replace(NAMES, "");
  return /\p{N}/u.test(remainder) || remainder.search(IN_WORDS) !== -1;
}

/**
 * Replaces the figures of a sentence whose placeholders, names and dates are already taken out.
 * @param print The replacement of a figure: for the fact that rounds to it, or for a figure of no fact.
 */
export function replaceFigures(
  text: string,
  cited: readonly Source[],
  print: { match: (fact: Source, before: string) => string; unmatched: (figure: string) => string },
): string {
  return text
    .replace(IN_DIGITS, (...found) => {
      const [all, at, groups] = [String(found[0]), Number(found.at(-3)), toGroups(found.at(-1))];
      const isBound = BOUND.test(text.slice(Math.max(0, at - 12), at));
      const near = isBound ? undefined : cited.find((fact) => matchesFact(fact, groups));
      return near === undefined ? print.unmatched(all) : print.match(near, text.slice(0, at));
    })
    .replace(IN_WORDS, print.unmatched)
    .replace(/(?<![\d.,:/-])[$€£¥]?[\d.,:/-]*\p{N}(?:[\p{N}.,:/-]*\p{N})?(?: ?[%‰])?|%/gu, print.unmatched);
}

type Groups = Readonly<Record<string, string | undefined>>;
const isGroups = (value: unknown): value is Groups => typeof value === "object" && value !== null;
const toGroups = (value: unknown): Groups => (isGroups(value) ? value : {});

/** Whether a fact's figure, rounded as the writer did, is what they wrote. */
function matchesFact({ fact: { subject, kind, value } }: Source, groups: Groups): boolean {
  const { money, dollars, percent, number = "", scale = "", unit: mark = "", ticker } = groups;
  if (typeof value === "string") return false;
  const unit = getUnit(kind);
  const written =
    (money ?? dollars) !== undefined
      ? "USD"
      : percent !== undefined
        ? "percent"
        : mark.replace(/^basis.*/, "bps");
  if (written === "" ? /^(?:percent|bps|gwei)$/.test(unit) : written !== unit) return false;
  if (ticker !== undefined && (unit !== "coins" || ticker !== subject)) return false;
  const times = SCALES[scale.charAt(0).toLowerCase()] ?? 1;
  const size = Math.abs(value);
  return listReadings(number).some((digits) => {
    const decimals = digits.split(".")[1]?.length ?? 0;
    const zeros = decimals === 0 ? (digits.split(/[^0]/).at(-1) ?? "").length : 0;
    // Of a figure with decimals the last one was rounded, however few there are.
    const most = Math.min((times * 10 ** (zeros - decimals)) / 2, size * (decimals > 0 ? 0.15 : 0.05));
    return Math.abs(Number(digits) * times - size) <= most * (1 + 1e-9);
  });
}

/** A number by both conventions of writing one. */
function listReadings(number: string): string[] {
  return [
    ...(/^(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?$/.test(number) ? [number.replaceAll(",", "")] : []),
    ...(/^(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?$/.test(number)
      ? [number.replaceAll(".", "").replace(",", ".")]
      : []),
  ];
}
