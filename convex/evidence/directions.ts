/** Which way words say that something went. Pure. */

export type Direction = -1 | 0 | 1;

/** A verb whose forms end regularly, by its stem. */
const verbs = (stems: string) => `(?:${stems})(?:s|es|d|ed|ing)?`;

const UP_WORDS = [
  "up|upside|rose|risen|rising|rises?|higher|grew|grown|ahead(?! of)|inflows?|firmer|stronger|positive|green",
  "add(?:s|ed|ing)?|put on|picked up|rall(?:y|ies|ied|ying)|climb(?:s|ed|ing)?|soar(?:s|ed|ing)?",
  verbs(
    "gain|advanc|advance|jump|surg|surge|increas|increase|rebound|expand|strengthen|recover|bounc|bounce",
  ),
  "gainers?|expansion|grow(?:s|ing|th)?|improv(?:e|es|ed|ing|ement)|recovery|upturn|uptick|spik(?:e|es|ed|ing)|swell(?:s|ed|ing)?|swollen",
];
const DOWN_WORDS = [
  "down|downside|behind(?= by)|fell|fall(?:s|en|ing)?|lost|los(?:e|es|ing|s|ses|ers?)|lower|shed(?:s|ding)?|outflows?|softer|weaker|negative|red",
  "shrank|shr[iu]nk(?:s|ing)?|sank|sunk|sink(?:s|ing)?|slid|slid(?:e|es|ing)|cut(?:s|ting)?|gave (?:up|back)|giv(?:es?|ing) (?:up|back)",
  verbs(
    "declin|decline|retreat|decreas|decrease|tumbl|tumble|plung|plunge|weaken|eas|ease|slump|crash|retrac|retrace",
  ),
  "drop(?:s|ped|ping)?|slip(?:s|ped|ping)?|dip(?:s|ped|ping)?|contract(?:ed|ing|ion)|soften(?:s|ed|ing)?|cool(?:s|ed|ing)?|pull(?:s|ed|ing)? ?back|setback|downturn|correction",
];
const AFTER_UP = "above|over its";
const AFTER_DOWN = "below|behind|under|off";

const WORD = new RegExp(
  `\\b(?:(?<up>${UP_WORDS.join("|")})|(?<down>${DOWN_WORDS.join("|")}))(?![a-z])`,
  "gi",
);
/** What stands right behind a figure, at most one word between: "3 % lower", "a 3 % weekly decline". */
const NEXT = new RegExp(
  `^[\\s-]*(?:(?!(?:to|from|as|and|or|on|in|at|of|with|after|by|for|than|but|while|is|was|the|a)\\b)[\\w'’-]+\\s+)?(?:(?<up>${UP_WORDS.join("|")}|${AFTER_UP})|(?<down>${DOWN_WORDS.join("|")}|${AFTER_DOWN}))(?![a-z])`,
  "i",
);
/** "eased to 3 %": the word says how it got there, and not on which side of nothing it is. */
const TO_A_LEVEL = /^\s+(?:back |further |again )?(?:to|towards?|at)\s+(?:just |about |around |only )?$/i;
/** Where another statement begins. */
const BREAK = /[;:]|—|\b(?:while|whereas|but|although|though|whilst)\b/gi;
const SIGN = /\b(?:positive|negative)(?![a-z])/i;

/** What the words around a figure say of its direction: 1 up, -1 down, 0 nothing. */
export function directionAround(before: string, after: string): Direction {
  const next = NEXT.exec(after)?.groups;
  if (next?.["up"] !== undefined) return 1;
  if (next?.["down"] !== undefined) return -1;
  const own = before.slice([...before.matchAll(BREAK)].at(-1)?.index ?? 0);
  return lastIn(own) || firstIn(after.split(BREAK)[0] ?? "");
}

/** "the gain or loss of": neither. */
const EITHER = new RegExp(
  `\\b(?:${[...UP_WORDS, ...DOWN_WORDS].join("|")}) or (?:${[...UP_WORDS, ...DOWN_WORDS].join("|")})(?![a-z])`,
  "gi",
);

function lastIn(words: string): Direction {
  const text = words.replace(EITHER, "");
  const told = [...text.matchAll(WORD)].filter(
    (found) => !TO_A_LEVEL.test(text.slice(found.index + found[0].length)),
  );
  return directionOf(told.at(-1));
}

function firstIn(text: string): Direction {
  return directionOf([...text.matchAll(WORD)][0]);
}

function directionOf(found: RegExpMatchArray | undefined): Direction {
  if (found === undefined) return 0;
  return found.groups?.["up"] === undefined ? -1 : 1;
}

/** The same of what has a sign and no direction: a rate is positive or negative, however it moved. */
export function signAround(words: string): Direction {
  const [told] = SIGN.exec(words) ?? [];
  if (told === undefined) return 0;
  return told.toLowerCase() === "positive" ? 1 : -1;
}
