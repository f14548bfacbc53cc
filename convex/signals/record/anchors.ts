import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { cron } from "../../lib/cronRuns";
import { isSet } from "../../lib/env";
import { OPERATOR, recordAudit } from "../../lib/records/audit";
import { HOUR, iso } from "../../lib/time";
import { openServiceOrder } from "../../wallets/orders/model";
import { addressesOf, isAboutToSign, lastSentBy, sentBy } from "../../wallets/serviceOrders";
import { vAnchor, vHead } from "../validators";
import { append, headOf, newestOf } from "./chain";
import type { Anchor, ChainHead } from "./events";

/**
 * Anchors: as soon as the day's signals are issued the head of the signal record goes to Base, in a transaction of an
 * account that holds gas and nothing else. What is in a block existed when the block was made, so nobody can rewrite
 * the events up to it, not even the operator. The transaction machine follows, reprices and repairs it like any other.
 */

/** For the cron, every hour: anchors signals that could not be anchored at their issue, and days without a signal. */
export const anchorDue = cron("anchor the signal record", async (ctx) => {
  await fixShadows(ctx);
  await fixPeople(ctx);
  await anchorHead(ctx);
});

async function anchorHead(ctx: MutationCtx): Promise<void> {
  if (isSet("ANCHOR_PRIVATE_KEY") && (await headOf(ctx, "daily")) !== null) {
    await ctx.scheduler.runAfter(0, internal.signals.record.notary.send, {});
  }
}

/**
 * Once a UTC day, and before its anchor: an event of the record that holds the head of the shadow signals' chain, if that has
 * grown. With it the one anchor fixes both.
 */
async function fixShadows(ctx: MutationCtx): Promise<void> {
  const head = await headOf(ctx, "lab");
  const [last] = await newestOf(ctx, "shadow", 1);
  const at = iso(Date.now());
  if (head === null || head.sequence === last?.content.shadowSequence) return;
  if (last?.content.at.slice(0, 10) === at.slice(0, 10)) return;
  const content = { shadowSequence: head.sequence, shadowHash: head.hash, at };
  await append(ctx, { desk: "daily", statement: { kind: "shadow", content } });
}

/**
 * The same for the chain of people's signals, in every hour in which it has grown, because their signals end within
 * hours.
 */
async function fixPeople(ctx: MutationCtx): Promise<void> {
  const head = await headOf(ctx, "people");
  const [last] = await newestOf(ctx, "people", 1);
  if (head === null || head.sequence === last?.content.peopleSequence) return;
  const content = { peopleSequence: head.sequence, peopleHash: head.hash, at: iso(Date.now()) };
  await append(ctx, { desk: "daily", statement: { kind: "people", content } });
}

/** If no signal is issued, other events are anchored this long after the last anchor. */
const LONGEST_MS = 25 * HOUR;

/** The head to anchor now with this account; `null` if none is due. */
export const due = internalQuery({
  args: { address: v.string(), now: v.number() },
  returns: vHead,
  handler: async (ctx, { address, now }) => headDue(ctx, address, now),
});

async function headDue(ctx: QueryCtx, address: string, now: number): Promise<ChainHead | null> {
  const head = await headOf(ctx, "daily");
  const [last] = await lastSentBy(ctx, "anchor", address, 1);
  if (head === null || last === undefined || last.state === "failed") return head;
  const { request, createdAt } = last;
  const anchored = request.kind === "anchor" ? request.sequence : 0;
  const [issued] = await newestOf(ctx, "issued", 1);
  const [people] = await newestOf(ctx, "people", 1);
  const isWaiting = Math.max(issued?.sequence ?? 0, people?.sequence ?? 0) > anchored;
  const isOld = head.sequence > anchored && now - createdAt >= LONGEST_MS;
  return isWaiting || isOld ? head : null;
}

/**
 * The operator notes that the deployment was set back to a backup: `npx convex run signals/record/anchors:restored
 * '{"reason":"backup of 2026-11-20"}'`. The service notes it itself if its anchors show it.
 */
export const restored = internalMutation({
  args: { reason: v.string() },
  returns: v.object({ sequence: v.number() }),
  handler: async (ctx, { reason }) => {
    const { sequence } = await tellRestored(ctx, reason);
    await recordAudit(ctx, {
      actor: OPERATOR,
      action: "signal record restored",
      subject: "",
      detail: reason,
    });
    return { sequence };
  },
});

async function tellRestored(ctx: MutationCtx, reason: string): Promise<ChainHead> {
  const content = { reason, at: iso(Date.now()) };
  return append(ctx, { desk: "daily", statement: { kind: "restored", content } });
}

/**
 * Whether the account has sent transactions that this deployment does not know: it was set back since, and this was not
 * noted.
 */
async function isSetBack(ctx: QueryCtx, address: string, nonce: number): Promise<boolean> {
  const [last] = await lastSentBy(ctx, "anchor", address, 1);
  if (last?.nonce === undefined || nonce <= last.nonce + 1) return false;
  const [notice] = await newestOf(ctx, "restored", 1);
  return notice === undefined || Date.parse(notice.content.at) < last.createdAt;
}

/**
 * Opens the order of an anchor; `null` if another attempt was faster.
 * @param args.mined The chain's count of the account's transactions.
 */
export const store = internalMutation({
  args: {
    address: v.string(),
    head: v.object({ sequence: v.number(), hash: v.string() }),
    data: v.string(),
    mined: v.number(),
  },
  returns: v.union(v.id("orders"), v.null()),
  handler: async (ctx: MutationCtx, { address, head, data, mined }) => {
    if ((await headDue(ctx, address, Date.now())) === null) return null;
    if (await isAboutToSign(ctx, "anchor", address)) return null;
    if (await isSetBack(ctx, address, mined)) {
      await tellRestored(ctx, "the anchor's account has sent transactions that are not known here");
      await anchorHead(ctx);
      return null;
    }
    return openServiceOrder(ctx, "anchor", address, { kind: "anchor", ...head, data });
  },
});

/** What all present and former accounts of the anchor have signed, by nonce. */
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

/** The newest anchor of any account; `null` if nothing was ever anchored. */
export const latest = internalQuery({
  args: {},
  returns: v.union(vAnchor.extend({ address: v.string() }), v.null()),
  handler: async (ctx) => {
    const address = (await addressesOf(ctx, "anchor")).at(-1);
    if (address === undefined) return null;
    const [anchor] = (await lastSentBy(ctx, "anchor", address, 1)).flatMap(anchorOf);
    return anchor === undefined ? null : { address, ...anchor };
  },
});

function anchorOf({ nonce, request, createdAt, state, tries }: Doc<"orders">): Anchor[] {
  if (nonce === undefined) return [];
  const { sequence, hash } = request.kind === "anchor" ? request : { sequence: null, hash: null };
  return [
    {
      nonce,
      sequence,
      hash,
      txHashes: tries.map((one) => one.hash),
      status: state === "confirmed" || state === "failed" ? state : "pending",
      signedAt: iso(createdAt),
    },
  ];
}
