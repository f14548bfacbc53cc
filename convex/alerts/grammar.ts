import type { Infer } from "convex/values";
import * as z from "zod";
import { FLOOR_USD } from "../whales/coins";
import type { vCondition } from "./tables";

/** What an alert may be about. Whoever proposes one, a person's words or a model, this decides. */

/** Hours over which a change of price may be asked for. */
export const WINDOWS = [1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 168] as const;

export const PRICED = ["BTC", "ETH"] as const;
export const FUNDED = ["BTC", "ETH", "SOL"] as const;
export const MOVED = ["USDC", "USDT", "DAI", "ETH", "WETH", "CBBTC"] as const;

const MAX_USD = 1e12;
const levelUsd = z.number().positive().max(1e9);

/** Percent that a price may rise or fall: nothing falls further than to nothing. */
const changes = z
  .strictObject({
    kind: z.literal("change"),
    token: z.enum(PRICED),
    direction: z.enum(["up", "down"]),
    percent: z.number().min(0.1).max(1_000),
    windowHours: z
      .int()
      .refine((hours) => WINDOWS.some((one) => one === hours))
      .describe(`One of ${WINDOWS.join(", ")}`),
  })
  .refine(({ direction, percent }) => direction === "up" || percent < 100);

export const conditionShape = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("price"),
    token: z.enum(PRICED),
    direction: z.enum(["above", "below"]),
    levelUsd,
  }),
  changes,
  z.strictObject({
    kind: z.literal("funding"),
    token: z.enum(FUNDED),
    direction: z.enum(["above", "below"]),
    // Hyperliquid caps its rate at 4 % an hour.
    percentPerHour: z.number().min(-4).max(4),
  }),
  z.strictObject({
    kind: z.literal("flow"),
    token: z.enum(MOVED),
    direction: z.enum(["in", "out"]),
    // Smaller movements are not measured.
    overUsd: z.number().min(FLOOR_USD).max(MAX_USD),
  }),
  z.strictObject({
    kind: z.literal("digest"),
    time: z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/),
    timeZone: z.string().max(64).refine(isTimeZone),
  }),
]) satisfies z.ZodType<Infer<typeof vCondition>>;
export type Condition = z.output<typeof conditionShape>;

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

/** A subject's parts, with their types. */
export type Subject =
  | { kind: "price"; token: (typeof PRICED)[number] }
  | { kind: "change"; token: (typeof PRICED)[number]; windowHours: number }
  | { kind: "funding"; token: (typeof FUNDED)[number] }
  | { kind: "flow"; token: (typeof MOVED)[number]; direction: "in" | "out" };

const subjectShape = z.union([
  z.tuple([z.literal("price"), z.enum(PRICED)]),
  z.tuple([z.literal("change"), z.enum(PRICED), z.coerce.number()]),
  z.tuple([z.literal("funding"), z.enum(FUNDED)]),
  z.tuple([z.literal("flow"), z.enum(MOVED), z.enum(["in", "out"])]),
]);

/** Reads what `watchOf` wrote, the clock aside. */
export function subjectOf(text: string): Subject {
  const parts = subjectShape.parse(text.split(":"));
  switch (parts[0]) {
    case "price":
      return { kind: "price", token: parts[1] };
    case "change":
      return { kind: "change", token: parts[1], windowHours: parts[2] };
    case "funding":
      return { kind: "funding", token: parts[1] };
    case "flow":
      return { kind: "flow", token: parts[1], direction: parts[2] };
  }
}

/** Whether the platform knows a zone by this name. Names without a slash are short forms that mean several zones, UTC aside. */
export function isTimeZone(name: string): boolean {
  if (name === "UTC") return true;
  // The signs of `Etc/GMT+2` are the other way round.
  if (/^etc\//i.test(name) || !/^[A-Za-z]+(?:\/[A-Za-z0-9_+-]+){1,2}$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
