import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import { cron } from "../lib/cronRuns";
import { isSet } from "../lib/env";
import { literals } from "../lib/literals";
import { openServiceOrder } from "../wallets/orders/model";
import { addressesOf, isAboutToSign, lastSentBy } from "../wallets/model";
import { headOf } from "./chain";
import { vEvent, vHead, type Head } from "./tables";

/**
 * The chain as it is published, and its anchors: once a day, as soon as the signals are issued, its head goes to Base, in
 * a transaction of an account that holds gas and nothing else. What is in a block existed when the block was made, so
 * nobody can rewrite the events up to it, not even the operator. The orders of wallets follow and repair it like any other.
 */

/** For the cron, every hour: anchors signals that could not be anchored at their issue, and days without a signal. */
export const anchorDue = cron("anchor the signal record", async (ctx) => {
  if (isSet("ANCHOR_PRIVATE_KEY") && (await headOf(ctx)) !== null) {
    await ctx.scheduler.runAfter(0, internal.signals.actions.anchor, {});
  }
});

/** The head to anchor now with this account; `null` if none is due. */
export const due = internalQuery({
  args: { address: v.string() },
  returns: v.union(vHead, v.null()),
  handler: async (ctx, { address }) => headDue(ctx, address),
});

/** More events than a day has. */
const OF_A_DAY = 10;

/** An outcome alone is no reason: it goes with the next day's signals. */
async function headDue(ctx: QueryCtx, address: string): Promise<Head | null> {
  const head = await headOf(ctx);
  const [last] = await lastSentBy(ctx, "anchor", address, 1);
  if (last?.request.kind !== "anchor" || last.state === "failed") return head;
  const news = await eventsAfter(ctx, last.request.sequence, OF_A_DAY);
  return news.some(({ kind }) => kind !== "closed") ? head : null;
}

/** Opens the order of an anchor; `null` if another attempt was faster. */
export const store = internalMutation({
  args: { address: v.string(), head: vHead, data: v.string() },
  returns: v.union(v.id("orders"), v.null()),
  handler: async (ctx, { address, head, data }) => {
    if ((await headDue(ctx, address)) === null) return null;
    if (await isAboutToSign(ctx, "anchor", address)) return null;
    const orderId = await openServiceOrder(ctx, "anchor", address, { kind: "anchor", ...head, data });
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

const vAnchor = v.object({
  address: v.string(),
  nonce: v.number(),
  txHashes: v.array(v.string()),
  status: literals("pending", "confirmed", "failed"),
});

function anchorIn(order: Doc<"orders"> | null | undefined): Infer<typeof vAnchor>[] {
  if (order?.nonce === undefined) return [];
  const { address, nonce, state, tries } = order;
  const status = state === "confirmed" || state === "failed" ? state : "pending";
  return [{ address, nonce, txHashes: tries.map((one) => one.hash), status }];
}

/** Events of the chain after a sequence number, in order, each with its anchors; and the head. */
export const events = internalQuery({
  args: { after: v.number(), limit: v.number() },
  returns: v.object({
    events: v.array(vEvent.omit("anchors").extend({ anchors: v.array(vAnchor) })),
    head: v.union(vHead, v.null()),
  }),
  handler: async (ctx, { after, limit }) => {
    const shown = (await eventsAfter(ctx, after, limit)).map(
      async ({ _id, _creationTime, anchors = [], ...event }) => {
        const orders = await Promise.all(anchors.map((id) => ctx.db.get("orders", id)));
        return { ...event, anchors: orders.flatMap(anchorIn) };
      },
    );
    return { events: await Promise.all(shown), head: await headOf(ctx) };
  },
});

/** The chain's head, and the newest anchor; `null` before the first. */
export const latest = internalQuery({
  args: {},
  returns: v.object({ head: v.union(vHead, v.null()), anchor: v.union(vAnchor, v.null()) }),
  handler: async (ctx) => {
    const address = (await addressesOf(ctx, "anchor")).at(-1);
    const [newest] = address === undefined ? [] : await lastSentBy(ctx, "anchor", address, 1);
    return { head: await headOf(ctx), anchor: anchorIn(newest)[0] ?? null };
  },
});

export type PublishedHead = Head & { anchoredBy: string | null };

/** The chain's head as cards publish it, with the address whose anchors hold it, where there is one. */
export async function publishedHead(ctx: QueryCtx): Promise<PublishedHead | null> {
  const head = await headOf(ctx);
  if (head === null) return null;
  return { ...head, anchoredBy: (await addressesOf(ctx, "anchor")).at(-1) ?? null };
}
