import { v } from "convex/values";
import { getOrThrow } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import { internalAction, internalMutation, internalQuery, type ActionCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { keyIdOf, resealAll, seal, vResealed, vSealed } from "../lib/sealing";
import { endSink, MAX_SINKS, secretSeal, sinkOf, sinksOf, vSink, type Sink } from "./sinkRows";

/** Webhooks that users add and remove, and the sealing of their secrets. */

const SECRET_BYTES = 32;

/**
 * Adds a webhook, for actions.
 * @param beforeKeeping Called once the address is one that can be posted to.
 * @returns With the secret, which is told this once.
 * @throws AppError `invalid_request` for an address that nothing is posted to; `conflict` with three already, or the same
 * address; `not_configured` without a key to seal with.
 */
export async function addSink(
  ctx: ActionCtx,
  userId: string,
  address: string,
  beforeKeeping: () => Promise<void> = () => Promise.resolve(),
): Promise<Sink & { secret: string }> {
  // What reads addresses is loaded where one is to be read.
  const { postable } = await import("./targets");
  const url = postable(address);
  await beforeKeeping();
  const key = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  const secret = `whsec_${btoa(String.fromCharCode(...key))}`;
  const sealedSigning = await seal(secret, secretSeal({ userId, url }));
  const sink: Sink = await ctx.runMutation(internal.alerts.sinks.store, { userId, url, sealedSigning });
  return { ...sink, secret };
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

/**
 * Seals every webhook's secret anew that is not under the current `WALLET_ENCRYPTION_KEY`; run it with the rotation of the
 * wallets' keys (`wallets/custody/keys:rotate`). Safe to run twice, and to resume after a crash.
 * @returns How many were sealed anew, and which do not open: those stay as they are.
 */
export const rotate = internalAction({
  args: {},
  returns: v.object({ rotated: v.number(), failed: v.array(v.id("alertSinks")) }),
  handler: async (ctx): Promise<{ rotated: number; failed: Sink["webhookId"][] }> => {
    return resealAll(ctx, internal.alerts.sinks.outdated, internal.alerts.sinks.replaceSecrets);
  },
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
