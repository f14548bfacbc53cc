import { v } from "convex/values";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import type { Doc } from "../_generated/dataModel";
import { recordAudit } from "../lib/audit";
import { LOOK_BACK_MS, nextCheck } from "../wallets/machine";

/** The relayer's nonces and the bytes that hold them. */

/** A gap is mended so many nonces at a time. */
const TOGETHER = 50;
/** Far more than are ever filled within the depth of a reorganisation. */
const MOST_FILLS = 50;

/** The next nonce of a relayer as far as this service has given them out; `null` before its first. */
export const next = internalQuery({
  args: { relayer: v.string() },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { relayer }) => (await relayerRow(ctx, relayer))?.nextNonce ?? null,
});

/** What a relayer's nonces from `from` on are held by, up to the next one to be given out. */
export const held = internalQuery({
  args: { relayer: v.string(), from: v.number() },
  returns: v.array(
    v.object({
      nonce: v.number(),
      /** `null`: nobody holds it. */
      rawTransaction: v.union(v.string(), v.null()),
      /** A payment that is under way looks after itself. */
      underWay: v.boolean(),
    }),
  ),
  handler: async (ctx, { relayer, from }) => {
    const account = await relayerRow(ctx, relayer);
    const until = Math.min(account?.nextNonce ?? 0, from + TOGETHER);
    const nonces = Array.from({ length: Math.max(0, until - from) }, (_, i) => from + i);
    return Promise.all(
      nonces.map(async (nonce) => {
        const claim = await ctx.db
          .query("paymentClaims")
          .withIndex("by_relayer_and_nonce", (q) =>
            q.eq("settlement.relayer", relayer).eq("settlement.nonce", nonce),
          )
          .first();
        const fill = account?.fills?.find((one) => one.nonce === nonce);
        const rawTransaction = claim?.settlement?.rawTransaction ?? fill?.rawTransaction ?? null;
        return { nonce, rawTransaction, underWay: claim?.state === "settling" };
      }),
    );
  },
});

/** Stores bytes that take a nonce nobody holds, and move nothing. @returns `false` when somebody holds it by now. */
export const storeFill = internalMutation({
  args: { relayer: v.string(), nonce: v.number(), rawTransaction: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { relayer, ...fill }) => {
    const account = await relayerRow(ctx, relayer);
    if (account === null || fill.nonce >= account.nextNonce) return false;
    const claim = await ctx.db
      .query("paymentClaims")
      .withIndex("by_relayer_and_nonce", (q) =>
        q.eq("settlement.relayer", relayer).eq("settlement.nonce", fill.nonce),
      )
      .first();
    const { fills = [] } = account;
    if (claim !== null || fills.some(({ nonce }) => nonce === fill.nonce)) return false;
    await ctx.db.patch("relayers", account._id, { fills: [...fills, fill].slice(-MOST_FILLS) });
    return true;
  },
});

/** Accepts what the chain says of the relayer's nonces, for an operator who knows why this service does not. */
export const accept = internalMutation({
  args: { relayer: v.string(), mined: v.number() },
  returns: v.number(),
  handler: async (ctx, { relayer, mined }) => {
    const account = await relayerRow(ctx, relayer);
    const nextNonce = Math.max(mined, account?.nextNonce ?? 0);
    if (account === null) await ctx.db.insert("relayers", { address: relayer, nextNonce });
    else await ctx.db.patch("relayers", account._id, { nextNonce });
    const detail = `next nonce ${nextNonce}, ${mined} mined`;
    await recordAudit(ctx, { actor: "operator", action: "nonces repaired", subject: relayer, detail });
    return nextNonce;
  },
});

/** The settlement's block is gone: looks again soon, and goes on until it is mined anew. */
export const lookAgain = internalMutation({
  args: { claimId: v.id("paymentClaims") },
  returns: v.null(),
  handler: async (ctx, { claimId }) => {
    await ctx.db.patch("paymentClaims", claimId, { lookBackAt: nextCheck(Date.now(), 0), looks: 0 });
    return null;
  },
});

/** When a settlement that has ended is looked at next: one minute behind its end, then five more, then no more. */
export function nextLook({ looks = 0 }: Doc<"paymentClaims">, now: number) {
  const pause = LOOK_BACK_MS[looks + 1];
  return { looks: looks + 1, lookBackAt: pause === undefined ? undefined : now + pause };
}

export async function relayerRow(ctx: QueryCtx, address: string): Promise<Doc<"relayers"> | null> {
  return ctx.db
    .query("relayers")
    .withIndex("by_address", (q) => q.eq("address", address))
    .unique();
}
