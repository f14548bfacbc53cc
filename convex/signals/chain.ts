import type { MutationCtx, QueryCtx } from "../_generated/server";
import { sha256Hex } from "../lib/security/digests";
import { iso } from "../lib/time";
import type { Doc } from "../_generated/dataModel";
import type { Head, Issued, Outcome, Signal } from "./tables";

/**
 * The chain of signal events: each contains the hash of its content and of the event before it. If one is changed,
 * removed, moved or inserted, all later hashes and the published head no longer fit. `npm run verify-signals` computes
 * them with its own code.
 */

/** The hash before the first event. */
const GENESIS = "0".repeat(64);

type Json = string | number | boolean | null;
export type Statement = {
  kind: Doc<"signalEvents">["kind"];
  token: Signal["token"];
  day: string;
  content: Record<string, Json>;
};

/** JSON of a flat object with its keys sorted and no white space; numbers as ECMAScript writes them (RFC 8785). */
function canonicalJson(fields: Record<string, Json>): string {
  const members = Object.keys(fields)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify(fields[key])}`);
  return `{${members.join(",")}}`;
}

/** An event as it follows `head`; a chain without events has none. */
export function linked(head: Head | null, { kind, token, day, content: fields }: Statement) {
  const sequence = (head?.sequence ?? 0) + 1;
  const previousHash = head?.hash ?? GENESIS;
  const content = canonicalJson({ token, day, ...fields });
  const contentHash = sha256Hex(content);
  const hash = sha256Hex(canonicalJson({ sequence, kind, contentHash, previousHash }));
  return { sequence, kind, token, day, content, contentHash, previousHash, hash };
}

/** The last link of the chain; `null` before the first event. */
export async function headOf(ctx: QueryCtx): Promise<Head | null> {
  const last = await ctx.db.query("signalEvents").withIndex("by_sequence").order("desc").first();
  return last === null ? null : { sequence: last.sequence, hash: last.hash };
}

export async function append(ctx: MutationCtx, statement: Statement): Promise<void> {
  await ctx.db.insert("signalEvents", linked(await headOf(ctx), statement));
}

export function issuedStatement(issued: Issued): Statement {
  const { token, day, price, generatedAt, expiresAt, ...content } = issued;
  const times = { generatedAt: iso(generatedAt), expiresAt: iso(expiresAt) };
  const measured = { priceSource: price.source, priceObservedAt: iso(price.observedAt) };
  return { kind: "issued", token, day, content: { ...content, ...times, ...measured } };
}

export function closedStatement({ token, day }: Signal, { closedAt, ...outcome }: Outcome): Statement {
  return { kind: "closed", token, day, content: { ...outcome, closedAt: iso(closedAt) } };
}

/** The call data of an anchor, `0x` and the text's UTF-8 in hex. */
export function anchorData({ sequence, hash }: Head): `0x${string}` {
  const text = new TextEncoder().encode(`signal record ${sequence} ${hash}`);
  return `0x${[...text].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
