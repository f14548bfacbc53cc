import * as z from "zod";
import { COIN, FUNDED, isTimeZone, LEAST_FLOW_USD, MOVED, WINDOWS } from "./grammar";

/** What an alert may be about, no matter whether a person's words or a model propose it. */

const MAX_USD = 1e12;
const levelUsd = z.number().positive().max(1e9);
const coin = z.string().regex(COIN, "must be a coin's symbol, such as SOL");

/**
 * The price is at least this percentage above or below the price of so many hours before. A price cannot fall by more
 * than 100 %.
 */
const changes = z
  .strictObject({
    kind: z.literal("change"),
    token: coin,
    direction: z.enum(["up", "down"]),
    percent: z.number().min(0.1).max(1_000),
    windowHours: z
      .int()
      .refine((hours) => WINDOWS.some((one) => one === hours))
      .describe(`One of ${WINDOWS.join(", ")}`),
  })
  .refine(({ direction, percent }) => direction === "up" || percent < 100);

export const conditionShape = z.discriminatedUnion("kind", [
  /** The price is at the level or beyond it. */
  z.strictObject({
    kind: z.literal("price"),
    token: coin,
    direction: z.enum(["above", "below"]),
    levelUsd,
  }),
  changes,
  /** The funding rate of the perpetual market is at the level or beyond it. */
  z.strictObject({
    kind: z.literal("funding"),
    token: z.enum(FUNDED),
    direction: z.enum(["above", "below"]),
    // Hyperliquid caps its rate at 4 % an hour.
    percentPerHour: z.number().min(-4).max(4),
  }),
  /** One measured movement on Base into or out of an exchange is worth at least this much. */
  z.strictObject({
    kind: z.literal("flow"),
    token: z.enum(MOVED),
    direction: z.enum(["in", "out"]),
    overUsd: z.number().min(LEAST_FLOW_USD).max(MAX_USD),
  }),
  /** The time of day, such as `07:30`, in a zone of the IANA database. */
  z.strictObject({
    kind: z.literal("digest"),
    time: z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/),
    timeZone: z.string().max(64).refine(isTimeZone),
  }),
]);
export type Condition = z.output<typeof conditionShape>;
