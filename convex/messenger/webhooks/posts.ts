import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { dueWork } from "../../lib/cronRuns";
import { DAY, HOUR, iso, MINUTE, SECOND } from "../../lib/time";
import { end, open, underWay, vJob, workOn } from "../../lib/work/jobs";
import { ownerOf } from "../../users/model";
import { messageIdOf, post } from "./events";

/**
 * Which posts are sent to webhooks, and when (`carrier` sends them): one action at a time, many posts at a time, one
 * per webhook. A slow receiver holds a place for as long as it takes: a host gets a few places, all strangers half of
 * them, and webhooks that did not take their last post quickly, of signed-in users or not, three quarters.
 */

/** How many webhooks get an event in one transaction. */
const SPREAD = 25;

/** The pauses between attempts: three days in all. */
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
/** How long the other posts of a webhook wait after a failure. */
const REST_MS = 5 * MINUTE;
/** An older post is given up, however few attempts it had: its webhook had too many. */
const GIVEN_UP_MS = 3 * DAY + HOUR;
/**
 * The most posts at a time: in all, to one host, for users who have not signed in, and to webhooks that did not take
 * their last post quickly or have had none. So some places are never held for long.
 */
const PLACES = 20;
const MOST_OF_HOST = 4;
const MOST_UNPROVEN = 10;
const MOST_SLOW = 15;
/** An answer within this time counts as quick. */
const QUICK_MS = 2 * SECOND;
/** How many due posts are read at once, and how often in one turn: one webhook may have many. */
const LOOK_AT = 100;
const LOOKS = 4;
/** The single carrier at a time. */
const CARRIER = "posts to webhooks";
/** One that fails is tried again after a minute. After another failure the dispatcher opens the next: no pause is longer. */
const ATTEMPTS = 2;

/** The holder of a place. */
const vHolder = v.object({
  webhookId: v.id("webhooks"),
  host: v.string(),
  proven: v.boolean(),
  quick: v.boolean(),
});
export type Holder = Infer<typeof vHolder>;

const vTry = v.object({
  ...vHolder.fields,
  postId: v.id("webhookPosts"),
  try: v.number(),
  userId: v.string(),
  url: v.string(),
  sealedSigning: v.string(),
  messageId: v.string(),
  body: v.string(),
});
export type Try = Infer<typeof vTry>;

const vResult = v.object({
  postId: v.id("webhookPosts"),
  try: v.number(),
  /** How long it took. */
  ms: v.number(),
  /** `gone`: the receiver wants no more. */
  outcome: v.union(
    v.object({ kind: v.union(v.literal("delivered"), v.literal("gone")) }),
    v.object({ kind: v.literal("failed"), reason: v.string() }),
  ),
});
export type Result = Infer<typeof vResult>;

/** Starts the posting of due events, unless it is under way. */
export const begin = dueWork(async (ctx) => {
  if ((await workOn(ctx, CARRIER)) !== null) return;
  await open(ctx, internal.messenger.webhooks.carrier.carry, {}, { subject: CARRIER, attempts: ATTEMPTS });
});

/** Queues a public event for all webhooks that ask for it, page after page. */
export const spread = change(
  { eventId: v.id("webhookEvents"), cursor: v.union(v.string(), v.null()) },
  async (ctx, { eventId, cursor }) => {
    const event = await ctx.db.get("webhookEvents", eventId);
    if (event === null) return;
    const found = await ctx.db
      .query("webhooks")
      .withIndex("by_hearsPublic_and_state", (q) => q.eq("hearsPublic", true).eq("state", "active"))
      .paginate({ cursor, numItems: SPREAD });
    for (const webhook of found.page)
      if (webhook.events.includes(event.type)) await post(ctx, webhook, eventId);
    if (found.isDone) return;
    const next = { eventId, cursor: found.continueCursor };
    await ctx.scheduler.runAfter(0, internal.messenger.webhooks.posts.spread, next);
  },
);

/**
 * Takes due posts, for one try each, as far as places are free; one per webhook.
 * @param held The places that the carrier holds. With none, whatever is still being posted was lost with an earlier one.
 * @returns `null` if nothing is left to do: the carrier's work has ended.
 */
export const claim = internalMutation({
  args: { job: vJob, held: v.array(vHolder) },
  returns: v.union(v.array(vTry), v.null()),
  handler: async (ctx, { job, held }) => {
    if ((await underWay(ctx, job)) === null) return null;
    const turn: Turn = { now: Date.now(), holders: [...held], tries: [] };
    if (held.length === 0) for (const row of await postsBy(ctx, "posting", turn)) await take(ctx, row, turn);
    for (let look = 0; look < LOOKS && turn.holders.length < PLACES; look++) {
      const rows = await postsBy(ctx, "due", turn);
      for (const row of rows) if (turn.holders.length < PLACES) await take(ctx, row, turn);
      if (rows.length < LOOK_AT) break;
    }
    if (turn.holders.length > 0) return turn.tries;
    await end(ctx, job);
    return null;
  },
});

async function postsBy(
  ctx: QueryCtx,
  state: "posting" | "due",
  { now }: Turn,
): Promise<Doc<"webhookPosts">[]> {
  return ctx.db
    .query("webhookPosts")
    .withIndex("by_state_and_dueAt", (q) => q.eq("state", state).lte("dueAt", now))
    .take(LOOK_AT);
}

/** The posted JSON, the same in every attempt. */
function bodyOf({ type, at, data }: Doc<"webhookEvents">): string {
  return `{"type":"${type}","timestamp":"${iso(at)}","data":${data}}`;
}

type Turn = { now: number; holders: Holder[]; tries: Try[] };

async function take(ctx: MutationCtx, row: Doc<"webhookPosts">, turn: Turn): Promise<void> {
  const { now, holders, tries } = turn;
  const webhook = await ctx.db.get("webhooks", row.webhookId);
  if (webhook?.state !== "active") return giveUp(ctx, row, "The webhook has ended");
  if (now - row.askedAt > GIVEN_UP_MS)
    return giveUp(ctx, row, row.outcome ?? "Its webhook did not take it within three days");
  if (webhook.restUntil > now) {
    await ctx.db.patch("webhookPosts", row._id, { state: "due", dueAt: webhook.restUntil });
    return;
  }
  const { _id: webhookId, url, userId } = webhook;
  const { host } = new URL(url);
  const isBusy =
    holders.some((one) => one.webhookId === webhookId) ||
    holders.filter((one) => one.host === host).length >= MOST_OF_HOST;
  const proven = !isBusy && (await ownerOf(ctx, userId)) !== null;
  const quick = proven && webhook.isQuick === true;
  const isFull =
    holders.length >= PLACES ||
    (!proven && holders.filter((one) => !one.proven).length >= MOST_UNPROVEN) ||
    (!quick && holders.filter((one) => !one.quick).length >= MOST_SLOW);
  if (isBusy || isFull) {
    // After others' posts: a webhook with many keeps nobody waiting.
    if (row.state !== "due" || row.dueAt < now)
      await ctx.db.patch("webhookPosts", row._id, { state: "due", dueAt: now });
    return;
  }
  const event = await ctx.db.get("webhookEvents", row.eventId);
  if (event === null) return giveUp(ctx, row, "Its event is gone");
  const holder = { webhookId, host, proven, quick };
  holders.push(holder);
  const number = row.tries + 1;
  await ctx.db.patch("webhookPosts", row._id, { state: "posting", tries: number, dueAt: now });
  const { sealedSigning } = webhook;
  const message = { messageId: messageIdOf(event._id), body: bodyOf(event) };
  tries.push({ ...holder, ...message, postId: row._id, try: number, userId, url, sealedSigning });
}

async function giveUp(ctx: MutationCtx, { _id }: Doc<"webhookPosts">, outcome: string): Promise<void> {
  await ctx.db.patch("webhookPosts", _id, { state: "failed", outcome });
}

/** Stores the outcomes of attempts; the outcome of an overtaken one is dropped. */
export const mark = change({ results: v.array(vResult) }, async (ctx, { results }) => {
  const now = Date.now();
  for (const { postId, try: number, ms, outcome } of results) {
    const row = await ctx.db.get("webhookPosts", postId);
    if (row?.state !== "posting" || row.tries !== number) continue;
    const webhook = await ctx.db.get("webhooks", row.webhookId);
    switch (outcome.kind) {
      case "delivered":
        await ctx.db.patch("webhookPosts", postId, { state: "delivered", outcome: "Delivered" });
        if (webhook !== null) await taken(ctx, webhook, ms <= QUICK_MS, now);
        break;
      case "gone": {
        const reason = "It answers 410: it wants no more posts";
        await ctx.db.patch("webhookPosts", postId, { state: "failed", outcome: reason });
        if (webhook?.state === "active")
          await ctx.db.patch("webhooks", webhook._id, { state: "ended", endedAt: now, reason });
        break;
      }
      case "failed": {
        const { reason } = outcome;
        const pause = PAUSES_MS[number - 1];
        const isLast = pause === undefined || now + pause - row.askedAt > GIVEN_UP_MS;
        const next = isLast ? { state: "failed" as const } : { state: "due" as const, dueAt: now + pause };
        await ctx.db.patch("webhookPosts", postId, { ...next, outcome: reason });
        const rest = {
          problem: reason,
          isQuick: false,
          restUntil: now + Math.min(pause ?? REST_MS, REST_MS),
        };
        if (webhook !== null) await ctx.db.patch("webhooks", webhook._id, rest);
      }
    }
  }
});

/** A webhook has taken a post; unless something changes, it writes at most once a day. */
async function taken(
  ctx: MutationCtx,
  { _id, ...webhook }: Doc<"webhooks">,
  isQuick: boolean,
  now: number,
): Promise<void> {
  const { problem, usedAt = 0 } = webhook;
  if (problem === undefined && webhook.isQuick === isQuick && now - usedAt < DAY) return;
  await ctx.db.patch("webhooks", _id, { problem: undefined, isQuick, usedAt: now });
}
