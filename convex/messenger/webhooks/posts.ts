import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalQuery, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { dueWork } from "../../lib/cronRuns";
import { literals } from "../../lib/literals";
import { DAY, HOUR, MINUTE } from "../../lib/time";
import { open, workOn } from "../../lib/work/jobs";
import { post } from "./events";
import { vEvent, webhookTables } from "./tables";

/**
 * Which posts are sent to webhooks, and when (`carrier` sends them): two pieces of work at a time, one for receivers
 * that took their last post, one for those that did not, so that no silence holds up what is well. Each posts a batch
 * at once and stores all outcomes in one transaction. A batch that is lost is posted again, under the same ids.
 */

/** How many webhooks get an event in one transaction. */
const SPREAD = 100;
/** The pauses between attempts: three days in all. */
const PAUSES_MS = [MINUTE, 5 * MINUTE, ...[0.5, 2, 5, 10, 14, 20, 20].map((hours) => hours * HOUR)];
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

/** Starts the posting of due events, unless it is under way. */
export const begin = dueWork(async (ctx) => {
  for (const lane of ["due", "retrying"] as const) {
    const subject = `posts to webhooks: ${lane}`;
    const [first] = await duePosts(ctx, lane, Date.now(), 1);
    if (first === undefined || (await workOn(ctx, subject)) !== null) continue;
    await open(ctx, internal.messenger.webhooks.carrier.carry, { lane }, { subject, attempts: ATTEMPTS });
  }
});

function duePosts(ctx: QueryCtx, lane: Infer<typeof vLane>, now: number, most: number) {
  return ctx.db
    .query("webhookPosts")
    .withIndex("by_state_and_dueAt", (q) => q.eq("state", lane).lte("dueAt", now))
    .take(most);
}

/** Queues a public event for all webhooks that ask for it, page after page. */
export const spread = change(
  { event: vEvent, cursor: v.union(v.string(), v.null()) },
  async (ctx, { event, cursor }) => {
    const found = await ctx.db.query("webhooks").paginate({ cursor, numItems: SPREAD });
    for (const webhook of found.page)
      if (webhook.events.includes(event.type)) await post(ctx, webhook, event);
    if (found.isDone) return;
    const next = { event, cursor: found.continueCursor };
    await ctx.scheduler.runAfter(0, internal.messenger.webhooks.posts.spread, next);
  },
);

const { userId, url, sealedSigning } = webhookTables.webhooks.validator.fields;
const vTry = v.object({
  postId: v.id("webhookPosts"),
  /** Identifies the attempt. */
  tries: v.number(),
  event: vEvent,
  /** `null`: it has ended. */
  webhook: v.union(v.object({ userId, url, sealedSigning }), v.null()),
});
export type Try = Infer<typeof vTry>;

/** The next batch, the longest due first. Nothing is written: what is posted stays due until its outcome is stored. */
export const batch = internalQuery({
  args: { lane: vLane, now: v.number() },
  returns: v.array(vTry),
  handler: async (ctx, { lane, now }) => {
    const ofHost = new Map<string, number>();
    const batch: Try[] = [];
    for (const { _id: postId, webhookId, tries, event } of await duePosts(ctx, lane, now, LOOK_AT)) {
      const row = await ctx.db.get("webhooks", webhookId);
      const webhook = row && { userId: row.userId, url: row.url, sealedSigning: row.sealedSigning };
      const host = row === null ? "" : new URL(row.url).host;
      const many = ofHost.get(host) ?? 0;
      if (many >= MOST_OF_HOST) continue;
      ofHost.set(host, many + 1);
      batch.push({ postId, tries, event, webhook });
      if (batch.length === BATCH) break;
    }
    return batch;
  },
});

const vResult = v.object({
  postId: v.id("webhookPosts"),
  tries: v.number(),
  /** `gone`: the receiver wants no more, or there is none. */
  outcome: v.union(
    v.object({ kind: v.literal("delivered") }),
    v.object({ kind: v.literal("gone") }),
    v.object({ kind: v.literal("failed"), reason: v.string() }),
  ),
});
export type Result = Infer<typeof vResult>;

/** Stores the outcomes of attempts; what another attempt has stored before stays. */
export const mark = change({ results: v.array(vResult) }, async (ctx, { results }) => {
  for (const { postId, tries: before, outcome } of results) {
    const row = await ctx.db.get("webhookPosts", postId);
    if (row === null || row.tries !== before || row.state === "delivered" || row.state === "failed") continue;
    await ctx.db.patch("webhookPosts", postId, { ...after(row, outcome), tries: before + 1 });
    const isGone = outcome.kind === "gone" && (await ctx.db.get("webhooks", row.webhookId)) !== null;
    if (isGone) await ctx.db.delete("webhooks", row.webhookId);
  }
});

function after({ _creationTime, tries }: Doc<"webhookPosts">, outcome: Result["outcome"]) {
  if (outcome.kind === "delivered") return { state: "delivered" as const, problem: undefined };
  if (outcome.kind === "gone") return { state: "failed" as const, problem: "The webhook has ended" };
  const pause = PAUSES_MS[tries];
  const dueAt = Date.now() + (pause ?? 0);
  const isLast = pause === undefined || dueAt - _creationTime > GIVEN_UP_MS;
  return isLast
    ? { state: "failed" as const, problem: outcome.reason }
    : { state: "retrying" as const, problem: outcome.reason, dueAt };
}
