import * as z from "zod";
import { sha256Hex } from "../lib/crypto";

/**
 * The chain of signal events: each carries the hash of its content and of the event before it, so that none can be
 * changed, taken out, moved or put in without every later hash, and the head that was published, ceasing to fit.
 * Pure; `npm run verify-signals` works with exactly this.
 */

/** What stands before the first event. */
export const GENESIS = "0".repeat(64);

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const token = z.enum(["BTC", "ETH"]);
const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const time = z.iso.datetime();

const issuedContent = z.strictObject({
  token,
  day,
  timeframe: z.literal("1h"),
  signal: z.enum(["BUY", "SELL", "HOLD"]),
  entry: z.number(),
  tp1: z.number().nullable(),
  tp2: z.number().nullable(),
  sl: z.number().nullable(),
  confidence: z.number(),
  reasoning: z.string(),
  generatedAt: time,
  expiresAt: time,
  /** The live price the signal was checked against, and who measured it when. */
  priceUsd: z.number(),
  priceSource: z.string(),
  priceObservedAt: time,
});

const closedContent = z.strictObject({
  token,
  day,
  status: z.enum(["WIN", "LOSS", "EXPIRED"]),
  closedAt: time,
  exitPrice: z.number().nullable(),
  pnlPercent: z.number().nullable(),
});

const link = {
  sequence: z.int().positive().describe("1 is the first event."),
  contentHash: hash.describe("SHA-256 of the content's canonical JSON: keys sorted, no white space."),
  previousHash: hash.describe("`hash` of the event before; 64 zeros before the first."),
  hash: hash.describe("SHA-256 of the canonical JSON of sequence, kind, contentHash and previousHash."),
};

export const signalEvent = z.discriminatedUnion("kind", [
  z.strictObject({ ...link, kind: z.literal("issued"), content: issuedContent }),
  z.strictObject({ ...link, kind: z.literal("closed"), content: closedContent }),
]);

export const chainHead = z.strictObject({ sequence: link.sequence, hash });

export type IssuedContent = z.output<typeof issuedContent>;
export type ClosedContent = z.output<typeof closedContent>;
export type SignalEvent = z.output<typeof signalEvent>;
export type ChainHead = z.output<typeof chainHead>;

/** What is said by an event, before it is linked. */
export type Statement =
  | { kind: "issued"; content: IssuedContent }
  | { kind: "closed"; content: ClosedContent };

/** The links of the event that follows `head`; a chain without events has none. */
export function linksAfter(head: ChainHead | null, { kind, content }: Statement) {
  const sequence = (head?.sequence ?? 0) + 1;
  const previousHash = head?.hash ?? GENESIS;
  const contentHash = hashOf(content);
  return { sequence, contentHash, previousHash, hash: hashOf({ sequence, kind, contentHash, previousHash }) };
}

type Json = string | number | boolean | null;

function hashOf(fields: Record<string, Json>): string {
  return sha256Hex(canonicalJson(fields));
}

/** JSON of a flat object with its keys sorted and no white space; numbers as ECMAScript writes them (RFC 8785). */
export function canonicalJson(fields: Record<string, Json>): string {
  const members = Object.keys(fields)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify(fields[key])}`);
  return `{${members.join(",")}}`;
}
