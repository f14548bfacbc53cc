import * as z from "zod";
import { absentWhenEmpty, tokenOf } from "../../lib/http/input";
import { signalStats } from "../statistics/shapes";
import { TOKENS } from "../trade/rules";

/** What callers see of a signal. */

const side = z.enum(["BUY", "SELL"]);
const numberOrNull = z.number().nullable();
const control = z.object({ signal: side, pnlPercent: numberOrNull, afterCostsPercent: numberOrNull });

export const publicSignal = z.object({
  id: z
    .string()
    .describe(
      "Token and UTC day, such as BTC-2026-11-20, for /signals/{id}; for a person's arm with the arm's id before it",
    ),
  token: z.enum(["BTC", "ETH"]),
  timeframe: z.literal("1h"),
  signal: z.enum(["BUY", "SELL", "HOLD"]),
  entry: z.number().describe("USD: the measured price at issue"),
  tp1: numberOrNull.describe("USD; null for HOLD"),
  tp2: numberOrNull.describe("USD; null for HOLD"),
  sl: numberOrNull.describe("USD; null for HOLD"),
  confidence: z.number().describe("0 to 100, as the model stated it"),
  calibratedConfidence: numberOrNull.describe(
    "0 to 100: the confidence, calibrated by outcomes before this signal; never changed afterwards. null if there are fewer than 30, so no record yet",
  ),
  chancePercent: numberOrNull.describe(
    "The score of a price without direction between sl (0) and tp1 (100): risk / (risk + reward); null for HOLD",
  ),
  costPercent: z.number().describe("The costs of getting in and out"),
  breakEvenPercent: numberOrNull.describe(
    "The mean score at which such trades earn their costs: chancePercent and the costs' share of the way from sl to tp1",
  ),
  reasoning: z.string(),
  model: z.string(),
  promptVersion: z.string(),
  status: z.enum(["PENDING", "WIN", "LOSS", "EXPIRED"]),
  generatedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  closedAt: z.iso.datetime().optional().describe("The touch, to the minute, or the expiry"),
  decidedBy: z
    .enum(["candle", "sample", "price"])
    .nullable()
    .optional()
    .describe(
      "One-minute candles, stored 5-minute samples, or a look at the live price; null if no price was known",
    ),
  gapMinutes: z.number().describe("Minutes of its path so far that no candle covers"),
  exitPrice: numberOrNull
    .optional()
    .describe("USD: the level touched, or the price at expiry; null if no price was known"),
  pnlPercent: numberOrNull
    .optional()
    .describe("Before costs, signed by direction, 1.5 is 1.5 %; null for HOLD and without an exit price"),
  afterCostsPercent: numberOrNull.optional(),
  excessPoints: numberOrNull
    .optional()
    .describe("Its score minus its chance, in points; one signal proves nothing. null for HOLD"),
  controls: z
    .object({
      coin: control,
      momentum: control.nullable().describe("null if the price of a day ago was not known"),
      alwaysLong: control,
      buyAndHold: control,
    })
    .optional()
    .describe(
      "The same trade with other sides, and buying and holding to the expiry; shown from its expiry on, not for HOLD",
    ),
});

export type PublicSignal = z.output<typeof publicSignal>;

/** A token that has signals; left out for all of them. */
export const signalToken = absentWhenEmpty(tokenOf(TOKENS, "must be BTC or ETH")).describe(
  "BTC or ETH, in any case, or by name; omit for both.",
);

export const recordCut = signalStats
  .pick({ n: true, wins: true, losses: true, expired: true, trades: true, edge: true })
  .extend({
    cut: z
      .string()
      .describe(
        "BUY or SELL; calm, usual or wild: the price moved by less than 35, less than 65 or more percent a year when the signal was issued; for the daily signals also a model and its prompt",
      ),
    averageAfterCostsPercent: numberOrNull,
  });
export type RecordCut = z.output<typeof recordCut>;

const sum = z.number();

export const equityPoint = z.object({
  id: z.string(),
  closedAt: z.iso.datetime(),
  afterCostsPercent: z.number(),
  sumPercent: sum.describe("This result and those of all trades of the record before it"),
  fallPercent: z
    .number()
    .nonnegative()
    .describe("How far the sum is below the highest of those shown before it, or 0"),
  controls: z
    .object({ coin: sum, momentum: sum, alwaysLong: sum, buyAndHold: sum })
    .describe(
      "The sums of the control arms, also from the first trade of the record on; a trade whose controls are not known yet adds nothing",
    ),
});
export type EquityPoint = z.output<typeof equityPoint>;
