import { symbolIn } from "../../lib/money/tokens";
import { withoutTrailing } from "../../lib/text/strings";
import { mentionsIn, namesOf } from "../../lib/money/names";
import type { Fact } from "../../evidence/tables";
import { FUNDING_HOURS, isTimeZone, MOVED, STABLE } from "./grammar";
import type { Condition } from "./conditions";
import type { Line } from "./lines";
import { plainDigits, quantitiesIn, spanAlone, type Quantity } from "./quantities";

/**
 * Checks whether a line says the same as a person's words, number by number and coin by coin: the reader of the words
 * may have made a mistake. If they do not agree, the person is asked. Pure.
 */

const WORDS = /(?<![\w.-])[$\w][\w.$-]*/g;
/** Symbols that are also words of a language, if they are in small letters. */
const COMMON = new Set([
  "near",
  "link",
  "dot",
  "ton",
  "uni",
  "one",
  "gas",
  "sei",
  "sky",
  "flow",
  "sun",
  "super",
  "just",
]);
/** Coins of measured movements; they may be on no list. */
const ALWAYS: readonly string[] = ["BTC", "ETH", "SOL", ...MOVED];

/** The coins that words name, by symbol or by name. @param facts Of the lists of the market. */
function coinsIn(words: string, facts: readonly Fact[]): Set<string> {
  const listed = new Set([...facts.map(({ subject }) => subject), ...ALWAYS]);
  const named = [words, words.toLowerCase()]
    .flatMap((text) => mentionsIn(text, namesOf(facts)))
    .map(({ subject }) => subject.toUpperCase());
  const symbols = (words.match(WORDS) ?? []).flatMap((word) => {
    if (COMMON.has(word) || (word.length < 3 && word === word.toLowerCase())) return [];
    const bare = withoutTrailing(word, ".-");
    return [symbolIn(bare), symbolIn(bare.replace(/s$/, ""))];
  });
  return new Set([...named, ...symbols].filter((symbol) => listed.has(symbol)));
}

/** The question to the writer of the words, and the conditions that they may mean, if these are known. */
export type Doubt = { say: string; meant?: readonly Condition[] };

/** What is in the words but not in the line, or in the line but not in the words; `null` if they agree. */
export function disagreement(line: Line, words: string, facts: readonly Fact[]): Doubt | null {
  const plain = plainDigits(words);
  if (plain === null) return { say: "Write the numbers in plain digits, such as 100,000 or 2.5." };
  const say = coinTrouble(line, plain, facts) ?? numberTrouble(line, plain);
  return say === null ? (spanTrouble(line, plain) ?? directionTrouble(line, plain)) : { say };
}

function coinTrouble({ condition }: Line, words: string, facts: readonly Fact[]): string | null {
  const token = condition.kind === "digest" ? null : condition.token;
  const coins = coinsIn(words, facts);
  if (token !== null && !coins.has(token) && words.search(symbol(token)) === -1)
    return `I read ${token}, and your words do not name it: name the coin by its symbol.`;
  // The units of a price.
  const isMoney = (coin: string) => STABLE.includes(coin) && condition.kind === "price";
  const [other] = [...coins].filter((coin) => coin !== token && !isMoney(coin));
  return other === undefined
    ? null
    : `${other} is a second coin, and an alert is about one: send each as an alert of its own.`;
}

const CLOCK =
  /(?<![\d.,:+-])(?<hour>\d{1,2})(?:\s?[:.h時点點시时]\s?(?<minute>\d{2}))?(?![\d%])\s?(?:(?<half>[ap])\.?\s?m(?!\p{L}))?/giu;

function numberTrouble(line: Line, words: string): string | null {
  const { condition, level } = line;
  const isDigest = condition.kind === "digest";
  // Digits of a name do not belong to an amount: 1INCH, “1 ETH”, Etc/GMT.
  const bare = isDigest
    ? words.replaceAll(condition.timeZone, " ")
    : words.replaceAll(symbol(condition.token), "§").replace(/(?<![\w.,])1 §/, "§");
  if (isDigest) return zoneTrouble(condition.timeZone, words) ?? timeTrouble(condition.time, bare);
  const quantities = quantitiesIn(bare);
  const unreadable = quantities.find(({ values }) => values.length === 0);
  if (unreadable !== undefined)
    return `I cannot read the number ${unreadable.words}: write it like 100,000 or 2.5.`;
  if (quantities.some(({ unit }) => unit === "foreign")) return "Amounts are in USD: say it in USD.";
  const [amount, further] = quantities.filter(({ unit }) => unit !== "hours");
  if (amount === undefined)
    return `I read ${level}, and your words have no such number in digits: write it in digits.`;
  if (further !== undefined)
    return `${amount.words} and ${further.words} are two numbers, and an alert has one: send each as an alert of its own.`;
  if (!isWorth(line, amount)) return `You wrote ${amount.words}, and I read ${level}: please write it again.`;
  return unitTrouble(line, amount, words);
}

function isWorth({ condition, level }: Line, { values, sign }: Quantity): boolean {
  // A rate may be negative. The sign of a change is its direction, which is checked elsewhere.
  return values.some((value) => (condition.kind === "funding" && sign === -1 ? -value : value) === level);
}

function unitTrouble({ condition }: Line, { unit, words, sign }: Quantity, text: string): string | null {
  const isRate = condition.kind === "change" || condition.kind === "funding";
  if (isRate !== (unit === "percent"))
    return isRate
      ? `Is ${words} in percent? Then write ${words} %.`
      : `Is ${words} a price in USD, or a percentage?`;
  if (condition.kind === "price" && sign === -1) return `A price is not below 0: ${words}.`;
  const inCoins = condition.kind === "flow" && !STABLE.includes(condition.token) && unit !== "usd";
  return inCoins && !/usd|\$/i.test(text) ? `Is ${words} in USD? Then write $${words}.` : null;
}

function spanTrouble({ condition, hours }: Line, words: string): Doubt | null {
  if (condition.kind === "digest") return null;
  const [span, further] = quantitiesIn(words).filter(({ unit }) => unit === "hours");
  if (further !== undefined) return { say: "I read two spans of time: name only one." };
  if (hours === null) {
    if (span === undefined) return null;
    return {
      say: `I cannot use ${span.words} here: with a time, say by how many percent, as in down 5 % in 24 h.`,
    };
  }
  const spoken = span === undefined ? spanAlone(words) : span.values;
  const isSame = Array.isArray(spoken) ? spoken.includes(hours) : spoken === hours;
  if (isSame) return null;
  if (spoken !== null)
    return { say: `I read ${hours} h, and your words say another time: write it in hours.` };
  if (condition.kind !== "change")
    return hours === FUNDING_HOURS ? null : { say: "Is that per hour, or per 8 h?" };
  return {
    say: "Within what time?",
    meant: [...new Set([hours, 1, 24, 168])].map((windowHours) => ({ ...condition, windowHours })),
  };
}

/** A place in another script cannot be compared; the card says what time it is there. */
function zoneTrouble(zone: string, words: string): string | null {
  const lower = words.toLowerCase();
  const named = (words.match(/(?<![A-Za-z])[A-Za-z]{1,20}(?:\/[A-Za-z0-9_+-]{1,32}){1,2}/g) ?? []).filter(
    isTimeZone,
  );
  const city = (zone.split("/").at(-1) ?? zone).replaceAll("_", " ").toLowerCase();
  const isOther = named.some((one) => one.toLowerCase() !== zone.toLowerCase());
  const isSaid =
    zone === "UTC" || lower.includes(city) || named.length > 0 || /[^\P{L}\p{Script=Latin}]/u.test(words);
  return isSaid && !isOther
    ? null
    : `I read the time zone ${zone}: name yours by a city, as in Europe/Berlin.`;
}

function timeTrouble(time: string, words: string): string | null {
  const [spoken, further] = Array.from(words.matchAll(CLOCK), ({ groups }) => groups);
  if (spoken === undefined) return "At what time? Write it in digits, such as 07:30.";
  const [hour = NaN, minute = NaN] = time.split(":").map(Number);
  const { hour: spokenHour = "", minute: minutes = "0", half } = spoken;
  const late = half?.toLowerCase() === "p" ? 12 : 0;
  const hours =
    half === undefined ? [Number(spokenHour), Number(spokenHour) + 12] : [(Number(spokenHour) % 12) + late];
  const isSame =
    hours.includes(hour) && Number(minutes) === minute && (Number(spokenHour) !== 12 || hour === 12);
  return further === undefined && isSame
    ? null
    : `I read ${time}, and your words say another time: write it like 07:30.`;
}

/** Signs and the line's own words, which say a direction in every language that has them. */
const UP = /[>≥↑▲⬆📈]|(?<![\p{L}])(?:(?:above|over|inflow)(?!\p{L})|up (?:by )?\d)/iu;
const DOWN = /[<≤↓▼⬇📉]|(?<![\p{L}])(?:(?:below|under|outflow)(?!\p{L})|down (?:by )?\d)/iu;

function directionTrouble({ condition }: Line, words: string): Doubt | null {
  if (condition.kind === "digest") return null;
  const isUp = ["above", "up", "in"].includes(condition.direction);
  const isSigned = condition.kind === "change";
  const flow =
    condition.kind === "flow" ? words.replaceAll(/(?<![\p{L}])(?:above|over)(?!\p{L})|[>≥]/giu, " ") : words;
  const up = UP.test(flow) || (isSigned && /(?<![\p{L}\d])\+ ?\d/u.test(words));
  const down = DOWN.test(flow) || (isSigned && /(?<![\p{L}\d])- ?\d/u.test(words));
  if (up === down || up === isUp) return null;
  return { say: "Up or down?", meant: [condition, turned(condition)] };
}

/** The same the other way round. */
export function turned(condition: Exclude<Condition, { kind: "digest" }>): Condition {
  switch (condition.kind) {
    case "change":
      return { ...condition, direction: condition.direction === "up" ? "down" : "up" };
    case "flow":
      return { ...condition, direction: condition.direction === "in" ? "out" : "in" };
    case "price":
    case "funding":
      return { ...condition, direction: condition.direction === "above" ? "below" : "above" };
  }
}

/** A symbol as a separate word: in scripts without spaces, letters stand beside it. */
const symbol = (token: string): RegExp =>
  new RegExp(`(?<![A-Za-z\\d])${token.replaceAll(".", "\\.")}(?![A-Za-z\\d])`, "gi");
