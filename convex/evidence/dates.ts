import type { Unread } from "./unread";

/** Dates and times of day in a text. Pure. */

export type DateFigure = {
  kind: "date";
  text: string;
  start: number;
  end: number;
  /** What it shows of a moment in UTC; months are 1 to 12. */
  shows: { year?: number; month?: number; day?: number; hour?: number; minute?: number };
};

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH =
  "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)";

const DATES: readonly { pattern: RegExp; read: (found: string[]) => Record<string, number> }[] = [
  {
    pattern:
      /(?<!\d)(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:\.\d+)?)?)?(?:\s*(?:Z|UTC)\b)?/g,
    read: ([year, month, day, hour, minute]) => numbers({ year, month, day, hour, minute }),
  },
  {
    pattern: new RegExp(
      `(?<!\\d)(\\d{1,2})(?:st|nd|rd|th)?(?: of)? (${MONTH})\\.?(?:,? (\\d{4}))?(?![\\w])`,
      "g",
    ),
    read: ([day, month = "", year]) => ({ ...numbers({ day, year }), month: monthOf(month) }),
  },
  {
    pattern: new RegExp(
      `\\b(${MONTH})\\.? (\\d{1,2})(?:st|nd|rd|th)?(?![\\d:.,]\\d|\\d|\\s*%)(?:,? (\\d{4}))?(?!\\w)`,
      "g",
    ),
    read: ([month = "", day, year]) => ({ ...numbers({ day, year }), month: monthOf(month) }),
  },
  {
    pattern: new RegExp(`\\b(${MONTH}) (\\d{4})(?!\\w)`, "g"),
    read: ([month = "", year]) => ({ ...numbers({ year }), month: monthOf(month) }),
  },
  {
    pattern: /(?<![\d:])(\d{1,2})[./](\d{1,2})[./](\d{4})(?!\d)/g,
    read: ([day, month, year]) => numbers({ day, month, year }),
  },
  {
    pattern: /(?<![\d:])(\d{1,2}):(\d{2})(?::\d{2})?(?!\d)(?:\s*(?:UTC|GMT|Z)\b)?/g,
    read: ([hour, minute]) => numbers({ hour, minute }),
  },
];

/** Takes them out of the text. */
export function takeDates(rest: Unread): DateFigure[] {
  const figures: DateFigure[] = [];
  for (const { pattern, read } of DATES) {
    for (const found of rest.text.matchAll(pattern)) {
      const [text] = found;
      const shows = read(found.slice(1));
      if (!isMoment(shows)) continue;
      figures.push({ kind: "date", text, start: found.index, end: found.index + text.length, shows });
      rest.take(found.index, text.length);
    }
  }
  return figures;
}

function monthOf(name: string): number {
  return MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1;
}

function numbers(parts: Record<string, string | undefined>): Record<string, number> {
  const told = Object.entries(parts).flatMap(([name, text]) => (text ? [[name, Number(text)] as const] : []));
  return Object.fromEntries(told);
}

function isMoment({ month = 1, day = 1, hour = 0, minute = 0 }: Record<string, number>): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour <= 24 && minute < 60;
}

/** Whether all that is shown of one moment is so of the other. */
export function isSameMoment(shown: DateFigure["shows"], moment: DateFigure["shows"]): boolean {
  return (["year", "month", "day", "hour", "minute"] as const).every(
    (part) => shown[part] === undefined || shown[part] === moment[part],
  );
}
