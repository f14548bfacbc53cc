import { escaped, type Names } from "./names";
import type { Ledger, Source } from "./facts";

/** Digits that state no figure: names, the date, what is quoted. Pure. */

type Place = { start: number; end: number };

/** In the place of what is read already: no letter, no digit, no mark. */
const BLANK = "\uE000";

/** The text with some of its places out of the way, at their length. */
export function without(text: string, places: readonly Place[]): string {
  let rest = text;
  for (const { start, end } of places) {
    rest = rest.slice(0, start) + BLANK.repeat(end - start) + rest.slice(end);
  }
  return rest;
}

/** With which digits belong. None of them has a unit behind it. */
const NO_UNIT =
  "(?![\\w.,]*\\d|\\s*(?:%|percent|bps|USD|\\$|x\\b|×|k\\b|million|billion|thousand|[MBKT]\\b))";
const NAMES: readonly RegExp[] = [
  /https?:\/\/\S+/g,
  /\b0x[0-9a-fA-F]{6,}\b/g,
  // L2, Q3, C98, Web3, v4; not an amount written against its currency.
  new RegExp(
    `(?<![\\w$€£.-])(?!USD?\\d{2}|EUR|GBP|JPY|BTC|ETH|SOL)(?:v|[A-Z][A-Za-z]{0,4})\\d{1,2}${NO_UNIT}(?![\\w])`,
    "g",
  ),
  new RegExp(`(?<![\\w$€£-])(?:ERC|EIP|BIP|SIP|COVID|BEP|TRC)-\\d{1,5}${NO_UNIT}`, "g"),
  new RegExp(`\\b(?:[Ll]ayer|[Pp]hase|[Tt]ier|[Ww]eb|[Vv]ersion)[ -]\\d{1,2}${NO_UNIT}(?!\\w)`, "g"),
  /\bS&P 500\b|\bNasdaq 100\b|\bRussell 2000\b|\b24\/7\b|\bNikkei 225\b|\bDAX 40\b|\b(?:1inch|1INCH|4chan|3Commas)\b/g,
];

/** Where names with digits stand. */
export function namesWithDigits(text: string, { subjects }: Names): Place[] {
  const known = [...subjects.keys()].filter((name) => /\d/.test(name)).map(escaped);
  const own = known.length === 0 ? [] : [new RegExp(`(?<![\\w.,$-])\\$?(?:${known.join("|")})(?!\\w)`, "g")];
  return placesOf(text, [...own, ...NAMES]);
}

function placesOf(text: string, patterns: readonly RegExp[]): Place[] {
  return patterns.flatMap((pattern) =>
    Array.from(text.matchAll(pattern), (found) => ({
      start: found.index,
      end: found.index + found[0].length,
    })),
  );
}

const QUOTED = /["“„«「‹]([^"“”„»「」«›]{3,400})["”“»」›]/g;

/** Where a sentence repeats the words of facts that it cites, or of the question that it answers. */
export function quotesOf(text: string, cited: readonly Source[], asked: string): Place[] {
  const told = [asked, ...cited.flatMap(({ words }) => words ?? [])].map(folded);
  return [...text.matchAll(QUOTED)].flatMap((found) => {
    const quote = folded(found[1] ?? "");
    const isTold = quote !== "" && told.some((one) => ` ${one} `.includes(` ${quote} `));
    return isTold ? [{ start: found.index, end: found.index + found[0].length }] : [];
  });
}

/** Words and digits alone, with one space between them. */
function folded(text: string): string {
  return text
    .toLowerCase()
    .replace(/(?<=\d)[.,](?=\d)/g, "_")
    .replace(/[^\p{L}\p{N}_%$€+-]+/gu, " ")
    .trim();
}

const MONTHS = [
  "Jan(?:uary|uar|eiro)?|janv(?:ier)?|enero|janeiro",
  "Feb(?:ruary|ruar)?|febrero|févr(?:ier)?|fev(?:ereiro)?",
  "Mar(?:ch|s)?|marzo|März|março",
  "Apr(?:il)?|abril|abr|avr(?:il)?",
  "May|Mai|mayo|maio",
  "Jun[ei]?|junio|juin|junho",
  "Jul[yi]?|julio|juil(?:let)?|julho",
  "Aug(?:ust)?|agosto|août",
  "Sept?(?:ember|embre)?|septiembre|setembro",
  "O[ck]t(?:ober)?|octubre|octobre|outubro",
  "Nov(?:ember|embre)?|noviembre|novembro",
  "De[cz](?:ember)?|diciembre|dicembre|décembre|dezembro",
] as const;
/** Where a sentence says its own day or a moment of a fact that it cites; any other date is a figure that no fact has. */
export function ownDates(text: string, cited: readonly Source[], { now }: Pick<Ledger, "now">): Place[] {
  const moments = [...new Set([now, ...cited.map(({ observedAt }) => observedAt)])];
  return placesOf(text, moments.flatMap(formsOf));
}

/** How a moment may be written. */
function formsOf(at: number): RegExp[] {
  const [date = "", time = ""] = new Date(at).toISOString().split("T");
  const [year = "", month, day] = date.split("-").map((part) => String(Number(part)));
  const [hour = "", minute = ""] = time.split(":");
  const name = `(?:${MONTHS[Number(month) - 1] ?? ""})\\.?`;
  const nth = `${day}(?:st|nd|rd|th|er|\\.)?`;
  const named = `(?:${nth} (?:de |of )?${name}|${name} ${nth})(?:,? (?:de )?${year})?|${name} (?:de )?${year}`;
  const clock = `0?${Number(hour)}:(?:${minute}|00)(?::\\d\\d(?:\\.\\d+)?)?(?: ?(?:UTC|GMT|Z|Uhr|h)\\b)?`;
  const before = "(?:in|of|since|year|early|late|im Jahr|Jahr|en|em|de|del|année|año|ano) ";
  return [
    `${date}(?:[T ]${clock})?|(?:${year} ?年 ?)?${month} ?月 ?${day} ?日|${year} ?年|${named}|${clock}`,
    `(?<=(?<!\\p{L})${before})${year}(?! ?(?:%|percent|USD|dollars|coins|tokens|transactions|bps))`,
  ].map(
    (form) =>
      new RegExp(
        `(?<![\\p{Script=Latin}\\d.,:$-])(?:${form})(?![\\p{Script=Latin}\\d]|[.,:]\\d|\\s?%)`,
        "giu",
      ),
  );
}
