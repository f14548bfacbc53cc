import { getOrThrow } from "convex-helpers/server/relationships";
import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { rowsByBoth } from "../../lib/records/rows";
import { keyIdOf, vResealed, vSealed, type SealContext } from "../../lib/security/seals";
import { alertTables } from "../tables";

/** Users' webhooks. */

/** A user's active webhooks at most. */
const MAX_SINKS = 3;

/** A webhook as its user sees it. Times in epoch ms. */
export const vSink = alertTables.alertSinks.validator.pick("url", "state", "createdAt").extend({
  webhookId: v.id("alertSinks"),
  /** Why it ended, or what the last try came to where it did not work. */
  problem: v.union(v.string(), v.null()),
});
export type Sink = Infer<typeof vSink>;

/** A secret's envelope opens for its user and its address alone. */
export function secretSeal({ userId, url }: { userId: string; url: string }): SealContext {
  return { purpose: "alert webhook secret", owner: `${userId}\n${url}` };
}

/** A user's active webhooks, oldest first. */
export async function sinksOf(ctx: QueryCtx, userId: string): Promise<Doc<"alertSinks">[]> {
  return rowsByBoth(ctx.db.query("alertSinks"), "userId", userId, "state", "active").take(MAX_SINKS);
}

/** Ends a webhook of the user's; one that has ended stays so. @throws AppError `not_found` for none of theirs. */
export async function endSink(ctx: MutationCtx, userId: string, id: string): Promise<Sink> {
  const sinkId = ctx.db.normalizeId("alertSinks", id);
  const row = sinkId === null ? null : await ctx.db.get("alertSinks", sinkId);
  if (row === null || row.userId !== userId) throw new AppError("not_found", "This user has no such webhook");
  if (row.state === "ended") return sinkOf(row);
  const ended = { state: "ended", endedAt: Date.now(), reason: "Removed by its user" } as const;
  await ctx.db.patch("alertSinks", row._id, ended);
  return sinkOf({ ...row, ...ended });
}

export function sinkOf({ _id, url, state, createdAt, reason, problem }: Doc<"alertSinks">): Sink {
  return { webhookId: _id, url, state, createdAt, problem: reason ?? problem ?? null };
}

export const store = internalMutation({
  args: { userId: v.string(), url: v.string(), sealedSigning: v.string() },
  returns: vSink,
  handler: async (ctx, { userId, url, sealedSigning }) => {
    const active = await sinksOf(ctx, userId);
    if (active.some((one) => one.url === url))
      throw new AppError("conflict", "This address is already one of the user's webhooks");
    if (active.length >= MAX_SINKS)
      throw new AppError("conflict", `At most ${MAX_SINKS} webhooks: remove one first`);
    const sinkId = await ctx.db.insert("alertSinks", {
      ...{ userId, url, sealedSigning, keyId: keyIdOf(sealedSigning) },
      ...{ state: "active", createdAt: Date.now(), restUntil: 0 },
    });
    return sinkOf(await getOrThrow(ctx, "alertSinks", sinkId));
  },
});

/** @throws AppError `not_found` for none of the user's. */
export const remove = internalMutation({
  args: { userId: v.string(), webhookId: v.string() },
  returns: vSink,
  handler: async (ctx, { userId, webhookId }) => endSink(ctx, userId, webhookId),
});

/** Secrets sealed under another master key than the named one. */
export const outdated = internalQuery({
  args: { keyId: v.string(), limit: v.number() },
  returns: v.array(v.object({ ...vSealed.fields, id: v.id("alertSinks") })),
  handler: async (ctx, { keyId, limit }) => {
    const before = await ctx.db
      .query("alertSinks")
      .withIndex("by_keyId", (q) => q.lt("keyId", keyId))
      .take(limit);
    const after = await ctx.db
      .query("alertSinks")
      .withIndex("by_keyId", (q) => q.gt("keyId", keyId))
      .take(limit - before.length);
    return [...before, ...after].map(({ _id: id, sealedSigning: sealedSecret, ...row }) => {
      return { id, sealedSecret, context: secretSeal(row) };
    });
  },
});

/** Puts re-sealed secrets in place of what they were made from. */
export const replaceSecrets = internalMutation({
  args: { resealed: v.array(v.object({ ...vResealed.fields, id: v.id("alertSinks") })) },
  returns: v.number(),
  handler: async (ctx, { resealed }) => {
    let replaced = 0;
    for (const { id, from, to } of resealed) {
      const row = await ctx.db.get("alertSinks", id);
      if (row?.sealedSigning !== from) continue;
      await ctx.db.patch("alertSinks", id, { sealedSigning: to, keyId: keyIdOf(to) });
      replaced++;
    }
    return replaced;
  },
});
