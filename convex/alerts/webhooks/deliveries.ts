import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import { internalMutation, type MutationCtx } from "../../_generated/server";
import { messageOf } from "../../lib/errors";
import { providerAction } from "../../lib/outside/providerCalls";
import { open } from "../../lib/security/seals";
import { DAY, HOUR, MINUTE, SECOND, sleep } from "../../lib/time";
import { postWebhook, vPostOutcome, type PostOutcome } from "../../providers/webhooks";
import { isProven } from "../allowances";
import { secretSeal } from "./rows";
import { refusalOf } from "./targets";

/**
 * Posts what has fired to webhooks: one action a minute, whatever there is, many posts at a time, one for each webhook. Who
 * answers slowly holds a place for as long as that takes: a host gets few of them, strangers together half, and whoever
 * has not just answered at once, signed in or not, three quarters.
 */

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
/** A post that is older than this is given up, however few tries it had: its webhook had too much to come. */
const GIVEN_UP_MS = 3 * DAY + HOUR;
/**
 * Posted at a time, and of those to one host, for users that nobody has signed in for, and to webhooks that did not take
 * their last post at once, or have had none: a place among the rest is never held for long.
 */
const PLACES = 20;
const MOST_OF_HOST = 4;
const MOST_UNPROVEN = 10;
const MOST_SLOW = 15;
/** Taken within so long counts as at once. */
const QUICK_MS = 2 * SECOND;
/** What ends within so long of another is marked together with it. */
const GATHERED_MS = SECOND / 10;
/** Looked at for those at a time, and so many times in one turn: one webhook may have many due. */
const LOOK_AT = 100;
const LOOKS = 4;
/** No post begins later than this: the next action begins a minute behind this one. */
const WORKS_FOR_MS = 40 * SECOND;
/** A try that is silent for so long was cut off. */
const LEASE_MS = 2 * MINUTE;

/** What holds a place. */
const vHolder = v.object({
  sinkId: v.id("alertSinks"),
  host: v.string(),
  proven: v.boolean(),
  quick: v.boolean(),
});
type Holder = Infer<typeof vHolder>;

const vTry = v.object({
  ...vHolder.fields,
  deliveryId: v.id("alertDeliveries"),
  try: v.number(),
  userId: v.string(),
  url: v.string(),
  sealedSigning: v.string(),
  messageId: v.string(),
  body: v.string(),
});

const vResult = v.object({
  deliveryId: v.id("alertDeliveries"),
  try: v.number(),
  /** How long it took. */
  ms: v.number(),
  outcome: vPostOutcome,
});

export const post = providerAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const until = Date.now() + WORKS_FOR_MS;
    const underWay = new Map<Id<"alertDeliveries">, { holder: Holder; done: Promise<void> }>();
    const results: Infer<typeof vResult>[] = [];
    for (;;) {
      const held = [...underWay.values()].map(({ holder }) => holder);
      const tries: Infer<typeof vTry>[] =
        Date.now() < until ? await ctx.runMutation(internal.alerts.webhooks.deliveries.claim, { held }) : [];
      for (const one of tries) {
        const { deliveryId, try: number, sinkId, host, proven, quick } = one;
        const begunAt = Date.now();
        const done = outcomeOf(one).then((outcome) => {
          results.push({ deliveryId, try: number, ms: Date.now() - begunAt, outcome });
          underWay.delete(deliveryId);
        });
        underWay.set(deliveryId, { holder: { sinkId, host, proven, quick }, done });
      }
      if (underWay.size === 0) return null;
      await Promise.race([...underWay.values()].map(({ done }) => done));
      if (underWay.size > 0) await sleep(GATHERED_MS);
      await ctx.runMutation(internal.alerts.webhooks.deliveries.mark, { results: results.splice(0) });
    }
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

/** Takes what is due, for one try each, as far as places are free; of each webhook one at a time. */
export const claim = internalMutation({
  args: { held: v.array(vHolder) },
  returns: v.array(vTry),
  handler: async (ctx, { held }) => {
    const turn: Turn = { now: Date.now(), holders: [...held], tries: [] };
    for (const state of ["posting", "due"] as const) {
      for (let look = 0; look < LOOKS; look++) {
        const rows = await ctx.db
          .query("alertDeliveries")
          .withIndex("by_state_and_dueAt", (q) => q.eq("state", state).lte("dueAt", turn.now))
          .take(LOOK_AT);
        for (const row of rows) {
          if (turn.holders.length >= PLACES) return turn.tries;
          await take(ctx, row, turn);
        }
        if (rows.length < LOOK_AT) break;
      }
    }
    return turn.tries;
  },
});

type Turn = { now: number; holders: Holder[]; tries: Infer<typeof vTry>[] };

async function take(ctx: MutationCtx, row: Doc<"alertDeliveries">, turn: Turn): Promise<void> {
  const { now, holders, tries } = turn;
  const sink = await ctx.db.get("alertSinks", row.sinkId);
  if (sink?.state !== "active") return giveUp(ctx, row, "The webhook has ended");
  if (now - row._creationTime > GIVEN_UP_MS)
    return giveUp(ctx, row, row.outcome ?? "Its webhook did not take it within three days");
  if (sink.restUntil > now) {
    await ctx.db.patch("alertDeliveries", row._id, { state: "due", dueAt: sink.restUntil });
    return;
  }
  const { _id: sinkId, url, userId } = sink;
  const { host } = new URL(url);
  const isBusy =
    holders.some((one) => one.sinkId === sinkId) ||
    holders.filter((one) => one.host === host).length >= MOST_OF_HOST;
  const proven = !isBusy && (await isProven(ctx, userId));
  const quick = proven && sink.isQuick === true;
  const isFull =
    (!proven && holders.filter((one) => !one.proven).length >= MOST_UNPROVEN) ||
    (!quick && holders.filter((one) => !one.quick).length >= MOST_SLOW);
  if (isBusy || isFull) {
    // Behind what is due to others: a webhook that has much to come keeps nobody waiting.
    if (row.dueAt < now) await ctx.db.patch("alertDeliveries", row._id, { dueAt: now });
    return;
  }
  const holder = { sinkId, host, proven, quick };
  holders.push(holder);
  tries.push({ ...holder, ...(await begin(ctx, row, sink, now)) });
}

async function giveUp(ctx: MutationCtx, { _id }: Doc<"alertDeliveries">, outcome: string): Promise<void> {
  await ctx.db.patch("alertDeliveries", _id, { state: "failed", outcome });
}

async function begin(
  ctx: MutationCtx,
  { _id, tries, firingId, body }: Doc<"alertDeliveries">,
  { userId, url, sealedSigning }: Doc<"alertSinks">,
  now: number,
): Promise<Omit<Infer<typeof vTry>, keyof Holder>> {
  await ctx.db.patch("alertDeliveries", _id, { state: "posting", tries: tries + 1, dueAt: now + LEASE_MS });
  const messageId = `msg_${firingId ?? _id}`;
  return { deliveryId: _id, try: tries + 1, userId, url, sealedSigning, messageId, body };
}

/** What came of tries; the word of one that was overtaken is dropped. */
export const mark = internalMutation({
  args: { results: v.array(vResult) },
  returns: v.null(),
  handler: async (ctx, { results }) => {
    const now = Date.now();
    for (const { deliveryId, try: number, ms, outcome } of results) {
      const row = await ctx.db.get("alertDeliveries", deliveryId);
      if (row?.state !== "posting" || row.tries !== number) continue;
      const sink = await ctx.db.get("alertSinks", row.sinkId);
      switch (outcome.kind) {
        case "delivered":
          await ctx.db.patch("alertDeliveries", deliveryId, { state: "delivered", outcome: "Delivered" });
          if (sink !== null) await taken(ctx, sink, ms <= QUICK_MS, now);
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
          const isLast = pause === undefined || now + pause - row._creationTime > GIVEN_UP_MS;
          const next = isLast ? { state: "failed" as const } : { state: "due" as const, dueAt: now + pause };
          await ctx.db.patch("alertDeliveries", deliveryId, { ...next, outcome: reason });
          const rest = {
            problem: reason,
            isQuick: false,
            restUntil: now + Math.min(pause ?? REST_MS, REST_MS),
          };
          if (sink !== null) await ctx.db.patch("alertSinks", sink._id, rest);
        }
      }
    }
    return null;
  },
});

/** A webhook has taken a post; within a day nothing is written where that was expected. */
async function taken(
  ctx: MutationCtx,
  { _id, ...sink }: Doc<"alertSinks">,
  isQuick: boolean,
  now: number,
): Promise<void> {
  const { problem, usedAt = 0 } = sink;
  if (problem === undefined && sink.isQuick === isQuick && now - usedAt < DAY) return;
  await ctx.db.patch("alertSinks", _id, { problem: undefined, isQuick, usedAt: now });
}
