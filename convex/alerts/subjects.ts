import * as z from "zod";
import { FUNDED, MOVED, PRICED, type Condition } from "./grammar";

/** What alerts are compared with, as the tables name it. */

/** What observations an alert is compared with, on which side of which level it fires. */
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

const subjectShape = z.union([
  z.tuple([z.literal("price"), z.enum(PRICED)]).transform(([kind, token]) => ({ kind, token })),
  z
    .tuple([z.literal("change"), z.enum(PRICED), z.coerce.number()])
    .transform(([kind, token, windowHours]) => ({ kind, token, windowHours })),
  z.tuple([z.literal("funding"), z.enum(FUNDED)]).transform(([kind, token]) => ({ kind, token })),
  z
    .tuple([z.literal("flow"), z.enum(MOVED), z.enum(["in", "out"])])
    .transform(([kind, token, direction]) => ({ kind, token, direction })),
]);
/** A subject's parts, with their types. */
export type Subject = z.output<typeof subjectShape>;

/** Reads what `watchOf` wrote, the clock aside. */
export function subjectOf(text: string): Subject {
  return subjectShape.parse(text.split(":"));
}
