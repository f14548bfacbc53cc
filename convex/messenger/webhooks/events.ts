import { v, type Infer } from "convex/values";
import { getOrThrow } from "convex-helpers/server/relationships";
import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { AppError } from "../../lib/errors";
import { rowsBy } from "../../lib/records/rows";
import { outdatedIn, replacing } from "../../lib/security/rotation";
import { keyIdOf, type SealContext } from "../../lib/security/seals";
import {
  MOST_WAITING,
  vEvent,
  webhookTables,
  type Event,
  type EventType,
  type OWN_EVENTS,
  type PUBLIC_EVENTS,
} from "./tables";

/** Users' webhooks, and the events for them. */

/** The most webhooks of a user. */
const MOST_WEBHOOKS = 3;

const { url, events } = webhookTables.webhooks.validator.fields;
/** A webhook as its user sees it. `createdAt` in epoch ms; `problem`: why its latest post failed, if it did. */
const vWebhook = v.object({
  webhookId: v.id("webhooks"),
  url,
  events,
  createdAt: v.number(),
  problem: v.union(v.string(), v.null()),
});
export type Webhook = Infer<typeof vWebhook>;

/** A user's webhooks, oldest first. */
export async function webhooksOf(ctx: QueryCtx, userId: string): Promise<Doc<"webhooks">[]> {
  return rowsBy(ctx.db.query("webhooks"), "userId", userId).take(MOST_WEBHOOKS);
}

/** The context of a secret's envelope: it opens only for its user and its address. */
export function secretSeal({ userId, url }: { userId: string; url: string }): SealContext {
  return { purpose: "webhook secret", owner: `${userId}\n${url}` };
}

type Data = Readonly<Record<string, unknown>>;

/** Posts an event to a user's own webhooks; if none asks for it, nothing is written. */
export async function tellOwner(
  ctx: MutationCtx,
  userId: string,
  type: (typeof OWN_EVENTS)[number],
  data: () => Data,
): Promise<void> {
  const asking = (await webhooksOf(ctx, userId)).filter(({ events }) => events.includes(type));
  if (asking.length === 0) return;
  const event = eventOf(type, data());
  for (const webhook of asking) await post(ctx, webhook, event);
}

/** Posts an event to every webhook that asks for it, after this transaction, because there may be any number. */
export async function tellEverybody(
  ctx: MutationCtx,
  type: (typeof PUBLIC_EVENTS)[number],
  data: Data,
): Promise<void> {
  const event = eventOf(type, data);
  await ctx.scheduler.runAfter(0, internal.messenger.webhooks.posts.spread, { event, cursor: null });
}

function eventOf(type: EventType, data: Data): Event {
  return { id: `msg_${crypto.randomUUID()}`, type, at: Date.now(), data: JSON.stringify(data) };
}

/** Queues an event for a webhook; with fifty waiting, the oldest is dropped. */
export async function post(ctx: MutationCtx, webhook: Doc<"webhooks">, event: Event): Promise<void> {
  const { _id: webhookId, userId } = webhook;
  const latest = await latestPosts(ctx, webhookId);
  const oldest = latest[MOST_WAITING - 1];
  if (oldest !== undefined && latest.every(({ state }) => state === "due" || state === "retrying"))
    await ctx.db.patch("webhookPosts", oldest._id, { state: "failed", problem: DROPPED });
  const state = problemIn(latest) === null ? "due" : "retrying";
  await ctx.db.insert("webhookPosts", { userId, webhookId, event, state, tries: 0, dueAt: Date.now() });
}

const DROPPED = `It was dropped for newer ones: at most ${MOST_WAITING} may wait for a webhook`;

async function latestPosts(ctx: QueryCtx, webhookId: Id<"webhooks">): Promise<Doc<"webhookPosts">[]> {
  return rowsBy(ctx.db.query("webhookPosts"), "webhookId", webhookId).order("desc").take(MOST_WAITING);
}

/** Why the latest post that was tried has failed; `null` if it was taken, or none was tried. */
function problemIn(latest: readonly Doc<"webhookPosts">[]): string | null {
  return latest.find(({ tries }) => tries > 0)?.problem ?? null;
}

async function shown(ctx: QueryCtx, { _id, url, events, _creationTime }: Doc<"webhooks">): Promise<Webhook> {
  const problem = problemIn(await latestPosts(ctx, _id));
  return { webhookId: _id, url, events, createdAt: _creationTime, problem };
}

/** @throws AppError `conflict` with three already, or the same address. */
export const store = internalMutation({
  args: { userId: v.string(), url, events, sealedSigning: v.string() },
  returns: vWebhook,
  handler: async (ctx, given) => {
    const present = await webhooksOf(ctx, given.userId);
    if (present.some(({ url }) => url === given.url))
      throw new AppError("conflict", "This address is already one of the user's webhooks");
    if (present.length >= MOST_WEBHOOKS)
      throw new AppError("conflict", `At most ${MOST_WEBHOOKS} webhooks: remove one first`);
    const row = { ...given, keyId: keyIdOf(given.sealedSigning) };
    return shown(ctx, await getOrThrow(ctx, "webhooks", await ctx.db.insert("webhooks", row)));
  },
});

export const all = internalQuery({
  args: { userId: v.string() },
  returns: v.array(vWebhook),
  handler: async (ctx, { userId }) =>
    Promise.all((await webhooksOf(ctx, userId)).map((one) => shown(ctx, one))),
});

/** Ends a user's webhook. @throws AppError `not_found` unless it is theirs. */
export async function endWebhook(ctx: MutationCtx, userId: string, id: string): Promise<void> {
  const webhookId = ctx.db.normalizeId("webhooks", id);
  const row = webhookId === null ? null : await ctx.db.get("webhooks", webhookId);
  if (row?.userId !== userId) throw new AppError("not_found", "This user has no such webhook");
  await ctx.db.delete("webhooks", row._id);
}

export const remove = change({ userId: v.string(), webhookId: v.string() }, (ctx, { userId, webhookId }) =>
  endWebhook(ctx, userId, webhookId),
);

/** The most posts in one answer. */
const PAGE = 100;

/**
 * The events that were for a user's webhooks, delivered or not, oldest first, each once.
 * @param after As `next` of the page before, or epoch ms: what was written later.
 * @returns `next` is `null` if there is no further page.
 */
export const read = internalQuery({
  args: { userId: v.string(), after: v.number() },
  returns: v.object({ events: v.array(vEvent), next: v.union(v.number(), v.null()) }),
  handler: async (ctx, { userId, after }) => {
    const page = await ctx.db
      .query("webhookPosts")
      .withIndex("by_userId", (q) => q.eq("userId", userId).gt("_creationTime", after))
      .take(PAGE);
    const events = new Map(page.map(({ event }) => [event.id, event]));
    return { events: [...events.values()], next: page[PAGE - 1]?._creationTime ?? null };
  },
});

/** Secrets sealed under another master key than the named one. */
export const outdated = outdatedIn(
  (db) => db.query("webhooks"),
  ({ _id: id, sealedSigning: sealedSecret, ...row }) => ({ id, sealedSecret, context: secretSeal(row) }),
);

/** Replaces secrets by re-sealed ones; a secret that changed meanwhile stays. */
export const replaceSecrets = replacing(async (ctx, { id, from, to }) => {
  const webhookId = ctx.db.normalizeId("webhooks", id);
  const row = webhookId === null ? null : await ctx.db.get("webhooks", webhookId);
  if (row?.sealedSigning !== from) return false;
  await ctx.db.patch("webhooks", row._id, { sealedSigning: to, keyId: keyIdOf(to) });
  return true;
});
