import * as z from "zod";
import { iso } from "../lib/time";
import type { Signal } from "./tables";

/** Signals as callers see them. */

export const publicSignal = z.object({
  id: z.string().describe("Token and UTC day, BTC-2026-11-20: it is at /signals/{id}"),
  token: z.enum(["BTC", "ETH"]),
  timeframe: z.literal("1h"),
  signal: z.enum(["BUY", "SELL", "HOLD"]),
  entry: z.number().describe("USD"),
  tp1: z.number().nullable().describe("USD; null for HOLD"),
  tp2: z.number().nullable().describe("USD; null for HOLD"),
  sl: z.number().nullable().describe("USD; null for HOLD"),
  confidence: z.number().describe("0 to 100"),
  reasoning: z.string(),
  status: z.enum(["PENDING", "WIN", "LOSS", "EXPIRED"]),
  generatedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  closedAt: z.iso.datetime().optional(),
  exitPrice: z
    .number()
    .nullable()
    .optional()
    .describe("USD: the level reached, or the live price of an expired one; null when there was none"),
  pnlPercent: z
    .number()
    .nullable()
    .optional()
    .describe("Signed by direction, 1.5 is 1.5 %; null for HOLD and without an exit price"),
});

export type PublicSignal = z.output<typeof publicSignal>;

/** `BTC-2026-11-20`: a token has one signal a day. */
export function signalId({ token, day }: Pick<Signal, "token" | "day">): string {
  return `${token}-${day}`;
}

export function signalView(row: Signal): PublicSignal {
  const { token, signal, entry, tp1, tp2, sl, confidence, reasoning, status } = row;
  const { generatedAt, expiresAt, closedAt, exitPrice, pnlPercent } = row;
  return {
    id: signalId(row),
    token,
    timeframe: "1h",
    signal,
    entry,
    tp1,
    tp2,
    sl,
    confidence,
    reasoning,
    status,
    generatedAt: iso(generatedAt),
    expiresAt: iso(expiresAt),
    ...(closedAt === undefined ? {} : { closedAt: iso(closedAt) }),
    ...(exitPrice === undefined ? {} : { exitPrice }),
    ...(pnlPercent === undefined ? {} : { pnlPercent }),
  };
}
