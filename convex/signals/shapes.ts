import * as z from "zod";
import { optionalUnlessBlank, oneOfSymbols } from "../platform/http/input";
import { resolveSymbol } from "../lib/money/coins";
import { SIGNAL_TOKENS } from "./rules";

/** The public shapes of signals. Percentages are numbers: 1.5 is 1.5 %. Figures are rounded to ten decimals. */

const numberOrNull = z.number().nullable();
const count = z.int().nonnegative();
const share = z.number().min(0).max(100);

export const publicSignal = z.object({
  id: z.string().describe("Token and UTC day, such as BTC-2026-11-20, for /signals/{id}"),
  token: z.enum(SIGNAL_TOKENS),
  timeframe: z.literal("1h"),
  signal: z.enum(["BUY", "SELL", "HOLD"]),
  entry: z.number().describe("USD: the measured price at issue"),
  tp1: numberOrNull.describe("USD; null for HOLD"),
  tp2: numberOrNull.describe("USD; null for HOLD"),
  sl: numberOrNull.describe("USD; null for HOLD"),
  confidence: z.number().describe("0 to 100, as the model stated it"),
  chancePercent: numberOrNull.describe(
    "The score of a price without direction between sl (0) and tp1 (100): risk / (risk + reward); null for HOLD",
  ),
  costPercent: z.number().describe("The costs of getting in and out"),
  breakEvenPercent: numberOrNull.describe(
    "The mean score at which such trades earn their costs; confidence is never below it. null for HOLD",
  ),
  reasoning: z.string(),
  model: z.string(),
  promptVersion: z.string(),
  status: z.enum(["PENDING", "WIN", "LOSS", "EXPIRED"]),
  generatedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  closedAt: z.iso.datetime().optional().describe("The touch, to the minute, or the expiry"),
  gapMinutes: z.number().optional().describe("Minutes of its path that no candle covers"),
  exitPrice: numberOrNull
    .optional()
    .describe("USD: the level touched, or the price at expiry; null if no price was known"),
  pnlPercent: numberOrNull
    .optional()
    .describe("Before costs, signed by direction; null for HOLD and without an exit price"),
  afterCostsPercent: numberOrNull.optional(),
  excessPoints: numberOrNull
    .optional()
    .describe("Its score minus its chance, in points; one signal proves nothing. null for HOLD"),
});
export type PublicSignal = z.output<typeof publicSignal>;

/** A token with signals; all of them when omitted. */
export const signalToken = optionalUnlessBlank(
  oneOfSymbols(SIGNAL_TOKENS, "must be BTC or ETH; leave it out for both", resolveSymbol),
).describe("BTC or ETH, in any case, or by name; omit for both.");

const result = z.object({
  totalPnlPercent: z
    .number()
    .describe("Sum of the signed percentages: the same stake on every signal, gains not reinvested"),
  expectancyPercent: numberOrNull.describe("The average result of a trade, expired ones included"),
  profitFactor: numberOrNull.describe("Sum of the gains / sum of the losses; null without a losing trade"),
});

export const signalStats = z.object({
  summary: z.string().describe("The result in two sentences"),
  n: count.describe("Closed signals, HOLD included"),
  wins: count,
  losses: count,
  expired: count.describe("Closed by age, HOLD included"),
  holds: count.describe("HOLD signals take no position: they are in none of the figures below"),
  missingDays: count.describe(
    "Days between the first and the last signal on which a token got none, counted for each token; /signals/proof says why",
  ),
  gaps: count.describe(
    "Trades with more than 5 minutes that no candle covers: they count at most as chance for an edge, and at least against one",
  ),
  winrate: share
    .nullable()
    .describe(
      "wins / (wins + losses); null when there are none. Near targets and far stops raise it: see edge",
    ),
  trades: count.describe("BUY and SELL with a result, expired ones included: the n of the results"),
  beforeCosts: result,
  afterCosts: result,
  buyAndHoldPercent: numberOrNull.describe(
    "Bought at the first signal and held to the end of the last one, the tokens with the same stake, before costs",
  ),
  risk: z
    .object({
      sharpe: numberOrNull.describe("Per trade, not annualised: mean / sample standard deviation"),
      sortino: numberOrNull.describe(
        "Per trade, target 0: mean / root mean square of the losing results over all trades; null without a losing one",
      ),
      maxDrawdownPercent: numberOrNull.describe(
        "The deepest fall of the cumulative result from an earlier peak, in percentage points",
      ),
    })
    .describe("After costs. All null below 30 trades"),
  edge: z
    .object({
      days: count.describe("Days with a trade: BTC and ETH move together, so a day is one observation"),
      excessPoints: numberOrNull.describe("Mean over days; null before the first"),
      afterCostsPoints: numberOrNull,
      lowPoints: z.number().describe("Bound that holds with 95 % at all times together"),
      highPoints: z.number().describe("The other bound, of the same kind"),
      verdict: z
        .enum(["no record yet", "better than chance", "worse than chance", "not told from chance"])
        .describe(
          "No record yet: below 30 trades. Better: after costs, too, at most 5 % of records without an edge ever read so. Worse: highPoints is below 0",
        ),
    })
    .describe(
      "Score minus chance. A trade's score is the place between stop (0) and tp1 (100) where it ended; its chance is that of a price without direction, risk / (risk + reward), for any time limit",
    ),
  reliability: z
    .object({
      says: z
        .string()
        .nullable()
        .describe("The fullest bins in a sentence; null before a signal was won or lost"),
      bins: z.array(z.object({ from: share, to: share, n: count, winrate: share.nullable() })),
    })
    .describe(
      "What the stated confidence was worth: by fifths of it, how many signals were decided, and won",
    ),
});
export type SignalStats = z.output<typeof signalStats>;

/** The results of a few signals: of a day, of a week. */
export const signalTotals = z.object({
  wins: z.number(),
  losses: z.number(),
  expired: z.number(),
  pending: z.number(),
  winrate: numberOrNull.describe("0 to 100; null if none was won or lost"),
  trades: z.number().describe("BUY and SELL that were closed at a price: the n of the results"),
  totalPnlPercent: z.number(),
  totalAfterCostsPercent: z.number(),
});
export type SignalTotals = z.output<typeof signalTotals>;

const hash = z.string().regex(/^[0-9a-f]{64}$/);
export const chainHead = z.object({ sequence: z.int().positive(), hash });

/** A value of an event's content, which is a flat object. */
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
export const eventContent = z.record(z.string(), scalar);

const anchor = z.object({
  address: z.string(),
  txHashes: z.array(z.string()).describe("Its tries; at most one is in a block"),
});

export const signalEvent = chainHead.extend({
  kind: z.enum(["issued", "closed", "none"]),
  content: eventContent.describe(
    "issued: the signal with its price's source. closed: its end. none: the token got no signal on this day, and why",
  ),
  contentHash: hash.describe("SHA-256 of the content's canonical JSON: keys sorted, no white space"),
  previousHash: hash.describe("`hash` of the event before; 64 zeros before the first"),
  hash: hash.describe("SHA-256 of the canonical JSON of sequence, kind, contentHash and previousHash"),
  anchors: z
    .array(anchor)
    .describe("Transactions on Base whose data are the text `signal record SEQUENCE HASH` of this event"),
});
