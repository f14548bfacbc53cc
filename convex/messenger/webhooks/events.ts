import { v, type Infer } from "convex/values";
import { pick } from "convex-helpers";
import { internal } from "../../_generated/api";
import { pickFields } from "../../lib/objects";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { defineMutation } from "../../platform/changes";
import { AppError } from "../../lib/errors";
import { literals } from "../../lib/literals";
import { queryBy } from "../../platform/records";
import { HOUR, MINUTE, SECOND } from "../../lib/time";
import { enqueueWork, findWork } from "../../platform/work";
import { vWebhookEvent, webhookTables, type Event, type EventType } from "./tables";

/**
 * Users' webhooks, their events, and the order of the posts (by `messenger/actions`). There are two pieces of work at a
 * time, one for receivers that accepted their last post and one for the others, so that a dead receiver never delays a
 * healthy one. The posts of a batch are concurrent, and their outcomes are stored in one transaction. A lost batch is
 * posted again, under the same ids.
 */

/** The most webhooks of a user. */
const MOST_WEBHOOKS = 3;
/** The number of webhooks that get an event in one transaction, and of events in an answer. */
const PAGE = 100;
/** The pauses between attempts: three days in all. */
const PAUSES_MS = [MINUTE, 5 * MINUTE, ...[0.5, 2, 5, 10, 14, 20, 20].map((hours) => hours * HOUR)];
/** The maximum of concurrent posts, in all and to one host; and of rows read for a batch, because one host's may come first. */
const BATCH = 100;
const MOST_OF_HOST = 10;
const LOOK_AT = 500;

const { validator: webhooks } = webhookTables.webhooks;

/** A user's webhooks, oldest first. */
export async function listUserWebhooks(ctx: QueryCtx, userId: string): Promise<Doc<"webhooks">[]> {
  return queryBy(ctx.db.query("webhooks"), "userId", userId).take(MOST_WEBHOOKS);
}

type Data = Readonly<Record<string, unknown>>;

/** Posts an event to a user's own webhooks. */
export async function emitToOwner(
  ctx: MutationCtx,
  userId: string,
  type: EventType,
  data: Data,
): Promise<void> {
  const event = buildEvent(type, data);
  for (const webhook of await listUserWebhooks(ctx, userId)) await post(ctx, webhook, event);
}

/** Posts an event to every webhook, after this transaction, because their number is unbounded. */
export async function emitToAll(ctx: MutationCtx, type: EventType, data: Data): Promise<void> {
  const event = buildEvent(type, data);
  await ctx.scheduler.runAfter(0, internal.messenger.webhooks.events.queueForEveryWebhook, {
    event,
    cursor: null,
  });
}

function buildEvent(type: EventType, data: Data): Event {
  return { id: `msg_${crypto.randomUUID()}`, type, timestamp: Date.now(), data: JSON.stringify(data) };
}

/** Queues a public event for all webhooks, page after page. */
export const queueForEveryWebhook = defineMutation(
  { event: vWebhookEvent, cursor: v.union(v.string(), v.null()) },
  async (ctx, { event, cursor }) => {
    const found = await ctx.db.query("webhooks").paginate({ cursor, numItems: PAGE });
    for (const webhook of found.page) await post(ctx, webhook, event);
    if (found.isDone) return;
    const next = { event, cursor: found.continueCursor };
    await ctx.scheduler.runAfter(0, internal.messenger.webhooks.events.queueForEveryWebhook, next);
  },
);

async function post(ctx: MutationCtx, webhook: Doc<"webhooks">, event: Event): Promise<void> {
  const { _id: webhookId, userId, problem } = webhook;
  const state = problem === undefined ? "due" : "retrying";
  await ctx.db.insert("webhookPosts", { userId, webhookId, event, state, tries: 0, dueAt: Date.now() });
}

export const vLane = literals("due", "retrying");

/** Starts the posting of due events, unless it is under way. */
export const startPosting = defineMutation({}, async (ctx) => {
  for (const lane of ["due", "retrying"] as const) {
    const subject = `posts to webhooks: ${lane}`;
    const [first] = await queryDuePosts(ctx, lane, 1);
    if (first === undefined || (await findWork(ctx, subject)) !== null) continue;
    // A failed run is retried after a minute, then by the next tick.
    await enqueueWork(ctx, internal.messenger.actions.postEvents, { lane }, { subject, attempts: 2 });
  }
});

function queryDuePosts(ctx: QueryCtx, lane: Infer<typeof vLane>, most: number, now = Date.now()) {
  return ctx.db
    .query("webhookPosts")
    .withIndex("by_state_and_dueAt", (q) => q.eq("state", lane).lte("dueAt", now))
    .take(most);
}

const vPostAttempt = v.object({
  postId: v.id("webhookPosts"),
  /** Identifies the attempt. */
  tries: v.number(),
  event: vWebhookEvent,
  /** `null`: it has ended. */
  webhook: v.union(webhooks.pick("userId", "url", "sealedSigning"), v.null()),
});
export type PostAttempt = Infer<typeof vPostAttempt>;

/** The next batch, the longest due first. It writes nothing: a post stays due until its outcome is stored. */
export const getNextBatch = internalQuery({
  args: { lane: vLane, now: v.number() },
  returns: v.array(vPostAttempt),
  handler: async (ctx, { lane, now }) => {
    const ofHost = new Map<string, number>();
    const batch: PostAttempt[] = [];
    for (const { _id: postId, webhookId, tries, event } of await queryDuePosts(ctx, lane, LOOK_AT, now)) {
      const row = await ctx.db.get("webhooks", webhookId);
      const webhook = row && pick(row, ["userId", "url", "sealedSigning"]);
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

const vPostResult = v.object({
  postId: v.id("webhookPosts"),
  tries: v.number(),
  /** `gone`: the receiver rejects further posts, or the webhook does not exist. */
  kind: literals("delivered", "gone", "failed"),
  problem: v.optional(v.string()),
});
export type PostResult = Infer<typeof vPostResult>;

/** Stores the outcomes of attempts, except those that another attempt has stored already. */
export const storePostResults = defineMutation(
  { results: v.array(vPostResult) },
  async (ctx, { results }) => {
    for (const { postId, tries, kind, problem } of results) {
      const row = await ctx.db.get("webhookPosts", postId);
      if (row?.tries !== tries) continue;
      const pause = kind === "failed" ? PAUSES_MS[tries] : undefined;
      const state = kind === "delivered" ? "delivered" : pause === undefined ? "failed" : "retrying";
      await ctx.db.patch("webhookPosts", postId, {
        state,
        dueAt: Date.now() + (pause ?? 0),
        tries: tries + 1,
      });
      const webhook = await ctx.db.get("webhooks", row.webhookId);
      if (webhook === null) continue;
      if (kind === "gone") await ctx.db.delete("webhooks", webhook._id);
      else if (webhook.problem !== problem) await ctx.db.patch("webhooks", webhook._id, { problem });
    }
  },
);

const vPublicWebhook = webhooks.pick("url").extend({
  webhookId: v.id("webhooks"),
  createdAt: v.number(),
  problem: v.union(v.string(), v.null()),
});

/** A user's webhooks without their secrets. `createdAt` in epoch ms; `problem`: why the latest post failed, if it did. */
export const listWebhooks = internalQuery({
  args: { userId: v.string() },
  returns: v.array(vPublicWebhook),
  handler: async (ctx, { userId }) =>
    (await listUserWebhooks(ctx, userId)).map(({ _id: webhookId, _creationTime: createdAt, ...row }) =>
      pickFields(vPublicWebhook, { problem: null, ...row, webhookId, createdAt }),
    ),
});

/** @throws AppError `conflict` with three already, or the same address. */
export const storeWebhook = internalMutation({
  args: webhooks.pick("userId", "url", "sealedSigning"),
  returns: v.id("webhooks"),
  handler: async (ctx, given) => {
    const present = await listUserWebhooks(ctx, given.userId);
    if (present.some(({ url }) => url === given.url))
      throw new AppError(
        "conflict",
        "This address is one of your webhooks already: GET /webhooks lists them",
      );
    if (present.length >= MOST_WEBHOOKS)
      throw new AppError("conflict", `A user has at most ${MOST_WEBHOOKS} webhooks: remove one first`);
    return ctx.db.insert("webhooks", given);
  },
});

/** Ends a user's webhook. @throws AppError `not_found` unless it is theirs. */
export const remove = defineMutation({ userId: v.string(), webhookId: v.string() }, async (ctx, given) => {
  const row = (await listUserWebhooks(ctx, given.userId)).find(({ _id }) => _id === given.webhookId);
  if (row === undefined)
    throw new AppError("not_found", "This user has no such webhook: GET /webhooks lists them");
  await ctx.db.delete("webhooks", row._id);
});

/** A row's time is the start of its transaction, so an older row can still appear while an earlier transaction is open. */
const SETTLED_MS = 10 * SECOND;

/**
 * The events for a user's webhooks, delivered or not, oldest first, each once.
 * @param after The `next` of the page before, or epoch ms, for events written later.
 * @returns `next` is `null` on the last page.
 */
export const readEvents = internalQuery({
  args: { userId: v.string(), after: v.number(), now: v.number() },
  returns: v.object({ events: v.array(vWebhookEvent), next: v.union(v.number(), v.null()) }),
  handler: async (ctx, { userId, after, now }) => {
    const page = await ctx.db
      .query("webhookPosts")
      .withIndex("by_userId", (q) =>
        q
          .eq("userId", userId)
          .gt("_creationTime", after)
          .lte("_creationTime", now - SETTLED_MS),
      )
      .take(PAGE);
    const events = new Map(page.map(({ event }) => [event.id, event]));
    return { events: [...events.values()], next: page[PAGE - 1]?._creationTime ?? null };
  },
});
