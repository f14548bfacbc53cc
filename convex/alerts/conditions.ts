import { getSourceName } from "../figures/publicSources";
import { formatDollars, formatBigUsd, formatPercent } from "../lib/text/numbers";
import { formatDateTime, HOUR, MINUTE } from "../lib/time";
import { listKeys } from "../lib/objects";
import { isAlwaysSampled } from "../market/tables";
import { COINS } from "../whales/coins";
import { formatSchedule } from "./schedule";
import type { Condition, Observation, TimedCondition } from "./tables";

/** The conditions of alerts: their subjects, their levels, when they fire, and their texts. Pure, and without shapes (`shapes` has them). */

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

/** What is asked for observations, and how often. */
export type Demand = { of: "prices" | "rates" | "trades"; everyMs: number };

type AlertKind = {
  /**
   * Its line, told to the model that restates a person's words (`words` reads it), and an example, told to people who do
   * not know how to say it, and to the model. `null`: it only triggers orders.
   */
  said: { form: string; example: string } | null;
  /** A `level` is crossed; an `event` is over at once, and the next may fire no matter what was before; a `time` comes. */
  observed: "level" | "event" | "time";
  /** `null` where its observations come without anybody's alert. */
  demand: Demand | null;
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

export const ALERT_EXAMPLES = `Say it like one of these: ${EXAMPLES.join(" · ")}.`;

/** The answer while no model can read a person's words. */
export const NO_MODEL_NOW = `No language model answers just now, so I can read alerts only in these words: ${EXAMPLES.join(" · ")}.`;

/** The subject whose observations an alert is compared with, and the side of the level on which it fires. */
export type Watch = { subject: string; side: "over" | "under"; level: number };

/** The row among the cursors that says when all subjects were last compared. */
export const COMPARED = "clock";
/** The subjects of what is due at a time: digests, research and orders, each taken up for itself. */
export const CLOCKS = ["clock:digest", "clock:research", "clock:clock"] as const;

export function isTimed(condition: Condition): condition is TimedCondition {
  return ALERT_KINDS[condition.kind].observed === "time";
}

/** Whether observations are compared with a condition; the others come by the clock or by a call. */
export function isMeasured(condition: Condition): boolean {
  return !isTimed(condition) && condition.kind !== "call";
}

/** @param isOrder Whether an order follows: a price is observed more often for it. */
export function toWatch(condition: Condition, isOrder = false): Watch {
  const at = (subject: string, isOver: boolean, level: number): Watch => {
    return { subject, side: isOver ? "over" : "under", level };
  };
  switch (condition.kind) {
    case "price": {
      const { token, direction, levelUsd } = condition;
      return at(`${isOrder ? "trade" : "price"}:${token}`, direction === "above", levelUsd);
    }
    case "change": {
      const { token, percent, windowHours, direction } = condition;
      const isUp = direction === "up";
      return at(`change:${token}:${windowHours}`, isUp, isUp ? percent : -percent);
    }
    case "funding":
      return at(`funding:${condition.token}`, condition.direction === "above", condition.percentPerHour);
    case "flow":
      return at(`flow:${condition.token}:${condition.direction}`, true, condition.overUsd);
    case "call":
      return at("call", true, 0);
    case "digest":
    case "research":
    case "clock":
      return at(`clock:${condition.kind}`, true, 0);
  }
}

/** The kinds of conditions that observations are compared with. */
export type MeasuredKind = Exclude<Condition, TimedCondition | { kind: "call" }>["kind"];
const MEASURED: Readonly<Record<MeasuredKind, true>> = {
  price: true,
  change: true,
  funding: true,
  flow: true,
};
/** A subject's parts; only a change has hours, and only a flow a direction. `isTrade`: a price for orders. */
export type Subject = {
  kind: MeasuredKind;
  isTrade: boolean;
  token: string;
  windowHours: number;
  direction: "in" | "out";
};

/** The parts of a subject that `toWatch` wrote. Clocks and calls have none. */
export function parseSubject(text: string): Subject {
  const [written, token = "", rest = ""] = text.split(":");
  const isTrade = written === "trade";
  const kind = isTrade ? "price" : listKeys(MEASURED).find((one) => one === written);
  if (kind === undefined) throw new Error(`${text} is not a subject of an alert`);
  return { kind, isTrade, token, windowHours: Number(rest), direction: rest === "in" ? "in" : "out" };
}

/** The subject whose stored values a subject's observations are made from. */
export function toBasis(subject: string): string {
  const [kind, token] = subject.split(":");
  return kind === "change" ? `price:${token}` : subject;
}

/** What is asked for the values of a basis, and how often; `null` where they come without anybody's alert. */
export function getDemand(basis: string): Demand | null {
  if (basis === COMPARED) return null;
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

/** A condition as the line that sets it: people see it, buttons carry it, and `words` parses it back without a loss. */
export function formatCondition(condition: Condition): string {
  const number = (value: number) => value.toLocaleString("en-US", { maximumFractionDigits: 12 });
  const usd = (value: number) => {
    const usual = formatDollars(value);
    return Number(usual.replaceAll(/[$,]/g, "")) === value ? usual : `$${number(value)}`;
  };
  switch (condition.kind) {
    case "price":
      return `${condition.token} ${condition.direction} ${usd(condition.levelUsd)}`;
    case "change":
      return `${condition.token} ${condition.direction} ${number(condition.percent)} % in ${condition.windowHours} h`;
    case "funding": {
      const rate = Number((condition.percentPerHour * FUNDING_HOURS).toPrecision(12));
      return `${condition.token} funding ${condition.direction} ${number(rate)} % per ${FUNDING_HOURS} h`;
    }
    case "flow":
      return `${condition.direction}flow of ${condition.token} over ${usd(condition.overUsd)}`;
    case "digest":
      return `digest ${formatSchedule(condition)}`;
    case "research":
      return `research ${condition.token} ${formatSchedule(condition)}${condition.always === true ? " always" : ""}`;
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
