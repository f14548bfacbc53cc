/** Over what time a text says that something was measured. Pure. */

export type Window = "hour" | "day" | "twoDays" | "week" | "start" | "report" | "other";

const NUMBER_WORDS =
  "(?:two|three|four|five|six|seven|eight|nine|ten|twelve|fourteen|thirty|sixty|ninety|few|several)";
const MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December";
const SPAN = "(?:h|hrs?|hours?|d|days?|mins?|minutes?|weeks?|months?|years?|quarters?)";

/** The first that fits at a place counts. */
const WINDOWS: readonly { window: Window; pattern: string }[] = [
  {
    window: "report",
    pattern:
      "(?:last|previous|prior|earlier|latest) (?:report|note|update|review)|we last (?:wrote|reported)",
  },
  {
    window: "start",
    pattern:
      "since (?:the |this |our |its )?(?:\\w+ )?(?:shift|start|opening|outset)|(?:start|beginning|outset) of (?:the|this|our) shift|(?:the|this|our) shift",
  },
  { window: "day", pattern: "(?:24|twenty-four)[ -]?(?:hours?|hrs?|h)" },
  { window: "twoDays", pattern: "(?:48|forty-eight)[ -]?(?:hours?|hrs?|h)|(?:2|two)[ -]?(?:days?|d)" },
  { window: "week", pattern: "(?:7|seven)[ -]?(?:days?|d)|(?:1|one)[ -]?week|week(?:ly)?" },
  { window: "hour", pattern: "(?:1|one|60)[ -]?(?:h|hour|minutes?)|hour(?:ly)?" },
  { window: "other", pattern: `(?:\\d+|${NUMBER_WORDS})[ -]?${SPAN}` },
  { window: "other", pattern: "month(?:ly)?|year(?:ly)?|annual(?:ly)?|annuali[sz]ed|quarter(?:ly)?(?! of)" },
  { window: "other", pattern: `since (?:${MONTHS})` },
  { window: "other", pattern: "all[- ]time|record|decades?|minutes?|hours|days|weeks" },
  { window: "day", pattern: "(?:1|one)[ -]?d(?:ay)?|day|yesterday|today|daily|intraday|overnight" },
];

const PATTERN = new RegExp(
  `(?<![\\w.,$-])(?:${WINDOWS.map(({ pattern }) => `(${pattern})`).join("|")})(?![a-z])`,
  "gi",
);
/** What is still to come says nothing of what was measured. */
const AHEAD = /\b(?:next|coming|upcoming|following)(?: few)?\s*$|\b(?:ahead of|before) the\s*$/i;

export type ToldWindow = { window: Window; start: number; end: number };

export function windowsIn(text: string): ToldWindow[] {
  return [...text.matchAll(PATTERN)].flatMap((found) => {
    if (AHEAD.test(text.slice(0, found.index))) return [];
    const window = WINDOWS.find((_one, index) => found[index + 1] !== undefined)?.window;
    return window === undefined ? [] : [{ window, start: found.index, end: found.index + found[0].length }];
  });
}
