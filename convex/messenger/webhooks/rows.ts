import { v, type Infer } from "convex/values";
import { getOrThrow } from "convex-helpers/server/relationships";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { NOBODY } from "../../lib/records/records";
import { outdatedIn, replacing } from "../../lib/security/rotation";
import { keyIdOf, type SealContext } from "../../lib/security/seals";
import { messageIdOf, MOST_WEBHOOKS, webhooksOf } from "./events";
import { vEventType, webhookTables } from "./tables";

/** Users' webhooks, and the events that were for them. */

/** A webhook as its user sees it. Times in epoch ms. */
const vWebhook = webhookTables.webhooks.validator.pick("url", "events", "state", "createdAt").extend({
  webhookId: v.id("webhooks"),
  /** Why it ended, or why the last attempt failed. */
  problem: v.union(v.string(), v.null()),
});
export type Webhook = Infer<typeof vWebhook>;

/** The context of a secret's envelope: it opens only for its user and its address. */
export function secretSeal({ userId, url }: { userId: string; url: string }): SealContext {
  return { purpose: "webhook secret", owner: `${userId}\n${url}` };
}

/** Ends a webhook of the user's; an ended one stays as it is. @throws AppError `not_found` unless it is theirs. */
export async function endWebhook(ctx: MutationCtx, userId: string, id: string): Promise<Webhook> {
  const webhookId = ctx.db.normalizeId("webhooks", id);
  const row = webhookId === null ? null : await ctx.db.get("webhooks", webhookId);
  if (row?.userId !== userId) throw new AppError("not_found", "This user has no such webhook");
  if (row.state === "ended") return shown(row);
  const ended = { state: "ended", endedAt: Date.now(), reason: "Removed by its user" } as const;
  await ctx.db.patch("webhooks", row._id, ended);
  return shown({ ...row, ...ended });
}

function shown({ _id, url, events, state, createdAt, reason, problem }: Doc<"webhooks">): Webhook {
  return { webhookId: _id, url, events, state, createdAt, problem: reason ?? problem ?? null };
}

export const store = internalMutation({
  args: { userId: v.string(), url: v.string(), events: v.array(vEventType), sealedSigning: v.string() },
  returns: vWebhook,
  handler: async (ctx, given) => {
    const active = await webhooksOf(ctx, given.userId);
    if (active.some(({ url }) => url === given.url))
      throw new AppError("conflict", "This address is already one of the user's webhooks");
    if (active.length >= MOST_WEBHOOKS)
      throw new AppError("conflict", `At most ${MOST_WEBHOOKS} webhooks: remove one first`);
    const row = { ...given, keyId: keyIdOf(given.sealedSigning), createdAt: Date.now() };
    const webhookId = await ctx.db.insert("webhooks", { ...row, state: "active" });
    return shown(await getOrThrow(ctx, "webhooks", webhookId));
  },
});

export const all = internalQuery({
  args: { userId: v.string() },
  returns: v.array(vWebhook),
  handler: async (ctx, { userId }) => (await webhooksOf(ctx, userId)).map(shown),
});

/** @throws AppError `not_found` unless it is the user's. */
export const remove = internalMutation({
  args: { userId: v.string(), webhookId: v.string() },
  returns: vWebhook,
  handler: async (ctx, { userId, webhookId }) => endWebhook(ctx, userId, webhookId),
});

/** The most events in one answer. */
const PAGE = 100;

/**
 * The events that a user's webhooks ask for, oldest first.
 * @param after As `next` of the page before, or epoch ms: what was written later.
 * @returns `next` is `null` if there is no further page.
 */
export const read = internalQuery({
  args: { userId: v.string(), after: v.number() },
  returns: v.object({
    events: v.array(v.object({ id: v.string(), type: vEventType, timestamp: v.number(), data: v.string() })),
    next: v.union(v.number(), v.null()),
  }),
  handler: async (ctx, { userId, after }) => {
    const types = (await webhooksOf(ctx, userId)).flatMap(({ events }) => events);
    const of = (whose: string) =>
      ctx.db
        .query("webhookEvents")
        .withIndex("by_userId", (q) => q.eq("userId", whose).gt("_creationTime", after))
        .take(PAGE + 1);
    const found = [...(await of(userId)), ...(await of(NOBODY))].toSorted(
      (a, b) => a._creationTime - b._creationTime,
    );
    const page = found.slice(0, PAGE);
    return {
      events: page
        .filter(({ type }) => types.includes(type))
        .map(({ _id, type, at, data }) => ({ id: messageIdOf(_id), type, timestamp: at, data })),
      next: found.length > PAGE ? (page.at(-1)?._creationTime ?? null) : null,
    };
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
