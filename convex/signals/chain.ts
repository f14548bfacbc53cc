import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { defineCron } from "../platform/changes";
import { isSet } from "../lib/env";
import { sha256Hex } from "../lib/crypto";
import { toIso } from "../lib/time";
import { vSignalEvent, vHead, type Head, type Issued, type SignalOutcome, type Signal } from "./tables";
import { isAboutToSign, findLastSent, openServiceOrder } from "../wallets/service";

/**
 * The hash chain of signal events: each event contains the hash of its content and of the event before it. A changed,
 * removed, moved or inserted event contradicts all later hashes and the published head. `npm run verify-signals`
 * computes the hashes with code of its own.
 *
 * Once a day, after the signals are issued, the head is written to Base, in a transaction of an account that holds only
 * gas. A block proves that its content existed, so even the operator cannot rewrite the events before an anchor. An
 * anchor is an order: `wallets/orders` tracks and repairs its transaction.
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
function toCanonicalJson(fields: Record<string, Json>): string {
  const members = Object.keys(fields)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify(fields[key])}`);
  return `{${members.join(",")}}`;
}

/** Links an event to the chain's head; `null` for the first event. */
export function linkEvent(head: Head | null, { kind, token, day, content: fields }: Statement) {
  const sequence = (head?.sequence ?? 0) + 1;
  const previousHash = head?.hash ?? GENESIS;
  const content = toCanonicalJson({ token, day, ...fields });
  const contentHash = sha256Hex(content);
  const hash = sha256Hex(toCanonicalJson({ sequence, kind, contentHash, previousHash }));
  return { sequence, kind, token, day, content, contentHash, previousHash, hash };
}

/** The last link of the chain; `null` before the first event. */
async function findHead(ctx: QueryCtx): Promise<Head | null> {
  const last = await ctx.db.query("signalEvents").withIndex("by_sequence").order("desc").first();
  return last === null ? null : { sequence: last.sequence, hash: last.hash };
}

export async function appendEvent(ctx: MutationCtx, statement: Statement): Promise<void> {
  await ctx.db.insert("signalEvents", linkEvent(await findHead(ctx), statement));
}

export function buildIssuedStatement(issued: Issued): Statement {
  const { token, day, price, generatedAt, expiresAt, ...content } = issued;
  const times = { generatedAt: toIso(generatedAt), expiresAt: toIso(expiresAt) };
  const measured = { priceSource: price.source, priceObservedAt: toIso(price.observedAt) };
  return { kind: "issued", token, day, content: { ...content, ...times, ...measured } };
}

export function buildClosedStatement(
  { token, day }: Signal,
  { closedAt, ...outcome }: SignalOutcome,
): Statement {
  return { kind: "closed", token, day, content: { ...outcome, closedAt: toIso(closedAt) } };
}

/** The call data of an anchor, `0x` and the text's UTF-8 in hex. */
function encodeAnchor({ sequence, hash }: Head): `0x${string}` {
  const text = new TextEncoder().encode(`signal record ${sequence} ${hash}`);
  return `0x${[...text].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** For the cron, every hour: anchors signals whose anchor failed at their issue, and days without a signal. */
export const anchorDue = defineCron("anchor the signal record", scheduleAnchor);

export async function scheduleAnchor(ctx: MutationCtx): Promise<void> {
  if (isSet("ANCHOR_PRIVATE_KEY")) await ctx.scheduler.runAfter(0, internal.signals.actions.anchor, {});
}

/** More than the events of a day. */
const MOST_A_DAY = 10;

/** Opens the order of an anchor of the head; `null` if none is due, or another one is about to be signed. */
export const openAnchor = internalMutation({
  args: { address: v.string() },
  returns: v.union(v.id("orders"), v.null()),
  handler: async (ctx, { address }) => {
    const { request, state } = (await findLastSent(ctx, "anchor", address)) ?? {};
    const anchored = request?.kind === "anchor" && state !== "failed" ? request.sequence : 0;
    const news = await listEventsAfter(ctx, anchored, MOST_A_DAY);
    const head = await findHead(ctx);
    // Outcomes alone wait for the anchor of the next day's signals.
    if (head === null || news.every(({ kind }) => kind === "closed")) return null;
    if (await isAboutToSign(ctx, "anchor", address)) return null;
    const anchor = { kind: "anchor" as const, ...head, data: encodeAnchor(head) };
    const orderId = await openServiceOrder(ctx, "anchor", address, anchor);
    const [event] = await listEventsAfter(ctx, head.sequence - 1, 1);
    if (event !== undefined)
      await ctx.db.patch("signalEvents", event._id, { anchors: [...(event.anchors ?? []), orderId] });
    return orderId;
  },
});

async function listEventsAfter(
  ctx: QueryCtx,
  sequence: number,
  limit: number,
): Promise<Doc<"signalEvents">[]> {
  return ctx.db
    .query("signalEvents")
    .withIndex("by_sequence", (q) => q.gt("sequence", sequence))
    .take(limit);
}

const vAnchor = v.object({ address: v.string(), txHashes: v.array(v.string()) });

/** The anchor of an order; none before it is signed. */
function toAnchors(order: Doc<"orders"> | null | undefined): Infer<typeof vAnchor>[] {
  if (order?.nonce === undefined) return [];
  return [{ address: order.address, txHashes: order.tries.map(({ hash }) => hash) }];
}

/** Events of the chain after a sequence number, in order, each with its anchors; and the head. */
export const listEvents = internalQuery({
  args: { after: v.number(), limit: v.number() },
  returns: v.object({
    events: v.array(vSignalEvent.omit("anchors").extend({ anchors: v.array(vAnchor) })),
    head: v.union(vHead, v.null()),
  }),
  handler: async (ctx, { after, limit }) => {
    const publicEvents = (await listEventsAfter(ctx, after, limit)).map(
      async ({ _id, _creationTime, anchors = [], ...event }) => {
        const orders = await Promise.all(anchors.map((id) => ctx.db.get("orders", id)));
        return { ...event, anchors: orders.flatMap(toAnchors) };
      },
    );
    return { events: await Promise.all(publicEvents), head: await findHead(ctx) };
  },
});

const vPublishedHead = vHead.extend({ anchor: v.union(vAnchor, v.null()) });
export type PublishedHead = Infer<typeof vPublishedHead>;

/** The chain's head in the form of cards and pages, with the newest anchor; `null` before the first event. */
export async function getPublishedHead(ctx: QueryCtx): Promise<PublishedHead | null> {
  const head = await findHead(ctx);
  if (head === null) return null;
  return { ...head, anchor: toAnchors(await findLastSent(ctx, "anchor"))[0] ?? null };
}

export const readPublishedHead = internalQuery({
  args: {},
  returns: v.union(vPublishedHead, v.null()),
  handler: getPublishedHead,
});
