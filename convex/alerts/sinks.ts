import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction, internalMutation, internalQuery, type ActionCtx } from "../_generated/server";
import { AppError, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { currentKeyId, keyIdOf, reseal, seal } from "../lib/sealing";
import { endSink, MAX_SINKS, secretSeal, sinkOf, sinksOf, vSink, type Sink } from "./sinkRows";

/** Webhooks that users add and remove, and the sealing of their secrets. */

const SECRET_BYTES = 32;
/** Secrets per turn of a rotation. */
const BATCH = 50;

/**
 * Adds a webhook, for actions.
 * @returns With the secret, which is told this once.
 * @throws AppError `invalid_request` for an address that nothing is posted to; `conflict` with three already, or the same
 * address; `not_configured` without a key to seal with.
 */
export async function addSink(
  ctx: ActionCtx,
  userId: string,
  address: string,
): Promise<Sink & { secret: string }> {
  // What reads addresses is loaded where one is to be read.
  const { postable } = await import("./targets");
  const url = postable(address);
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
    const row = await ctx.db.get("alertSinks", sinkId);
    if (row === null) throw new Error("The row was just written");
    return sinkOf(row);
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
  handler: async (ctx) => {
    const keyId = currentKeyId();
    const failed: Sink["webhookId"][] = [];
    for (let rotated = 0; ;) {
      const limit = BATCH + failed.length;
      const batch = await ctx.runQuery(internal.alerts.sinks.outdated, { keyId, limit });
      const open = batch.filter(({ sinkId }) => !failed.includes(sinkId));
      if (open.length === 0) return { rotated, failed };
      for (const { sinkId, userId, url, sealedSigning } of open) {
        try {
          const to = await reseal(sealedSigning, secretSeal({ userId, url }));
          await ctx.runMutation(internal.alerts.sinks.replaceSecret, { sinkId, from: sealedSigning, to });
          rotated++;
        } catch (error) {
          log.error("alerts.rotation failed", { sinkId, message: messageOf(error) });
          failed.push(sinkId);
        }
      }
    }
  },
});

/** Secrets sealed under another master key than the named one. */
export const outdated = internalQuery({
  args: { keyId: v.string(), limit: v.number() },
  returns: v.array(
    v.object({ sinkId: v.id("alertSinks"), userId: v.string(), url: v.string(), sealedSigning: v.string() }),
  ),
  handler: async (ctx, { keyId, limit }) => {
    const before = await ctx.db
      .query("alertSinks")
      .withIndex("by_keyId", (q) => q.lt("keyId", keyId))
      .take(limit);
    const after = await ctx.db
      .query("alertSinks")
      .withIndex("by_keyId", (q) => q.gt("keyId", keyId))
      .take(limit - before.length);
    return [...before, ...after].map(({ _id: sinkId, userId, url, sealedSigning }) => {
      return { sinkId, userId, url, sealedSigning };
    });
  },
});

/** Puts a re-sealed secret in place of what it was made from. */
export const replaceSecret = internalMutation({
  args: { sinkId: v.id("alertSinks"), from: v.string(), to: v.string() },
  returns: v.null(),
  handler: async (ctx, { sinkId, from, to }) => {
    const row = await ctx.db.get("alertSinks", sinkId);
    if (row?.sealedSigning === from)
      await ctx.db.patch("alertSinks", sinkId, { sealedSigning: to, keyId: keyIdOf(to) });
    return null;
  },
});
