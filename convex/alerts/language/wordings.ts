import type { Condition } from "./conditions";
import { FUNDING_HOURS } from "./grammar";

/** The lines of `lines` as the service writes them. Pure. */

export const EXAMPLES = [
  "BTC above 100,000",
  "ETH down 5 % in 24 h",
  "ETH funding above 0.05 % per 8 h",
  "inflow of USDC over 10M",
  "digest at 07:30 Europe/Berlin",
] as const;

export const HOW_TO_SAY = `Say it like one of these: ${EXAMPLES.join(" · ")}.`;

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
