import * as z from "zod";
import type { Signal } from "../signals/tables";
import type { AlertType, Reported } from "../whales/tables";

/**
 * What earlier clients are shown. They expect a number in every figure and call its methods. So they get 0 for a figure
 * that does not exist, where this service says `null` otherwise; and a HOLD's levels are its entry price, because it
 * can neither gain nor lose. Percentages have at most two decimals. Pure.
 */

const signalType = z.enum(["BUY", "SELL", "HOLD"]);
const status = z.enum(["PENDING", "WIN", "LOSS", "EXPIRED"]);

export const latestSignal = z.object({
  signalType,
  entryPrice: z.number().describe("USD"),
  target1: z.number().describe("USD; the entry price for HOLD"),
  target2: z.number().describe("USD; the entry price for HOLD"),
  stopLoss: z.number().describe("USD; the entry price for HOLD"),
  confidence: z.number().describe("0 to 100"),
  status,
  reasoning: z.string(),
});

export function latestView(row: Signal): z.output<typeof latestSignal> {
  const { signal, entry, tp1, tp2, sl, confidence, status, reasoning } = row;
  return {
    signalType: signal,
    entryPrice: entry,
    target1: tp1 ?? entry,
    target2: tp2 ?? entry,
    stopLoss: sl ?? entry,
    confidence,
    status,
    reasoning,
  };
}

export const pastSignal = z.object({
  token: z.enum(["BTC", "ETH"]),
  signalType,
  entryPrice: z.number().describe("USD"),
  isWin: z.boolean().nullable().describe("null while it is open, and when it has expired"),
  status,
  pnlPercent: z
    .number()
    .nullable()
    .describe("Signed by direction, 1.5 is 1.5 %; null while it is open, and for HOLD"),
});

export function pastView({ token, signal, entry, status, pnlPercent }: Signal): z.output<typeof pastSignal> {
  const isWin = status === "WIN" ? true : status === "LOSS" ? false : null;
  return {
    token,
    signalType: signal,
    entryPrice: entry,
    isWin,
    status,
    pnlPercent: pnlPercent ?? null,
  };
}

export const trackRecord = z.object({
  n: z.int().describe("Trades that closed at a price; the other figures are about these"),
  excess: z
    .number()
    .describe(
      "How many points a trade was above the chance of its own levels, on average; 0 when there are none",
    ),
  total: z.int().describe("BUY and SELL signals that were closed: won, lost or expired"),
  wins: z.int(),
  losses: z.int(),
  winrate: z.number().describe("wins / (wins + losses), 0 to 100; 0 when there are none"),
  avgPnl: z.number().describe("Percent, the average of all that closed at a price; 0 when there are none"),
  bestPnl: z.number().describe("Percent; 0 when none gained: earlier clients put a + before it"),
  worstPnl: z.number().describe("Percent; 0 when there are none"),
});

/** From so many USD on, a movement is highly significant. */
const HIGH_USD = 10_000_000;

export const whaleAlert = z.object({
  token: z.string(),
  direction: z.enum(["bullish", "bearish", "neutral"]),
  description: z.string(),
  significance: z.enum(["HIGH", "MEDIUM"]).describe("HIGH from 10 million USD"),
  implication: z.string().describe("What such a movement usually means; one sentence per kind"),
});

/** What a kind of movement implies, whatever the market does: the alert itself says which way it points. */
const IMPLICATIONS: Record<AlertType, string> = {
  cex_inflow: "Coins moved to an exchange can be sold there: watch for selling pressure.",
  cex_outflow: "Coins moved off an exchange are usually held: less is for sale.",
  large_transfer: "A large holder moved coins: by itself it says nothing about direction.",
  smart_money: "Wallets with a record of good trades moved: others may follow.",
};

export function whaleAlertView(alert: Reported): z.output<typeof whaleAlert> {
  const { token, direction, description, amount, alertType } = alert;
  const significance = amount >= HIGH_USD ? "HIGH" : "MEDIUM";
  return { token, direction, description, significance, implication: IMPLICATIONS[alertType] };
}
