import { getSourceName } from "../figures/publicSources";
import { formatDollars, formatBigUsd, formatPercent } from "../lib/text/numbers";
import { formatDateTime, DAY, HOUR, MINUTE } from "../lib/time";
import { listKeys } from "../lib/objects";
import { PRICED_TOKENS } from "../market/tables";
import { COINS } from "../whales/coins";
import type { Condition, Observation, TimedCondition } from "./tables";

/** The conditions of alerts: their subjects, their levels, when they fire, and their texts. Pure, and without shapes (`reading` has them). */

/** The windows of a change of price, in hours. */
export const WINDOWS = [1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 168] as const;
/** A coin's symbol, for prices and changes. */
export const COIN = /^[A-Z0-9][A-Z0-9.-]{0,19}$/;
export const FUNDED = ["BTC", "ETH", "SOL"] as const;
/** The hours for which exchanges quote a funding rate, by default. */
export const FUNDING_HOURS = 8;
export const MOVED = ["USDC", "USDT", "DAI", "ETH", "WETH", "CBBTC"] as const;
/** Smaller movements are not measured: the floor of `whales/coins`, which endpoints do not import because it contains more. */
export const LEAST_FLOW_USD = 1_000_000;

export type Kind = Condition["kind"];

type AlertKind = {
  /**
   * Its line, told to the model that restates a person's words (`reading` has how each is read), and an example, told to
   * people who do not know how to say it, and to the model. `null`: it only triggers orders.
   */
  said: { form: string; example: string } | null;
  /** A `level` is crossed; an `event` is over at once, and the next may fire no matter what was before; a `time` comes. */
  observed: "level" | "event" | "time";
  /** What is asked for its observations, and how often; `null` where they come without anybody's alert. */
  demand: { of: "prices" | "rates" | "trades"; everyMs: number } | null;
};

/** Prices as often as those of the coins that are always sampled; for orders at every tick, which is a little early at times. */
const PRICES = { of: "prices", everyMs: 5 * MINUTE } as const;
const TRADES = { of: "trades", everyMs: MINUTE / 2 } as const;

/** The kinds of alerts; what each is compared with and how it is worded are cases of the functions below. */
export const ALERT_KINDS: Readonly<Record<Kind, AlertKind>> = {
  price: {
    said: {
      form: `"SYMBOL above|below NUMBER" is the price of a coin in USD`,
      example: "BTC above 100,000",
    },
    observed: "level",
    demand: PRICES,
  },
  change: {
    said: {
      form: `"SYMBOL up|down NUMBER % in N h" a change of its price within N hours, one of ${WINDOWS.join(", ")}`,
      example: "ETH down 5 % in 24 h",
    },
    observed: "level",
    demand: PRICES,
  },
  funding: {
    said: {
      form: `"SYMBOL funding above|below NUMBER % per N h" a funding rate of ${FUNDED.join(", ")}, per ${FUNDING_HOURS} hours unless the words say per hour, which is 1`,
      example: "ETH funding above 0.05 % per 8 h",
    },
    observed: "level",
    demand: { of: "rates", everyMs: 10 * MINUTE },
  },
  flow: {
    said: {
      form: `"inflow|outflow of SYMBOL over NUMBER" one movement of ${MOVED.join(", ")} into or out of an exchange, in USD`,
      example: "inflow of USDC over 10M",
    },
    observed: "event",
    demand: null,
  },
  digest: {
    said: {
      form: `"digest at HH:MM ZONE", or "digest every weekday at HH:MM ZONE", a summary, in 24 hours, with an IANA zone where the words name a place or a zone, otherwise UTC`,
      example: "digest at 07:30 Europe/Berlin",
    },
    observed: "time",
    demand: null,
  },
  research: {
    said: {
      form: `"research SYMBOL every day|weekday|monday at HH:MM ZONE" research on a coin, told when it has changed, the time as a digest's`,
      example: "research BTC every weekday at 07:30 Europe/Berlin",
    },
    observed: "time",
    demand: null,
  },
  clock: { said: null, observed: "time", demand: null },
  call: { said: null, observed: "event", demand: null },
};

/** The kinds that a person can be alerted to, as they are said. */
export const FORMS = listKeys(ALERT_KINDS).flatMap((kind) => ALERT_KINDS[kind].said ?? []);
const EXAMPLES = FORMS.map(({ example }) => example);

export const HOW_TO_SAY = `Say it like one of these: ${EXAMPLES.join(" · ")}.`;

/** The answer while no model can read a person's words. */
export const UNREAD = `No language model answers just now, so I can read alerts only in these words: ${EXAMPLES.join(" · ")}.`;

/** Whether the platform knows a zone of this name. A short form (`CST`) stands for several zones, and the signs of `Etc/GMT+2` are inverted. */
export function isTimeZone(name: string): boolean {
  if (name === "UTC") return true;
  if (!/^(?!etc\/)[a-z]+(?:\/[a-z0-9_+-]+){1,2}$/i.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** Whether a coin's price is always sampled, also without an alert. */
export function isAlwaysSampled(token: string): boolean {
  return PRICED_TOKENS.some((one) => one === token);
}

/** The subject whose observations an alert is compared with, and the side of the level on which it fires. */
export type Watch = { subject: string; side: "over" | "under"; level: number };

/** The subjects of what is due at a time: digests, research and orders. */
export const CLOCK = "clock";
export const BRIEFS = "clock:research";
export const ORDERS = "clock:order";

export function isTimed(condition: Condition): condition is TimedCondition {
  return ALERT_KINDS[condition.kind].observed === "time";
}

/** @param isOrder Whether an order follows: a price is observed more often for it. */
export function toWatch(condition: Condition, isOrder = false): Watch {
  const at = (subject: string, isOver: boolean, level: number): Watch => {
    return { subject, side: isOver ? "over" : "under", level };
  };
  switch (condition.kind) {
    case "price":
      return at(
        `${isOrder ? "trade" : "price"}:${condition.token}`,
        condition.direction === "above",
        condition.levelUsd,
      );
    case "change": {
      const { token, percent, windowHours, direction } = condition;
      return at(
        `change:${token}:${windowHours}`,
        direction === "up",
        direction === "up" ? percent : -percent,
      );
    }
    case "funding":
      return at(`funding:${condition.token}`, condition.direction === "above", condition.percentPerHour);
    case "flow":
      return at(`flow:${condition.token}:${condition.direction}`, true, condition.overUsd);
    case "digest":
      return at(CLOCK, true, 0);
    case "research":
      return at(BRIEFS, true, 0);
    case "clock":
      return at(ORDERS, true, 0);
    case "call":
      return at("call", true, 0);
  }
}

const SUBJECT_KINDS = ["price", "change", "funding", "flow"] as const;
/** A subject's parts; only a change has hours, and only a flow a direction. `isTrade`: a price for orders. */
export type Subject = {
  kind: (typeof SUBJECT_KINDS)[number];
  isTrade: boolean;
  token: string;
  windowHours: number;
  direction: "in" | "out";
};

/** The parts of a subject that `toWatch` wrote. Clocks and calls have none. */
export function parseSubject(text: string): Subject {
  const [written, token = "", rest = ""] = text.split(":");
  const isTrade = written === "trade";
  const kind = isTrade ? "price" : SUBJECT_KINDS.find((one) => one === written);
  if (kind === undefined) throw new Error(`${text} is not a subject of an alert`);
  return { kind, isTrade, token, windowHours: Number(rest), direction: rest === "in" ? "in" : "out" };
}

/** The subject whose stored values a subject's observations are made from. */
export function toBasis(subject: string): string {
  const [kind, token] = subject.split(":");
  return kind === "change" ? `price:${token}` : subject;
}

/** What is asked for the values of a basis, and how often; `null` where they come without anybody's alert. */
export function getDemand(basis: string): AlertKind["demand"] {
  if (basis === CLOCK) return null;
  const { kind, isTrade, token } = parseSubject(basis);
  if (isTrade) return TRADES;
  const { demand } = ALERT_KINDS[kind];
  return demand?.of === "prices" && isAlwaysSampled(token) ? null : demand;
}

/** An alert is quiet for this long after it has fired. */
export const QUIET_MS = HOUR;

/** Whether a value is at the level or beyond it. */
export function isReached({ side, level }: Pick<Watch, "side" | "level">, value: number): boolean {
  return side === "over" ? value >= level : value <= level;
}

/** Whether a subject's observations are events. A movement ends at once, so the next one may fire whatever came before it. */
export function isEvent(subject: string): boolean {
  return ALERT_KINDS[parseSubject(subject).kind].observed === "event";
}

/** Whether an observation is newer than the last one: a source that lags behind reports an earlier state. */
export function isNews({ observedAt }: Observation, last: Observation | null, subject: string): boolean {
  return last === null || isEvent(subject) || observedAt > last.observedAt;
}

/** How far a zone's clocks are ahead of UTC at a moment (epoch ms), in ms. */
function getOffset(timeZone: string, at: number): number {
  // Swedish dates are written as in ISO 8601.
  const zoned = new Date(at).toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  return Date.parse(`${zoned.replace(" ", "T")}Z`) - Math.floor(at / MINUTE) * MINUTE;
}

/** Weekdays from Sunday on, as they are written in words. */
export const WEEKDAYS = [
  "Sunday",
  "Monday",
  "Tuesday",
  "Wednesday",
  "Thursday",
  "Friday",
  "Saturday",
] as const;
/** Monday to Friday. */
export const WORKDAYS = [1, 2, 3, 4, 5];

/** A time of day in a zone, on some days of the week or on one of the month. */
export type Schedule = { time: string; timeZone: string; days?: number[]; dayOfMonth?: number };

/** Whether a schedule counts a day (days since 1970, which began on a Thursday). */
function isDay({ days, dayOfMonth }: Schedule, day: number): boolean {
  const date = new Date(day * DAY);
  return (
    (days === undefined || days.includes(date.getUTCDay())) &&
    (dayOfMonth === undefined || dayOfMonth === date.getUTCDate())
  );
}

const toLocalDay = (timeZone: string, at: number): number => Math.floor((at + getOffset(timeZone, at)) / DAY);

/**
 * When the clocks of a zone next show a schedule's time, later than `after` (epoch ms). If they skip it in spring, the hour
 * after it counts, so that every day has one.
 */
export function getNextTime(schedule: Schedule, after: number): number {
  const { time, timeZone } = schedule;
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  for (let day = toLocalDay(timeZone, after); ; day++) {
    if (!isDay(schedule, day)) continue;
    const wall = day * DAY + hours * HOUR + minutes * MINUTE;
    // The offset just before: a time that autumn repeats counts once, at its first.
    const guess = wall - getOffset(timeZone, wall - getOffset(timeZone, wall - DAY) - 1);
    const at = wall - getOffset(timeZone, guess) === guess ? guess : wall - getOffset(timeZone, wall - DAY);
    if (at > after) return at;
  }
}

/** How often a schedule's time comes after one moment, and not after another (epoch ms). */
export function countTimes(schedule: Schedule, after: number, until: number): number {
  const { time, timeZone } = schedule;
  const first = getNextTime(schedule, after);
  if (first > until) return 0;
  const last = toLocalDay(timeZone, until);
  const midnight = until - ((until + getOffset(timeZone, until)) % DAY);
  const hasCome = getNextTime({ time, timeZone }, midnight - 1) <= until;
  let count = isDay(schedule, last) && hasCome ? 1 : 0;
  for (let day = toLocalDay(timeZone, first); day < last; day++) if (isDay(schedule, day)) count++;
  return count;
}

/** `every weekday at 07:30 Europe/Berlin`. */
export function formatSchedule({ time, timeZone, days, dayOfMonth }: Schedule): string {
  const isWorkdays = days?.length === WORKDAYS.length && WORKDAYS.every((day) => days.includes(day));
  const named = days?.map((day) => WEEKDAYS[day] ?? "").join(", ");
  const on =
    dayOfMonth === undefined ? (isWorkdays ? "weekday" : (named ?? "day")) : `month on day ${dayOfMonth}`;
  return `every ${on} at ${time} ${timeZone}`;
}

/** A condition as a line of the grammar, with unambiguous numbers. @param dollar Stands before amounts in USD. */
export function formatCondition(condition: Condition, dollar: "" | "$" = ""): string {
  const number = (value: number) => value.toLocaleString("en-US", { maximumFractionDigits: 12 });
  switch (condition.kind) {
    case "price":
      return `${condition.token} ${condition.direction} ${dollar}${number(condition.levelUsd)}`;
    case "change":
      return `${condition.token} ${condition.direction} ${number(condition.percent)} % in ${condition.windowHours} h`;
    case "funding": {
      const formatRate = Number((condition.percentPerHour * FUNDING_HOURS).toPrecision(12));
      return `${condition.token} funding ${condition.direction} ${number(formatRate)} % per ${FUNDING_HOURS} h`;
    }
    case "flow":
      return `${condition.direction}flow of ${condition.token} over ${dollar}${number(condition.overUsd)}`;
    case "digest": {
      const { days, time, timeZone } = condition;
      return `digest ${days === undefined ? `at ${time} ${timeZone}` : formatSchedule(condition)}`;
    }
    case "research":
      return `research ${condition.token} ${formatSchedule(condition)}${condition.always === true ? " always" : ""}`;
    case "clock":
      return formatSchedule(condition);
    case "call":
      return "on call";
  }
}

/** A condition as a sentence, with its units. */
export function describe(condition: Condition): string {
  switch (condition.kind) {
    case "price":
      return `${condition.token} at ${formatDollars(condition.levelUsd)} or ${condition.direction}`;
    case "change": {
      const way = condition.direction === "up" ? "rises" : "falls";
      return `${condition.token} ${way} ${formatPercent(condition.percent)} or more within ${formatHours(condition.windowHours)}`;
    }
    case "funding":
      return `${condition.token} funding at ${rate(condition.percentPerHour)} or ${condition.direction} (Hyperliquid)`;
    case "flow": {
      const way = condition.direction === "in" ? "into" : "out of";
      return `One movement of ${COINS[condition.token].name} ${way} an exchange on Base, worth ${formatDollars(condition.overUsd)} or more`;
    }
    case "digest":
      return `A digest ${formatSchedule(condition)}`;
    case "research": {
      const when = condition.always === true ? "" : ", when it has changed";
      return `Research on ${condition.token} ${formatSchedule(condition)}${when}`;
    }
    case "clock":
      return formatSchedule(condition);
    case "call":
      return "on a call of its address";
  }
}

/** The sentence of an observation that has fired an alert. */
export function describeObservation(
  condition: Condition,
  { value, observedAt, source }: Observation,
): string {
  const when = `${formatDateTime(observedAt)} (${getSourceName(source)})`;
  switch (condition.kind) {
    case "price":
      return `${condition.token} is at ${formatDollars(value)}, ${when}`;
    case "change":
      return `${condition.token} has ${value < 0 ? "fallen" : "risen"} ${formatPercent(Math.abs(value), 2)} in ${formatHours(condition.windowHours)}, ${when}`;
    case "funding":
      return `${condition.token} funding is at ${rate(value)}, ${when}`;
    case "flow":
      return `${describeMovement(condition, { value })}, ${when}`;
    case "call":
      return "Its address was called";
    default:
      return `It is ${condition.time} in ${condition.timeZone}`;
  }
}

/** `USDC: $12.4M went to an exchange`. */
export function describeMovement(
  { token, direction }: Extract<Condition, { kind: "flow" }>,
  { value }: Pick<Observation, "value">,
): string {
  return `${COINS[token].name}: ${formatBigUsd(value)} ${direction === "in" ? "went to" : "left"} an exchange`;
}

/** A funding rate as exchanges quote it. */
function rate(percentPerHour: number): string {
  return `${formatPercent(percentPerHour * FUNDING_HOURS)} per ${FUNDING_HOURS} hours`;
}

export function formatHours(count: number): string {
  if (count > 24) return `${count / 24} days`;
  return count === 1 ? "an hour" : `${count} hours`;
}
