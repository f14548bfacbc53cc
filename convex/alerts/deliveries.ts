import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { messageOf } from "../lib/errors";
import { providerAction } from "../lib/providerCalls";
import { open } from "../lib/sealing";
import { HOUR, MINUTE, SECOND } from "../lib/time";
import { postWebhook, type PostOutcome } from "../providers/webhooks";
import { secretSeal } from "./sinkRows";
import { refusalOf } from "./targets";

/** Posts what has fired to webhooks: one action a minute, whatever there is, many posts at a time, one for each webhook. */

/** Between one try and the next: three days in all. */
const PAUSES_MS = [
  MINUTE,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  20 * HOUR,
];
/** What else there is for a webhook that has just failed waits this long. */
const REST_MS = 5 * MINUTE;
/** Posted at a time. */
const TOGETHER = 20;
/** Looked at for those at a time, and so many times in one turn: one webhook may have many due. */
const LOOK_AT = 100;
const LOOKS = 4;
/** No turn begins later than this: the next action begins a minute behind this one. */
const WORKS_FOR_MS = 40 * SECOND;
/** A try that is silent for so long was cut off. */
const LEASE_MS = 2 * MINUTE;

const vTry = v.object({
  deliveryId: v.id("alertDeliveries"),
  try: v.number(),
  userId: v.string(),
  url: v.string(),
  sealedSigning: v.string(),
  messageId: v.string(),
  body: v.string(),
});

const vOutcome = v.union(
  v.object({ kind: v.literal("delivered") }),
  v.object({ kind: v.literal("gone") }),
  v.object({ kind: v.literal("failed"), reason: v.string() }),
);

export const post = providerAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const until = Date.now() + WORKS_FOR_MS;
    while (Date.now() < until) {
      const tries = await ctx.runMutation(internal.alerts.deliveries.claim, {});
      if (tries.length === 0) return null;
      const results = await Promise.all(
        tries.map(async (one) => {
          return { deliveryId: one.deliveryId, try: one.try, outcome: await outcomeOf(one) };
        }),
      );
      await ctx.runMutation(internal.alerts.deliveries.mark, { results });
    }
    return null;
  },
});

async function outcomeOf(one: Infer<typeof vTry>): Promise<PostOutcome> {
  const { userId, url, sealedSigning, messageId: id, body } = one;
  // What is refused today may have been let in by an earlier version.
  const refusal = refusalOf(url);
  if (refusal !== null) return { kind: "failed", reason: `The address ${refusal}` };
  try {
    return await postWebhook({
      url,
      secret: await open(sealedSigning, secretSeal({ userId, url })),
      id,
      body,
    });
  } catch (error) {
    return { kind: "failed", reason: messageOf(error) };
  }
}

/** Takes what is due, for one try each; of each webhook one at a time. */
export const claim = internalMutation({
  args: {},
  returns: v.array(vTry),
  handler: async (ctx) => {
    const now = Date.now();
    const tries: Infer<typeof vTry>[] = [];
    const taken = new Set<string>();
    for (const state of ["posting", "due"] as const) {
      for (let look = 0; look < LOOKS; look++) {
        const rows = await ctx.db
          .query("alertDeliveries")
          .withIndex("by_state_and_dueAt", (q) => q.eq("state", state).lte("dueAt", now))
          .take(LOOK_AT);
        for (const row of rows) {
          if (tries.length >= TOGETHER) return tries;
          await take(ctx, row, { now, taken, tries });
        }
        if (rows.length < LOOK_AT) break;
      }
    }
    return tries;
  },
});

type Turn = { now: number; taken: Set<string>; tries: Infer<typeof vTry>[] };

async function take(ctx: MutationCtx, row: Doc<"alertDeliveries">, { now, taken, tries }: Turn) {
  const sink = await ctx.db.get("alertSinks", row.sinkId);
  if (sink?.state !== "active") {
    const ended = { state: "failed", outcome: "The webhook has ended" } as const;
    await ctx.db.patch("alertDeliveries", row._id, ended);
  } else if (sink.restUntil > now) {
    await ctx.db.patch("alertDeliveries", row._id, { state: "due", dueAt: sink.restUntil });
  } else if (taken.has(sink._id)) {
    // Behind what is due to others: a webhook that has much to come keeps nobody waiting.
    if (row.dueAt < now) await ctx.db.patch("alertDeliveries", row._id, { dueAt: now });
  } else {
    taken.add(sink._id);
    tries.push(await begin(ctx, row, sink, now));
  }
}

async function begin(
  ctx: MutationCtx,
  { _id, tries, firingId, body }: Doc<"alertDeliveries">,
  { userId, url, sealedSigning }: Doc<"alertSinks">,
  now: number,
): Promise<Infer<typeof vTry>> {
  await ctx.db.patch("alertDeliveries", _id, { state: "posting", tries: tries + 1, dueAt: now + LEASE_MS });
  return { deliveryId: _id, try: tries + 1, userId, url, sealedSigning, messageId: `msg_${firingId}`, body };
}

/** What came of tries; the word of one that was overtaken is dropped. */
export const mark = internalMutation({
  args: {
    results: v.array(v.object({ deliveryId: v.id("alertDeliveries"), try: v.number(), outcome: vOutcome })),
  },
  returns: v.null(),
  handler: async (ctx, { results }) => {
    const now = Date.now();
    for (const { deliveryId, try: number, outcome } of results) {
      const row = await ctx.db.get("alertDeliveries", deliveryId);
      if (row?.state !== "posting" || row.tries !== number) continue;
      const sink = await ctx.db.get("alertSinks", row.sinkId);
      switch (outcome.kind) {
        case "delivered":
          await ctx.db.patch("alertDeliveries", deliveryId, { state: "delivered", outcome: "Delivered" });
          if (sink?.problem !== undefined) await ctx.db.patch("alertSinks", sink._id, { problem: undefined });
          break;
        case "gone": {
          const reason = "It answers 410: it wants nothing more";
          await ctx.db.patch("alertDeliveries", deliveryId, { state: "failed", outcome: reason });
          if (sink?.state === "active")
            await ctx.db.patch("alertSinks", sink._id, { state: "ended", endedAt: now, reason });
          break;
        }
        case "failed": {
          const { reason } = outcome;
          const pause = PAUSES_MS[number - 1];
          const next =
            pause === undefined
              ? { state: "failed" as const }
              : { state: "due" as const, dueAt: now + pause };
          await ctx.db.patch("alertDeliveries", deliveryId, { ...next, outcome: reason });
          const rest = { problem: reason, restUntil: now + Math.min(pause ?? REST_MS, REST_MS) };
          if (sink !== null) await ctx.db.patch("alertSinks", sink._id, rest);
        }
      }
    }
    return null;
  },
});
