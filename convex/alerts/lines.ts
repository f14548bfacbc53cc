import * as z from "zod";
import { symbolIn } from "../lib/money/tokens";
import { COIN, FUNDED, FUNDING_HOURS, isTimeZone, LEAST_FLOW_USD, MOVED, WINDOWS } from "./grammar";
import type { Condition } from "./tables";

/**
 * An alert as one line of canonical English: five forms, each read as a whole or not at all. A model restates a
 * person's words as such a line; somebody who knows the forms writes one directly. Pure.
 */

const MAX_USD = 1e12;
const levelUsd = z.number().positive().max(1e9);
const coin = z.string().regex(COIN, "must be a coin's symbol, such as SOL");

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
  // A price cannot fall by more than 100 %.
  .refine(({ direction, percent }) => direction === "up" || percent < 100);

export const conditionShape = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("price"),
    token: coin,
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
    overUsd: z.number().min(LEAST_FLOW_USD).max(MAX_USD),
  }),
  z.strictObject({
    kind: z.literal("digest"),
    time: z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/),
    timeZone: z.string().max(64).refine(isTimeZone),
  }),
]);

/** The content of a line, with its numbers as they are written: the words have to contain the same. */
export type Line = {
  condition: Condition;
  /** Its level, as it is written: percent for changes and funding, otherwise USD. */
  level: number;
  /** The hours of a change or of a funding rate. */
  hours: number | null;
};

const TOKEN = String.raw`\$?(?<token>[a-z0-9][a-z0-9.-]{0,19})`;
const NUMBER = String.raw`\$?(?<number>-?(?:\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.\d{1,12})?)(?<multiple>[kmb])?`;
const USD = String.raw`(?: ?(?:usd|\$))?`;
const HOURS = String.raw`(?<count>\d{1,4}) ?(?<unit>h|hours?|d|days?)`;
const form = (pattern: string): RegExp => new RegExp(`^${pattern}$`, "i");

type Parts = { token: string; direction: string; level: number; hours: number | null };
/** Each form with the condition that it says. */
const FORMS: readonly (readonly [RegExp, (parts: Parts) => object])[] = [
  [
    form(String.raw`${TOKEN} (?<direction>above|below) ${NUMBER}${USD}`),
    ({ token, direction, level: levelUsd }) => ({ kind: "price", token, direction, levelUsd }),
  ],
  [
    form(String.raw`${TOKEN} (?<direction>up|down) ${NUMBER} ?% in ${HOURS}`),
    ({ token, direction, level: percent, hours: windowHours }) => {
      return { kind: "change", token, direction, percent, windowHours };
    },
  ],
  [
    form(
      String.raw`${TOKEN} funding (?<direction>above|below) ${NUMBER} ?%(?: per (?:(?<count>[18]) ?)?(?<unit>h|hours?))?`,
    ),
    ({ token, direction, level, hours }) => {
      const percentPerHour = Number((level / (hours ?? FUNDING_HOURS)).toPrecision(12)) + 0;
      return { kind: "funding", token, direction, percentPerHour };
    },
  ],
  [
    form(String.raw`(?:whale )?(?<direction>inflow|outflow) of ${TOKEN} over ${NUMBER}${USD}`),
    ({ token, direction, level: overUsd }) => {
      return { kind: "flow", token, direction: direction === "inflow" ? "in" : "out", overUsd };
    },
  ],
];
const DIGEST = form(String.raw`digest at (?<time>\d{2}:\d{2})(?: (?<zone>[a-z0-9_+/-]+))?`);

const MULTIPLES: Readonly<Record<string, number>> = { k: 1e3, m: 1e6, b: 1e9 };

/** Reads words that are a line; `null` for any other words, and for conditions that are not allowed. */
export function readLine(text: string): Line | null {
  const words = text.normalize("NFKC").replaceAll("−", "-").replace(/\s+/gu, " ").trim().replace(/\.$/, "");
  const { time, zone = "UTC" } = DIGEST.exec(words)?.groups ?? {};
  if (time !== undefined)
    return lineOf({ kind: "digest", time, timeZone: zoneNamed(zone) }, { level: 0, hours: null });
  for (const [pattern, conditionOf] of FORMS) {
    const groups = pattern.exec(words)?.groups;
    if (groups === undefined) continue;
    const parts = partsOf(groups);
    return lineOf(conditionOf(parts), { level: parts.level, hours: parts.hours });
  }
  return null;
}

function lineOf(condition: object, numbers: Omit<Line, "condition">): Line | null {
  const { success, data } = conditionShape.safeParse(condition);
  return success ? { condition: data, ...numbers } : null;
}

function partsOf(groups: Partial<Record<string, string>>): Parts {
  const { token = "", direction = "", number = "", multiple = "", count, unit = "" } = groups;
  const scale = MULTIPLES[multiple.toLowerCase()] ?? 1;
  return {
    token: symbolIn(token),
    direction: direction.toLowerCase(),
    // Whole powers of ten: the product is rounded back to the digits that were written.
    level: Number((Number(number.replaceAll(",", "")) * scale).toPrecision(15)),
    hours: unit === "" ? null : Number(count ?? 1) * (unit.toLowerCase().startsWith("d") ? 24 : 1),
  };
}

/** A zone as the platform writes it, in any case of letters; unchanged if the platform knows no zone of this name. */
function zoneNamed(name: string): string {
  if (/^(?:utc|gmt|z)$/i.test(name)) return "UTC";
  if (!isTimeZone(name)) return name;
  // The platform uses older names for some zones; then the person's name stays.
  const known = new Intl.DateTimeFormat("en-GB", { timeZone: name }).resolvedOptions().timeZone;
  return known.toLowerCase() === name.toLowerCase() ? known : name;
}
