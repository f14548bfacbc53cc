import { v, type Infer } from "convex/values";
import { getOrThrow } from "convex-helpers/server/relationships";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { outdatedIn, replacing } from "../../lib/security/rotation";
import { keyIdOf, type SealContext } from "../../lib/security/seals";
import { MOST_WEBHOOKS, webhooksOf } from "./events";
import { PUBLIC_EVENTS, vEventType, webhookTables } from "./tables";

/** Users' webhooks. */

/** A webhook as its user sees it. Times in epoch ms. */
export const vWebhook = webhookTables.webhooks.validator.pick("url", "events", "state", "createdAt").extend({
  webhookId: v.id("webhooks"),
  /** Why it ended, or why the last attempt failed. */
  problem: v.union(v.string(), v.null()),
});
export type Webhook = Infer<typeof vWebhook>;

/** The context of a secret's envelope: it opens only for its user and its address. */
export function secretSeal({ userId, url }: { userId: string; url: string }): SealContext {
  return { purpose: "webhook secret", owner: `${userId}\n${url}` };
}

/** A user's webhook by its id. @throws AppError `not_found` unless it is theirs. */
export async function ownWebhook(ctx: QueryCtx, userId: string, id: string): Promise<Doc<"webhooks">> {
  const webhookId = ctx.db.normalizeId("webhooks", id);
  const row = webhookId === null ? null : await ctx.db.get("webhooks", webhookId);
  if (row?.userId !== userId) throw new AppError("not_found", "This user has no such webhook");
  return row;
}

/** Ends a webhook of the user's; an ended one stays as it is. @throws AppError `not_found` unless it is theirs. */
export async function endWebhook(ctx: MutationCtx, userId: string, id: string): Promise<Webhook> {
  const row = await ownWebhook(ctx, userId, id);
  if (row.state === "ended") return shown(row);
  const ended = { state: "ended", endedAt: Date.now(), reason: "Removed by its user" } as const;
  await ctx.db.patch("webhooks", row._id, ended);
  return shown({ ...row, ...ended });
}

export function shown({ _id, url, events, state, createdAt, reason, problem }: Doc<"webhooks">): Webhook {
  return { webhookId: _id, url, events, state, createdAt, problem: reason ?? problem ?? null };
}

export const store = internalMutation({
  args: { userId: v.string(), url: v.string(), events: v.array(vEventType), sealedSigning: v.string() },
  returns: vWebhook,
  handler: async (ctx, { userId, url, events, sealedSigning }) => {
    const active = await webhooksOf(ctx, userId);
    if (active.some((one) => one.url === url))
      throw new AppError("conflict", "This address is already one of the user's webhooks");
    if (active.length >= MOST_WEBHOOKS)
      throw new AppError("conflict", `At most ${MOST_WEBHOOKS} webhooks: remove one first`);
    const webhookId = await ctx.db.insert("webhooks", {
      ...{ userId, url, events, hearsPublic: PUBLIC_EVENTS.some((type) => events.includes(type)) },
      ...{ sealedSigning, keyId: keyIdOf(sealedSigning) },
      ...{ state: "active", createdAt: Date.now(), restUntil: 0 },
    });
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
