import { trimTrailing } from "../lib/text/strings";
import { parseSchedule, type Refusal, type Schedule } from "./schedule";

/** The clauses that people's words consist of: numbers, levels' multiples, and times with their zones. Pure. */

export type Groups = Partial<Record<string, string>>;

/** A text from which clauses are removed one by one: the first match of a pattern, or all matches of a global one. */
export function createClauses(text: string) {
  let rest = text;
  return {
    take: (pattern: RegExp, mark = " "): Groups | null => {
      const found = rest.match(pattern);
      rest = rest.replace(pattern, mark);
      return found === null ? null : (found.groups ?? {});
    },
    /** The remaining words; a comma attached to a word stays, one that stands alone is dropped. */
    words: () => rest.split(/\s+/).filter((word) => /[^,;:!?.]/.test(word)),
  };
}
type Clauses = ReturnType<typeof createClauses>;

export const NUMBER = String.raw`(?<number>\d{1,3}(?:,\d{3})+(?:\.\d{1,12})?|\d{1,15}(?:\.\d{1,12})?)`;
const DAY_NAME = "(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*";
const EVERY = new RegExp(
  String.raw`\b(?:every|each) (?<every>(?:(?:other|\d+) )?(?:minute|hour|day|week|month)s?|weekdays?|${DAY_NAME}(?:(?:, ?|,? and )${DAY_NAME})*)\b` +
    String.raw`(?: on (?:the |day )?(?<on>\d{1,2}(?:st|nd|rd|th|\.)?|[a-z]{3,9}))?`,
  "i",
);
/** A time of day; without `at` only one that can be nothing else. */
const AT =
  /(?:\bat (?<at>\d{1,2}(?::\d\d)?(?: ?(?:am|pm)\b)?)|\b(?<time>\d{1,2}(?::\d\d(?: ?(?:am|pm)\b)?| ?(?:am|pm)\b)))(?![\d,.]*\d)(?: (?<zone>[a-z]+(?:\/[a-z0-9_+-]+){1,2}|utc|gmt)\b)?/i;

const MULTIPLES: Readonly<Record<string, number>> = { k: 1e3, к: 1e3, m: 1e6, b: 1e9 };

export function toNumber({ number = "", multiple = "" }: Groups): number {
  const scale = MULTIPLES[multiple.toLowerCase()] ?? 1;
  // The product may have stray floating-point digits: it is rounded back to those that were written.
  return Number((Number(number.replaceAll(",", "")) * scale).toPrecision(15));
}

/** Replaces Chinese and Japanese myriads by digits: `12万` by 120000, `9万5` and `9万5千` by 95000. */
export function expandMyriads(text: string): string {
  return text.replace(
    /(?<![\d.])(\d{1,9}(?:\.\d{1,9})?)\s?[万萬](?:(\d)(?:千|(?!\d)))?/g,
    (_, myriads: string, thousands = "0") =>
      String(Math.round((Number(myriads) * 10 + Number(thousands)) * 1_000)),
  );
}

export function normalize(text: string): string {
  const spelled = expandMyriads(text.normalize("NFKC").replaceAll("−", "-"))
    .replace(/\bdaily\b/i, "every day")
    .replace(/\bweekly\b/i, "every week")
    .replace(/\bnoon\b/i, "12:00")
    .replace(/\bmidnight\b/i, "00:00")
    .replace(/\s+/g, " ");
  return trimTrailing(spelled.trim(), ".!?");
}

/** The schedule in a text. @param isNamed Whether a text without `every` has one, too: then it is daily. */
export function takeSchedule(clauses: Clauses, isNamed = false): Schedule | Refusal | null {
  const found = clauses.take(EVERY);
  if (found === null && !isNamed) return null;
  const { every = "day", on } = found ?? {};
  const { at, time = at, zone } = clauses.take(AT) ?? {};
  return parseSchedule({ every, on, at: time, zone: zone ?? takeCity(clauses) });
}

const toCity = (timeZone: string): string =>
  timeZone
    .slice(timeZone.lastIndexOf("/") + 1)
    .replaceAll("_", " ")
    .toLowerCase();

/** The zone of a city in a text that has a schedule: no other of its words names a place. */
function takeCity(clauses: Clauses): string | undefined {
  const zones = new Map(Intl.supportedValuesOf("timeZone").map((timeZone) => [toCity(timeZone), timeZone]));
  const cities = new RegExp(String.raw`\b(?:in )?(?<city>${[...zones.keys()].join("|")})(?: time)?\b`, "i");
  return zones.get(clauses.take(cities)?.["city"]?.toLowerCase() ?? "");
}
