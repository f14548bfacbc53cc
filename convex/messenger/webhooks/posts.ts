import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import { internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { dueWork } from "../../lib/cronRuns";
import { literals } from "../../lib/literals";
import { DAY, HOUR, iso, MINUTE } from "../../lib/time";
import { open, workOn } from "../../lib/work/jobs";
import { messageIdOf, post } from "./events";

/**
 * Which posts are sent to webhooks, and when (`carrier` sends them): two pieces of work at a time, one for receivers
 * that took their last post, one for those that did not, so that no silence holds up what is well. Each posts a batch
 * at once and stores all outcomes in one transaction. A batch that is lost is posted again, under the same ids.
 */

/** How many webhooks get an event in one transaction. */
const SPREAD = 100;
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
/** An older post is given up, however few attempts it had. */
const GIVEN_UP_MS = 3 * DAY + HOUR;
/** The most posts at once, in all and to one host. */
const BATCH = 100;
const MOST_OF_HOST = 10;
/** How many due posts are looked at for a batch: those of one host may stand in front. */
const LOOK_AT = 500;
/** One that fails is tried again after a minute, then by the next tick: no pause is longer. */
const ATTEMPTS = 2;

export const vLane = literals("due", "retrying");
type Lane = Infer<typeof vLane>;

/** Starts the posting of due events, unless it is under way. */
export const begin = dueWork(async (ctx) => {
  for (const lane of vLane.members.map(({ value }) => value)) {
    const subject = `posts to webhooks: ${lane}`;
    const [first] = await duePosts(ctx, lane, Date.now(), 1);
    if (first === undefined || (await workOn(ctx, subject)) !== null) continue;
    await open(ctx, internal.messenger.webhooks.carrier.carry, { lane }, { subject, attempts: ATTEMPTS });
  }
});

function duePosts(ctx: QueryCtx, lane: Lane, now: number, most: number): Promise<Doc<"webhookPosts">[]> {
  return ctx.db
    .query("webhookPosts")
    .withIndex("by_state_and_dueAt", (q) => q.eq("state", lane).lte("dueAt", now))
    .take(most);
}

/** Queues a public event for all webhooks that ask for it, page after page. */
export const spread = change(
  { eventId: v.id("webhookEvents"), cursor: v.union(v.string(), v.null()) },
  async (ctx, { eventId, cursor }) => {
    const event = await ctx.db.get("webhookEvents", eventId);
    if (event === null) return;
    const found = await ctx.db
      .query("webhooks")
      .withIndex("by_state", (q) => q.eq("state", "active"))
      .paginate({ cursor, numItems: SPREAD });
    for (const webhook of found.page)
      if (webhook.events.includes(event.type)) await post(ctx, webhook, eventId);
    if (found.isDone) return;
    const next = { eventId, cursor: found.continueCursor };
    await ctx.scheduler.runAfter(0, internal.messenger.webhooks.posts.spread, next);
  },
);

const vTry = v.object({
  postId: v.id("webhookPosts"),
  /** Identifies the attempt. */
  tries: v.number(),
  userId: v.string(),
  url: v.string(),
  sealedSigning: v.string(),
  messageId: v.string(),
  /** The posted JSON, the same in every attempt; `null` if nothing is to be posted any more. */
  body: v.union(v.string(), v.null()),
});
export type Try = Infer<typeof vTry>;

/** The next batch, the longest due first. Nothing is written: what is posted stays due until its outcome is stored. */
export const batch = internalQuery({
  args: { lane: vLane, now: v.number() },
  returns: v.array(vTry),
  handler: async (ctx, { lane, now }) => {
    const webhooks = new Map<Id<"webhooks">, Doc<"webhooks"> | null>();
    const ofHost = new Map<string, number>();
    const tries: Try[] = [];
    for (const { _id: postId, webhookId, eventId, tries: before } of await duePosts(
      ctx,
      lane,
      now,
      LOOK_AT,
    )) {
      const webhook = webhooks.get(webhookId) ?? (await ctx.db.get("webhooks", webhookId));
      webhooks.set(webhookId, webhook);
      const { userId = "", url = "", sealedSigning = "", state } = webhook ?? {};
      const host = url === "" ? "" : new URL(url).host;
      const many = ofHost.get(host) ?? 0;
      if (many >= MOST_OF_HOST) continue;
      ofHost.set(host, many + 1);
      const event = state === "active" ? await ctx.db.get("webhookEvents", eventId) : null;
      const body = event && `{"type":"${event.type}","timestamp":"${iso(event.at)}","data":${event.data}}`;
      tries.push({
        postId,
        tries: before,
        userId,
        url,
        sealedSigning,
        messageId: messageIdOf(eventId),
        body,
      });
      if (tries.length === BATCH) break;
    }
    return tries;
  },
});

const vResult = v.object({
  postId: v.id("webhookPosts"),
  tries: v.number(),
  /** `gone`: the receiver wants no more. `dropped`: the webhook has ended, or the event is too old. */
  outcome: v.union(
    v.object({ kind: literals("delivered", "gone", "dropped") }),
    v.object({ kind: v.literal("failed"), reason: v.string() }),
  ),
});
export type Result = Infer<typeof vResult>;

/** Stores the outcomes of attempts; what another attempt has stored before stays. */
export const mark = change({ results: v.array(vResult) }, async (ctx, { results }) => {
  for (const { postId, tries, outcome } of results) {
    const row = await ctx.db.get("webhookPosts", postId);
    const isCurrent =
      row !== null && row.tries === tries && (row.state === "due" || row.state === "retrying");
    if (isCurrent) await store(ctx, row, outcome);
  }
});

async function store(
  ctx: MutationCtx,
  { _id, _creationTime, webhookId, tries: before }: Doc<"webhookPosts">,
  outcome: Result["outcome"],
): Promise<void> {
  const now = Date.now();
  const tries = before + 1;
  const webhook = await ctx.db.get("webhooks", webhookId);
  switch (outcome.kind) {
    case "delivered":
      await ctx.db.patch("webhookPosts", _id, { state: "delivered", tries, outcome: "Delivered" });
      if (webhook?.problem !== undefined) await ctx.db.patch("webhooks", webhookId, { problem: undefined });
      break;
    case "dropped":
      await ctx.db.patch("webhookPosts", _id, { state: "failed", outcome: "The webhook has ended" });
      break;
    case "gone": {
      const reason = "It answers 410: it wants no more posts";
      await ctx.db.patch("webhookPosts", _id, { state: "failed", tries, outcome: reason });
      if (webhook?.state === "active")
        await ctx.db.patch("webhooks", webhookId, { state: "ended", endedAt: now, reason });
      break;
    }
    case "failed": {
      const { reason } = outcome;
      const pause = PAUSES_MS[before];
      const isLast = pause === undefined || now + pause - _creationTime > GIVEN_UP_MS;
      const next = isLast ? { state: "failed" as const } : { state: "retrying" as const, dueAt: now + pause };
      await ctx.db.patch("webhookPosts", _id, { ...next, tries, outcome: reason });
      if (webhook !== null && webhook.problem !== reason)
        await ctx.db.patch("webhooks", webhookId, { problem: reason });
    }
  }
}
