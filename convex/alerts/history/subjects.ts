import { PRICED_TOKENS } from "../../prices/tables";
import type { Condition } from "../language/conditions";
import { COIN, FUNDED, MOVED } from "../language/grammar";

/** What alerts are compared with, as the tables name it. */

/** Whether a coin's price is always sampled, also without an alert. */
export function isAlwaysSampled(token: string): boolean {
  return PRICED_TOKENS.some((one) => one === token);
}

/** Which observations an alert is compared with, and on which side of which level it fires. */
export type Watch = { subject: string; side: "over" | "under"; level: number };

/** The subject of alerts at a time of day. */
export const CLOCK = "clock";

export function watchOf(condition: Condition): Watch {
  switch (condition.kind) {
    case "price":
      return {
        subject: `price:${condition.token}`,
        side: condition.direction === "above" ? "over" : "under",
        level: condition.levelUsd,
      };
    case "change": {
      const isUp = condition.direction === "up";
      return {
        subject: `change:${condition.token}:${condition.windowHours}`,
        side: isUp ? "over" : "under",
        level: isUp ? condition.percent : -condition.percent,
      };
    }
    case "funding":
      return {
        subject: `funding:${condition.token}`,
        side: condition.direction === "above" ? "over" : "under",
        level: condition.percentPerHour,
      };
    case "flow":
      return {
        subject: `flow:${condition.token}:${condition.direction}`,
        side: "over",
        level: condition.overUsd,
      };
    case "digest":
      return { subject: CLOCK, side: "over", level: 0 };
  }
}

/** A subject's parts, with their types. */
export type Subject =
  | { kind: "price"; token: string }
  | { kind: "change"; token: string; windowHours: number }
  | { kind: "funding"; token: (typeof FUNDED)[number] }
  | { kind: "flow"; token: (typeof MOVED)[number]; direction: "in" | "out" };

/** Reads what `watchOf` wrote, except for the clock. */
export function subjectOf(text: string): Subject {
  const [kind, token = "", rest] = text.split(":");
  const priced = COIN.test(token) ? token : undefined;
  const funded = FUNDED.find((one) => one === token);
  const moved = MOVED.find((one) => one === token);
  const direction = (["in", "out"] as const).find((one) => one === rest);
  if (kind === "price" && priced !== undefined) return { kind, token: priced };
  if (kind === "change" && priced !== undefined && Number(rest) > 0)
    return { kind, token: priced, windowHours: Number(rest) };
  if (kind === "funding" && funded !== undefined) return { kind, token: funded };
  if (kind === "flow" && moved !== undefined && direction !== undefined)
    return { kind, token: moved, direction };
  throw new Error(`${text} is not a subject of an alert`);
}
