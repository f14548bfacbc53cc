import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { sha256Hex } from "../../lib/security/digests";
import type { ChainHead, PersonEvent, ShadowEvent, SignalEvent } from "./events";
import type { Desk, DeskEvent } from "./rows";

/**
 * The chain of signal events: each contains the hash of its content and of the event before it. If one is changed,
 * removed, moved or inserted, all later hashes and the published head no longer fit. `npm run verify-signals` computes
 * them with its own code.
 */

/** The hash before the first event. */
export const GENESIS = "0".repeat(64);

/** The statement of an event, before it is linked to the chain. */
type StatementOf<Event extends { kind: string; content: object }> = Event extends unknown
  ? Pick<Event, "kind" | "content">
  : never;
export type Statement = StatementOf<SignalEvent>;

export function isOfDay<Event extends { content: object }>(
  event: Event,
): event is Extract<Event, { content: { day: string } }> {
  return "day" in event.content;
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

export type ChainEntry =
  | { desk: "daily"; statement: StatementOf<SignalEvent> }
  | { desk: "lab"; statement: StatementOf<ShadowEvent> }
  | { desk: "people"; statement: StatementOf<PersonEvent> };

/** The last link of a chain; `null` before the first event. */
export async function headOf(ctx: QueryCtx, desk: Desk): Promise<ChainHead | null> {
  const last = await ctx.db
    .query("signalEvents")
    .withIndex("by_sequence", (q) => q.eq("desk", desk))
    .order("desc")
    .first();
  return last === null ? null : { sequence: last.event.sequence, hash: last.event.hash };
}

export async function append(ctx: MutationCtx, entry: ChainEntry): Promise<ChainHead> {
  const links = linksAfter(await headOf(ctx, entry.desk), entry.statement);
  const { sequence, hash } = links;
  // The same code three times, because the desk of an entry distinguishes the types of the chains.
  if (entry.desk === "daily") {
    await ctx.db.insert("signalEvents", { desk: entry.desk, event: { ...entry.statement, ...links } });
  } else if (entry.desk === "lab") {
    await ctx.db.insert("signalEvents", { desk: entry.desk, event: { ...entry.statement, ...links } });
  } else {
    await ctx.db.insert("signalEvents", { desk: entry.desk, event: { ...entry.statement, ...links } });
  }
  return { sequence, hash };
}

/** Events of a desk's chain after a sequence number, in order. */
export async function eventsAfter(
  ctx: QueryCtx,
  desk: Desk,
  { after, limit }: { after: number; limit: number },
): Promise<DeskEvent[]> {
  const rows = await ctx.db
    .query("signalEvents")
    .withIndex("by_sequence", (q) => q.eq("desk", desk).gt("event.sequence", after))
    .take(limit);
  return rows.map(({ _id, _creationTime, ...row }) => row);
}

/** The newest events of a kind in the daily chain, newest first. */
export async function newestOf<Kind extends SignalEvent["kind"]>(
  ctx: QueryCtx,
  kind: Kind,
  count: number,
): Promise<Extract<SignalEvent, { kind: Kind }>[]> {
  const rows = await ctx.db
    .query("signalEvents")
    .withIndex("by_kind", (q) => q.eq("desk", "daily").eq("event.kind", kind))
    .order("desc")
    .take(count);
  const isOfKind = (event: (typeof rows)[number]["event"]): event is Extract<SignalEvent, { kind: Kind }> =>
    event.kind === kind;
  return rows.map(({ event }) => event).filter(isOfKind);
}

/** The call data of an anchor, `0x` and the text's UTF-8 in hex. */
export function anchorData({ sequence, hash }: { sequence: number; hash: string }): `0x${string}` {
  return `0x${bytesToHex(utf8ToBytes(`signal record ${sequence} ${hash}`))}`;
}
