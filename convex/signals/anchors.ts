import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import { cron } from "../lib/cronRuns";
import { isSet } from "../lib/env";
import { literals } from "../lib/literals";
import { HOUR, iso } from "../lib/time";
import { openServiceOrder } from "../wallets/orders/model";
import { addressesOf, isAboutToSign, lastSentBy, sentBy } from "../wallets/serviceOrders";
import { headOf } from "./chain";
import { vHead, type Head } from "./tables";

/**
 * Anchors: once a day, as soon as the signals are issued, the head of the chain goes to Base, in a transaction of an
 * account that holds gas and nothing else. What is in a block existed when the block was made, so nobody can rewrite the
 * events up to it, not even the operator. The orders of wallets follow and repair it like any other.
 */

/** For the cron, every hour: anchors signals that could not be anchored at their issue, and days without a signal. */
export const anchorDue = cron("anchor the signal record", async (ctx) => {
  if (isSet("ANCHOR_PRIVATE_KEY") && (await headOf(ctx)) !== null) {
    await ctx.scheduler.runAfter(0, internal.signals.actions.anchor, {});
  }
});

/** If no signal is issued, other events are anchored this long after the last anchor. */
const LONGEST_MS = 25 * HOUR;

/** The head to anchor now with this account; `null` if none is due. */
export const due = internalQuery({
  args: { address: v.string(), now: v.number() },
  returns: v.union(vHead, v.null()),
  handler: async (ctx, { address, now }) => headDue(ctx, address, now),
});

async function headDue(ctx: QueryCtx, address: string, now: number): Promise<Head | null> {
  const head = await headOf(ctx);
  const [last] = await lastSentBy(ctx, "anchor", address, 1);
  if (head === null || last === undefined || last.state === "failed") return head;
  const anchored = last.request.kind === "anchor" ? last.request.sequence : 0;
  const issued = await ctx.db
    .query("signalEvents")
    .withIndex("by_kind", (q) => q.eq("kind", "issued"))
    .order("desc")
    .first();
  const isWaiting = (issued?.sequence ?? 0) > anchored;
  const isOld = head.sequence > anchored && now - last.createdAt >= LONGEST_MS;
  return isWaiting || isOld ? head : null;
}

/** Opens the order of an anchor; `null` if another attempt was faster. */
export const store = internalMutation({
  args: { address: v.string(), head: vHead, data: v.string() },
  returns: v.union(v.id("orders"), v.null()),
  handler: async (ctx, { address, head, data }) => {
    if ((await headDue(ctx, address, Date.now())) === null) return null;
    if (await isAboutToSign(ctx, "anchor", address)) return null;
    return openServiceOrder(ctx, "anchor", address, { kind: "anchor", ...head, data });
  },
});

const vAnchor = v.object({
  nonce: v.number(),
  sequence: v.union(v.number(), v.null()),
  hash: v.union(v.string(), v.null()),
  txHashes: v.array(v.string()),
  status: literals("pending", "confirmed", "failed"),
  signedAt: v.string(),
});

/** What an account of the anchor has signed, by nonce; every present and former account. */
export const page = internalQuery({
  args: { address: v.union(v.string(), v.null()), from: v.number(), limit: v.number() },
  returns: v.object({
    addresses: v.array(v.string()),
    address: v.union(v.string(), v.null()),
    anchors: v.array(vAnchor),
  }),
  handler: async (ctx, { address, from, limit }) => {
    const addresses = await addressesOf(ctx, "anchor");
    const account =
      addresses.find((one) => address === null || one.toLowerCase() === address.toLowerCase()) ?? null;
    if (account === null) return { addresses, address: null, anchors: [] };
    const rows = await sentBy(ctx, { role: "anchor", address: account, from, limit });
    return { addresses, address: account, anchors: rows.flatMap(anchorOf) };
  },
});

/** The chain's head as it is published, and the newest anchor of any account; `null` before the first. */
export const latest = internalQuery({
  args: {},
  returns: v.object({
    head: v.union(vHead, v.null()),
    anchor: v.union(vAnchor.extend({ address: v.string() }), v.null()),
  }),
  handler: async (ctx) => {
    const head = await headOf(ctx);
    const address = (await addressesOf(ctx, "anchor")).at(-1);
    if (address === undefined) return { head, anchor: null };
    const [anchor] = (await lastSentBy(ctx, "anchor", address, 1)).flatMap(anchorOf);
    return { head, anchor: anchor === undefined ? null : { address, ...anchor } };
  },
});

function anchorOf({ nonce, request, createdAt, state, tries }: Doc<"orders">) {
  if (nonce === undefined) return [];
  const { sequence, hash } = request.kind === "anchor" ? request : { sequence: null, hash: null };
  const status = state === "confirmed" || state === "failed" ? state : ("pending" as const);
  return [
    { nonce, sequence, hash, txHashes: tries.map((one) => one.hash), status, signedAt: iso(createdAt) },
  ];
}

export type PublishedHead = Head & { anchoredBy: string | null };

/** The chain's head as cards publish it, with the address whose anchors hold it, where there is one. */
export async function publishedHead(ctx: QueryCtx): Promise<PublishedHead | null> {
  const head = await headOf(ctx);
  if (head === null) return null;
  return { ...head, anchoredBy: (await addressesOf(ctx, "anchor")).at(-1) ?? null };
}
