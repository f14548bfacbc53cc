import type { Condition } from "./conditions";
import { NUMBER, numberOf, PERCENT_SIGN } from "./numbers";
import { COIN_NAMES, plainly, sensesOf, WORD, type Coin, type Sense } from "./vocabulary";

/**
 * Whether a person's words say what a model has read from them. Every word and number of the request has to be accounted for:
 * what is left over may turn the meaning round, and where it does not fit, nobody guesses. Pure.
 */

/** What the words hold, once nothing is left of them. */
type Said = {
  senses: ReadonlySet<Sense>;
  coins: readonly Coin[];
  percentages: readonly { value: number; sign: string }[];
  /** Numbers that are neither percentages, nor hours, nor times. */
  numbers: readonly number[];
  inUsd: boolean;
  windows: readonly number[];
  times: readonly { hours: number; minutes: number }[];
  /** As they are written. */
  zones: readonly string[];
};

/** A name stands alone: `Tether` holds no ether, `cbBTC` is no BTC. */
const COIN = new RegExp(
  String.raw`(?<![\p{L}\d])[$#]?(${Object.keys(COIN_NAMES).join("|")})(?:'s)?(?![\p{L}\d])`,
  "gu",
);

const SIGN = String.raw`(?<![\p{L}\d.,])([-−–+]|minus |moins |menos |meno )?\s?`;
const PERCENTAGE = new RegExp(String.raw`${SIGN}${NUMBER}\s?(?:${PERCENT_SIGN})`, "gu");
const AMOUNT = new RegExp(
  String.raw`(?<![\p{L}\d.,'_-])((?<!\p{L})\$ ?)?${NUMBER}( ?(?:\$|usd(?!\p{L})|us dollars?|dollars?|bucks))?`,
  "gu",
);
const TIME =
  /(?<![\p{L}\d.,:+-])(\d{1,2})(?:[:.h](\d{2})(?![\d:])|(?= ?(?:uhr|h|am|pm|a\.m|p\.m)(?![\p{L}\d])))( ?(?:uhr|h)(?![\p{L}\d]))?/gu;

/** Units of a window of time, in hours. */
const UNITS: readonly (readonly [hours: number, names: string])[] = [
  [1, "h|hrs?|hours?|std|stunden?|heures?|horas?|or[ae]"],
  [24, "d|days?|tag(?:en?)?|jours?|d[ií]as?|giorn[oi]"],
  [168, "w|weeks?|wochen?|semaines?|semanas?|settiman[ae]"],
];
const UNIT = UNITS.map(([, names]) => names).join("|");
/** A window has its own preposition, and a count or an article: “for 24 h” says how long something lasts. */
const WINDOW = new RegExp(
  String.raw`(?<![\p{L}\d])(?:in|within|over|during|inside|innerhalb(?: von)?|binnen|an|dans|en|entro)(?:(?: the| den| der| les| las| le)?(?: last| past| letzten)? (\d{1,4})[ -]?|(?: (?:an?|one|eine[rmn]?|une?|una|the last|the past)) )(${UNIT})(?![\p{L}\d])`,
  "gu",
);

export function isSaid(condition: Condition, asked: string): boolean {
  const said = saidIn(asked, condition);
  if (said === null) return false;
  return condition.kind === "digest" ? saysDigest(condition, said) : saysValue(condition, said);
}

function saysValue(condition: Exclude<Condition, { kind: "digest" }>, said: Said): boolean {
  const { senses, coins, windows, percentages, numbers } = said;
  const isOther = (["digest", "daily", "early", "late", "unclear"] as const).some((sense) =>
    senses.has(sense),
  );
  if (isOther || said.times.length > 0 || said.zones.length > 0) return false;
  if (coins.length === 0 || coins.some((coin) => coin !== condition.token)) return false;
  const { kind } = condition;
  if (senses.has("funding") !== (kind === "funding") || (senses.has("hourly") && kind !== "funding"))
    return false;
  if ((senses.has("inflow") || senses.has("outflow")) !== (kind === "flow")) return false;
  if (windows.length !== (kind === "change" ? 1 : 0)) return false;
  const isPercent = kind === "change" || kind === "funding";
  if (percentages.length !== (isPercent ? 1 : 0) || numbers.length !== (isPercent ? 0 : 1)) return false;
  switch (kind) {
    case "price":
      return numbers[0] === condition.levelUsd && sideIn(senses) === condition.direction;
    case "flow":
      return numbers[0] === condition.overUsd && saysWay(condition, said);
    case "change":
      return windows[0] === condition.windowHours && saysChange(condition, said);
    case "funding":
      return saysRate(condition, said);
  }
}

/** Above or below, where the verb does not say the opposite. */
function sideIn(senses: ReadonlySet<Sense>): "above" | "below" | null {
  const isOver = senses.has("over") || (senses.has("rise") && senses.has("to"));
  const isUnder = senses.has("under") || (senses.has("fall") && senses.has("to"));
  if (isOver === isUnder) return null;
  if (isOver) return senses.has("fall") ? null : "above";
  return senses.has("rise") ? null : "below";
}

function saysChange(
  { direction, percent }: Extract<Condition, { kind: "change" }>,
  { senses, percentages }: Said,
): boolean {
  const [said] = percentages;
  if (said === undefined || said.value !== percent || senses.has("under")) return false;
  const isUp = senses.has("rise") || said.sign === "+";
  const isDown = senses.has("fall") || said.sign === "-";
  return isUp !== isDown && isUp === (direction === "up");
}

function saysRate(
  { direction, percentPerHour }: Extract<Condition, { kind: "funding" }>,
  { senses, percentages }: Said,
): boolean {
  const [said] = percentages;
  if (said === undefined || senses.has("over") === senses.has("under")) return false;
  const value = said.sign === "-" ? -said.value : said.value;
  if (value !== percentPerHour) return false;
  return sideIn(senses) === direction;
}

function saysWay(
  { token, direction }: Extract<Condition, { kind: "flow" }>,
  { senses, inUsd }: Said,
): boolean {
  const isStable = token === "USDC" || token === "USDT" || token === "DAI";
  if (!senses.has("over") || senses.has("under") || senses.has("rise") || senses.has("fall")) return false;
  return (
    senses.has(direction === "in" ? "inflow" : "outflow") &&
    !senses.has(direction === "in" ? "outflow" : "inflow") &&
    (isStable || inUsd)
  );
}

/** `19:30` as 7:30 too, where the words say that it is in the second half of the day. */
function saysDigest({ time, timeZone }: Extract<Condition, { kind: "digest" }>, said: Said): boolean {
  const { senses, times, zones } = said;
  const only: readonly Sense[] = ["digest", "daily", "early", "late", "neutral"];
  if (!senses.has("digest") || !Array.from(senses).every((sense) => only.includes(sense))) return false;
  const [spoken] = times;
  if (spoken === undefined || times.length > 1) return false;
  if (said.coins.length + said.numbers.length + said.percentages.length + said.windows.length > 0)
    return false;
  const isHalf = senses.has("early") || senses.has("late");
  if (senses.has("early") && (senses.has("late") || spoken.hours >= 12)) return false;
  // Noon and midnight are told apart by 12 in no way that all agree on.
  if (isHalf && (spoken.hours === 12 || spoken.hours === 0)) return false;
  const hours = senses.has("late") && spoken.hours < 12 ? spoken.hours + 12 : spoken.hours;
  const [hour = NaN, minute = NaN] = time.split(":").map(Number);
  if (hours !== hour || spoken.minutes !== minute) return false;
  return zones.length === 0 ? timeZone === "UTC" : zones.every((zone) => zone === timeZone.toLowerCase());
}

/** What the words hold; `null` where something of them is left. */
function saidIn(asked: string, condition: Condition): Said | null {
  // A comma behind a number is none of its digits.
  let rest = plainly(asked).text.replaceAll(", ", " , ");
  const take = <T>(pattern: RegExp, read: (match: RegExpMatchArray) => T): T[] => {
    const taken = Array.from(rest.matchAll(pattern), read);
    rest = rest.replace(pattern, " | ");
    return taken;
  };
  const isDigest = condition.kind === "digest";
  const zones = isDigest ? take(zoneNames(condition.timeZone), () => condition.timeZone.toLowerCase()) : [];
  const times = isDigest
    ? take(TIME, ([, hours, minutes]) => ({ hours: Number(hours), minutes: Number(minutes ?? 0) }))
    : [];
  const windows = take(WINDOW, ([, count, unit = ""]) => hoursOf(count, unit));
  const percentages = take(PERCENTAGE, ([, sign = "", digits = "", multiple]) => {
    return { value: numberOf(digits, multiple), sign: sign === "" || sign === "+" ? sign : "-" };
  });
  let inUsd = false;
  const numbers = take(AMOUNT, ([, before, digits = "", multiple, after]) => {
    inUsd ||= before !== undefined || after !== undefined;
    return numberOf(digits, multiple);
  });
  const coins = take(COIN, ([, name = ""]) => COIN_NAMES[name]).filter((coin) => coin !== undefined);
  const senses = new Set(take(WORD, ([word]) => sensesOf(word)).flat());
  // A hyphen between two words that were read, as in “Tether-Zufluss”, says nothing.
  const isRead = /^[\s|.,!?:"“”()-]*$/.test(rest);
  return isRead ? { senses, coins, percentages, numbers, inUsd, windows, times, zones } : null;
}

function hoursOf(count: string | undefined, name: string): number {
  const unit = UNITS.find(([, names]) => new RegExp(`^(?:${names})$`, "u").test(name))?.[0] ?? NaN;
  return unit * Number(count ?? 1);
}

/** A zone by its name, or by its city. */
function zoneNames(zone: string): RegExp {
  const city = zone.split("/").at(-1) ?? zone;
  const names = [zone, city.replaceAll("_", " ")].map((name) =>
    name.toLowerCase().replaceAll("+", String.raw`\+`),
  );
  return new RegExp(String.raw`(?<![\p{L}\d/])(?:${names.join("|")})(?![\p{L}\d/+-])`, "gu");
}
