import { FUNDED, isTimeZone, MOVED, PRICED, type Condition } from "./grammar";
import { numbersIn, percentagesIn } from "./numbers";

/** Whether a person's words, in whatever language, say what a model has read from them. Where they do not, nobody guesses. Pure. */

/** A name in Latin letters stands alone: `Tether` holds no ether, `cbBTC` is no BTC. */
const alone = (names: string): string =>
  String.raw`(?<![\p{Script=Latin}\d])(?:${names})(?![\p{Script=Latin}\d])`;
const name = (latin: string, others?: string): RegExp =>
  new RegExp(others === undefined ? alone(latin) : `${alone(latin)}|${others}`, "iu");

type Coin = (typeof PRICED)[number] | (typeof FUNDED)[number] | (typeof MOVED)[number];
const COINS: Readonly<Record<Coin, RegExp>> = {
  BTC: name("btc|bitcoins?", "биткоин|биткойн|比特币|比特幣|ビットコイン|비트코인"),
  ETH: name("eth|ether|ethereum", "эфир|以太|イーサ|이더"),
  SOL: name("sol|solana", "солан|솔라나"),
  USDC: name("usdc"),
  USDT: name("usdt|tether"),
  DAI: name("dai"),
  WETH: name("weth"),
  CBBTC: name("cbbtc"),
};

const MINUS =
  /(?<!\w)[-−–]\s?[\d.]|(?<!\p{L})(?:minus|negativ|moins|menos|meno)|минус|负|負|マイナス|마이너스/iu;

/** Units of a window of time, in hours, in the languages that are most asked in. */
const SPANS: readonly (readonly [hours: number, unit: RegExp])[] = [
  [1, span("h", "hrs?|hours?|std|stunden?|heures?|horas?|or[ae]", "час|小时|小時|時間|시간")],
  [24, span("d", "days?|tage?n?|jours?|d[ií]as?|giorn[oi]", "день|дня|дней|сут|天|日|일")],
  [168, span("w", "weeks?|wochen?|semaines?|semanas?|settiman[ae]", "недел|周|週|주")],
];

/** A unit with its count, which is one where no digits stand before it; a single letter has digits. */
function span(letter: string, latin: string, others: string): RegExp {
  return new RegExp(
    String.raw`(?:(?<![\d.,])(?<count>\d{1,4})[\s-]?)?(?:(?<!\p{Script=Latin})(?:${latin})(?![\p{Script=Latin}\d])|${others})|(?<![\d.,])(?<digits>\d{1,4})\s?${letter}(?![\p{L}\d])`,
    "giu",
  );
}

const SECOND_HALF =
  /\bp\.?m\b|evening|afternoon|abend|nachmittag|soir|midi|tarde|noche|noite|sera|pomeriggio|вечер|下午|晚|夜|午後|오후|저녁/iu;

/**
 * Whether the words hold what the condition does: its coin and no other, its number with its sign, its time, its zone.
 * What is left to the model is the direction, which the user is asked about.
 */
export function isSaid(condition: Condition, asked: string): boolean {
  const words = asked.normalize("NFKC");
  if (condition.kind === "digest")
    return saysTime(condition.time, words) && saysZone(condition.timeZone, words);
  const named = Object.entries(COINS).filter(([, pattern]) => pattern.test(words));
  if (named.length !== 1 || named[0]?.[0] !== condition.token) return false;
  const percentages = percentagesIn(words);
  switch (condition.kind) {
    case "price":
      return percentages.length === 0 && numbersIn(words).includes(condition.levelUsd);
    case "flow":
      return percentages.length === 0 && numbersIn(words).includes(condition.overUsd);
    case "change":
      return percentages.includes(condition.percent) && saysWindow(condition.windowHours, words);
    case "funding": {
      const { percentPerHour: rate } = condition;
      return percentages.includes(Math.abs(rate)) && (rate === 0 || rate < 0 === MINUS.test(words));
    }
  }
}

function saysWindow(hours: number, words: string): boolean {
  const said = SPANS.flatMap(([unit, pattern]) =>
    Array.from(words.matchAll(pattern), ({ groups }) => {
      return unit * Number(groups?.["count"] ?? groups?.["digits"] ?? 1);
    }),
  );
  return said.length > 0 && said.every((one) => one === hours);
}

/** `07:30` as 7:30, 7.30 or 07h30; `19:30` as 7:30 too, where the words say that it is in the second half of the day. */
function saysTime(time: string, words: string): boolean {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  const isLate = SECOND_HALF.test(words);
  return Array.from(words.matchAll(/\b(\d{1,2})(?:\s?[:.hH]\s?(\d{2})?)?\b/g)).some(([, hour, minute]) => {
    const said = isLate && Number(hour) < 12 ? Number(hour) + 12 : Number(hour);
    return said === hours && Number(minute ?? 0) === minutes;
  });
}

/** A zone by its name, else by its city; UTC where the words name none. */
function saysZone(zone: string, words: string): boolean {
  const named = words.split(/[^A-Za-z0-9_+/-]+/).filter((part) => part.includes("/") && isTimeZone(part));
  if (named.length > 0) return named.every((one) => one.toLowerCase() === zone.toLowerCase());
  const city = zone.split("/").at(-1)?.replaceAll("_", " ") ?? zone;
  return zone === "UTC" || words.toLowerCase().includes(city.toLowerCase());
}
