import { sha256Hex } from "../../lib/crypto";
import type { ChainHead, SignalEvent } from "./events";

/**
 * The chain of signal events: each carries the hash of its content and of the event before it, so that none can be
 * changed, taken out, moved or put in without every later hash, and the head that was published, ceasing to fit.
 * Pure; `npm run verify-signals` works with exactly this.
 */

/** What stands before the first event. */
export const GENESIS = "0".repeat(64);

/** What is said by an event of a chain, before it is linked. */
export type StatementOf<Event extends { kind: string; content: object }> = Event extends unknown
  ? Pick<Event, "kind" | "content">
  : never;
export type Statement = StatementOf<SignalEvent>;

export function isOfDay<Event extends { kind: SignalEvent["kind"] }>(
  event: Event,
): event is Exclude<Event, { kind: "promoted" | "shadow" }> {
  return event.kind !== "promoted" && event.kind !== "shadow";
}

/** The links of the event that follows `head`; a chain without events has none. The chain of shadow signals is made the same way. */
export function linksAfter(
  head: ChainHead | null,
  { kind, content }: { kind: string; content: Record<string, Json> },
) {
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
