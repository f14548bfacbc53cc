import { sourceName } from "../lib/publicSources";
import { bigUsd, percent } from "../lib/text/numbers";
import { dollars } from "../lib/text/strings";
import { dateTime } from "../lib/time";
import { COINS } from "../whales/coins";
import { FUNDING_HOURS } from "./grammar";
import type { Condition, Observation } from "./tables";

/** Alerts and firings in words: as lines of the grammar, and as people read them. Pure. */

export const EXAMPLES = [
  "BTC above 100,000",
  "ETH down 5 % in 24 h",
  "ETH funding above 0.05 % per 8 h",
  "inflow of USDC over 10M",
  "digest at 07:30 Europe/Berlin",
] as const;

export const HOW_TO_SAY = `Say it like one of these: ${EXAMPLES.join(" · ")}.`;

/** The answers to words that ask for no alert, or cannot be read. */
export const SAID = {
  none: HOW_TO_SAY,
  unread: `No language model answers just now, so I can read alerts only in these words: ${EXAMPLES.join(" · ")}.`,
} as const;

/** The line of a condition, with numbers that can be read in one way only. @param dollar Before amounts in USD. */
export function lineOf(condition: Condition, dollar: "" | "$" = ""): string {
  const number = (value: number) => value.toLocaleString("en-US", { maximumFractionDigits: 12 });
  switch (condition.kind) {
    case "price":
      return `${condition.token} ${condition.direction} ${dollar}${number(condition.levelUsd)}`;
    case "change":
      return `${condition.token} ${condition.direction} ${number(condition.percent)} % in ${condition.windowHours} h`;
    case "funding": {
      const rate = Number((condition.percentPerHour * FUNDING_HOURS).toPrecision(12));
      return `${condition.token} funding ${condition.direction} ${number(rate)} % per ${FUNDING_HOURS} h`;
    }
    case "flow":
      return `${condition.direction}flow of ${condition.token} over ${dollar}${number(condition.overUsd)}`;
    case "digest":
      return `digest at ${condition.time} ${condition.timeZone}`;
  }
}

/** What an alert waits for, with its units. */
export function describe(condition: Condition): string {
  switch (condition.kind) {
    case "price":
      return `${condition.token} at ${dollars(condition.levelUsd)} or ${condition.direction}`;
    case "change": {
      const way = condition.direction === "up" ? "rises" : "falls";
      return `${condition.token} ${way} ${percent(condition.percent)} or more within ${hours(condition.windowHours)}`;
    }
    case "funding":
      return `${condition.token} funding at ${rate(condition.percentPerHour)} or ${condition.direction} (Hyperliquid)`;
    case "flow": {
      const way = condition.direction === "in" ? "into" : "out of";
      return `One movement of ${COINS[condition.token].name} ${way} an exchange on Base, worth ${dollars(condition.overUsd)} or more`;
    }
    case "digest":
      return `A digest every day at ${condition.time} ${condition.timeZone}`;
  }
}

/** What an observation that has fired an alert says. */
export function observed(condition: Condition, { value, observedAt, source }: Observation): string {
  const when = `${dateTime(observedAt)} (${sourceName(source)})`;
  switch (condition.kind) {
    case "price":
      return `${condition.token} is at ${dollars(value)}, ${when}`;
    case "change":
      return `${condition.token} has ${value < 0 ? "fallen" : "risen"} ${percent(Math.abs(value), 2)} in ${hours(condition.windowHours)}, ${when}`;
    case "funding":
      return `${condition.token} funding is at ${rate(value)}, ${when}`;
    case "flow":
      return `${COINS[condition.token].name}: ${bigUsd(value)} ${condition.direction === "in" ? "went to" : "left"} an exchange, ${when}`;
    case "digest":
      return `It is ${condition.time} in ${condition.timeZone}`;
  }
}

/** A funding rate as exchanges quote it. */
function rate(percentPerHour: number): string {
  return `${percent(percentPerHour * FUNDING_HOURS)} per ${FUNDING_HOURS} hours`;
}

export function hours(count: number): string {
  if (count > 24) return `${count / 24} days`;
  return count === 1 ? "an hour" : `${count} hours`;
}
