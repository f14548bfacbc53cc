import * as z from "zod";
import { link, type linksAfter } from "../eventChain";

/**
 * The chain of shadow events: made as that of the daily signals (`signals/eventChain`), and apart from it, so that the lab
 * neither lengthens the record of what was delivered nor waits for it. Once a day its last hash becomes an event of that
 * record, and is anchored with it. Pure.
 */

const time = z.iso.datetime();
const level = z.number().nullable();

/** In every event: which arm was asked what, and when. */
const slot = {
  arm: z.string().describe("A model and a prompt: claude-haiku-4.5@signal-2"),
  token: z.enum(["BTC", "ETH", "SOL"]),
  hour: time.describe("The full hour it was asked for in"),
};

const issuedContent = z.strictObject({
  ...slot,
  model: z.string().describe("What answered, as the gateway names it"),
  promptVersion: z.string(),
  signal: z.enum(["BUY", "SELL", "HOLD"]),
  entry: z.number().describe("The measured price at issue"),
  tp1: level,
  tp2: level,
  sl: level,
  confidence: z.number(),
  calibratedConfidence: z.number().describe("From the arm's own outcomes before this signal"),
  calibrationMethod: z.enum(["shrinkage", "platt", "isotonic"]),
  calibrationOutcomes: z.int().nonnegative(),
  costBps: z.number().nonnegative(),
  generatedAt: time,
  expiresAt: time,
  priceSource: z.string(),
  priceObservedAt: time,
});

const closedContent = z.strictObject({
  ...slot,
  status: z.enum(["WIN", "LOSS", "EXPIRED"]),
  closedAt: time,
  exitPrice: level,
  pnlPercent: level,
  decidedBy: z.enum(["candle", "sample", "price"]).nullable(),
  gapMinutes: z.int().nonnegative(),
});

/** An hour without a signal: the model proposed nothing usable, was out of reach, or the lab's share of the day's budget was spent. */
const missedContent = z.strictObject({ ...slot, reason: z.enum(["refused", "failed", "budget"]), at: time });

export const shadowEvent = z.discriminatedUnion("kind", [
  z.strictObject({ ...link, kind: z.literal("issued"), content: issuedContent }),
  z.strictObject({ ...link, kind: z.literal("closed"), content: closedContent }),
  z.strictObject({ ...link, kind: z.literal("missed"), content: missedContent }),
]);

export type ShadowIssued = z.output<typeof issuedContent>;
export type ShadowClosed = z.output<typeof closedContent>;
type ShadowMissed = z.output<typeof missedContent>;
export type ShadowEvent = z.output<typeof shadowEvent>;

/** What is said by an event, before it is linked. */
export type ShadowStatement =
  | { kind: "issued"; content: ShadowIssued }
  | { kind: "closed"; content: ShadowClosed }
  | { kind: "missed"; content: ShadowMissed };

/** Links and statement as one event. */
export function shadowEventOf(links: ReturnType<typeof linksAfter>, statement: ShadowStatement): ShadowEvent {
  switch (statement.kind) {
    case "issued":
      return { ...links, kind: statement.kind, content: statement.content };
    case "closed":
      return { ...links, kind: statement.kind, content: statement.content };
    case "missed":
      return { ...links, kind: statement.kind, content: statement.content };
  }
}
