import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { defineCron } from "../platform/changes";
import { isSet } from "../lib/env";
import { sha256Hex } from "../lib/crypto";
import { toIso } from "../lib/time";
import { isAboutToSign, findLastSent } from "../wallets/model";
import { openServiceOrder } from "../wallets/orders/model";
import { vSignalEvent, vHead, type Head, type Issued, type SignalOutcome, type Signal } from "./tables";

/**
 * The chain of signal events: each contains the hash of its content and of the event before it. If one is changed,
 * removed, moved or inserted, all later hashes and the published head no longer fit. `npm run verify-signals` computes
 * them with its own code.
 *
 * Once a day, as soon as the signals are issued, its head goes to Base, in a transaction of an account that holds gas and
 * nothing else. What is in a block existed when the block was made, so nobody can rewrite the events up to it, not even the
 * operator. The orders of wallets follow and repair an anchor like any other transaction.
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
export function linkEvent(head: Head | null, { kind, token, day, content: fields }: Statement) {
  const sequence = (head?.sequence ?? 0) + 1;
  const previousHash = head?.hash ?? GENESIS;
  const content = canonicalJson({ token, day, ...fields });
  const contentHash = sha256Hex(content);
  const hash = sha256Hex(canonicalJson({ sequence, kind, contentHash, previousHash }));
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
function anchorData({ sequence, hash }: Head): `0x${string}` {
  const text = new TextEncoder().encode(`signal record ${sequence} ${hash}`);
  return `0x${[...text].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** For the cron, every hour: anchors signals that could not be anchored at their issue, and days without a signal. */
export const anchorDue = defineCron("anchor the signal record", anchorSoon);

export async function anchorSoon(ctx: MutationCtx): Promise<void> {
  if (isSet("ANCHOR_PRIVATE_KEY")) await ctx.scheduler.runAfter(0, internal.signals.actions.anchor, {});
}

/** More events than a day has. */
const OF_A_DAY = 10;

/** Opens the order of an anchor of the head; `null` if none is due, or another attempt was faster. */
export const openAnchor = internalMutation({
  args: { address: v.string() },
  returns: v.union(v.id("orders"), v.null()),
  handler: async (ctx, { address }) => {
    const { request, state } = (await findLastSent(ctx, "anchor", address)) ?? {};
    const anchored = request?.kind === "anchor" && state !== "failed" ? request.sequence : 0;
    const news = await eventsAfter(ctx, anchored, OF_A_DAY);
    const head = await findHead(ctx);
    // An outcome alone is no reason: it goes with the next day's signals.
    if (head === null || news.every(({ kind }) => kind === "closed")) return null;
    if (await isAboutToSign(ctx, "anchor", address)) return null;
    const anchor = { kind: "anchor" as const, ...head, data: anchorData(head) };
    const orderId = await openServiceOrder(ctx, "anchor", address, anchor);
    const [event] = await eventsAfter(ctx, head.sequence - 1, 1);
    if (event !== undefined)
      await ctx.db.patch("signalEvents", event._id, { anchors: [...(event.anchors ?? []), orderId] });
    return orderId;
  },
});

async function eventsAfter(ctx: QueryCtx, sequence: number, limit: number): Promise<Doc<"signalEvents">[]> {
  return ctx.db
    .query("signalEvents")
    .withIndex("by_sequence", (q) => q.gt("sequence", sequence))
    .take(limit);
}

const vAnchor = v.object({ address: v.string(), txHashes: v.array(v.string()) });

/** Once it is signed. */
function anchorIn(order: Doc<"orders"> | null | undefined): Infer<typeof vAnchor>[] {
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
    const publicEvents = (await eventsAfter(ctx, after, limit)).map(
      async ({ _id, _creationTime, anchors = [], ...event }) => {
        const orders = await Promise.all(anchors.map((id) => ctx.db.get("orders", id)));
        return { ...event, anchors: orders.flatMap(anchorIn) };
      },
    );
    return { events: await Promise.all(publicEvents), head: await findHead(ctx) };
  },
});

const vPublishedHead = vHead.extend({ anchor: v.union(vAnchor, v.null()) });
export type PublishedHead = Infer<typeof vPublishedHead>;

/** The chain's head as cards and pages publish it, with the newest anchor; `null` before the first event. */
export async function getPublishedHead(ctx: QueryCtx): Promise<PublishedHead | null> {
  const head = await findHead(ctx);
  if (head === null) return null;
  return { ...head, anchor: anchorIn(await findLastSent(ctx, "anchor"))[0] ?? null };
}

export const readPublishedHead = internalQuery({
  args: {},
  returns: v.union(vPublishedHead, v.null()),
  handler: getPublishedHead,
});
