import { v } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalQuery } from "../../_generated/server";
import { vBlocks } from "../arms";
import { champion } from "../champions";
import { FIRST_PROMPT } from "../prompts";
import { vHead, vSignalEvent } from "../tables";
import { knownArms, rivalsOf } from "./arms";
import { shadowHeadOf, totalsOfArm } from "./model";
import { labTables, vShadowEvent } from "./tables";
import { shadowTotalsFields } from "./totals";

/** Shown of the promotions. */
const PROMOTIONS = 20;

const vArm = v.object({
  ...labTables.shadowArms.validator.fields,
  totals: v.array(v.object(shadowTotalsFields)),
  /** Against the arm that writes the daily signals; `null`: never held against it. */
  pair: v.union(vBlocks, v.null()),
});

/**
 * What there is to know of every arm that was ever asked, and of who writes the daily signals. As many rows as there are arms,
 * however long they have been asked.
 */
export const standing = internalQuery({
  /** `LLM_MODEL`, which writes while nothing was promoted. */
  args: { model: v.string() },
  returns: v.object({
    writer: v.string(),
    rivals: v.number(),
    arms: v.array(vArm),
    promotions: v.array(vSignalEvent),
    head: vHead,
  }),
  handler: async (ctx, { model }) => {
    const writer = (await champion(ctx))?.arm ?? `${model}@${FIRST_PROMPT}`;
    const rivals = await rivalsOf(ctx, writer);
    const arms = await Promise.all(
      (await knownArms(ctx)).map(async ({ _id, _creationTime, ...row }) => ({
        ...row,
        totals: await totalsOfArm(ctx, row.arm),
        pair: rivals.find(({ arm }) => arm === row.arm)?.blocks ?? null,
      })),
    );
    const promotions = await ctx.db
      .query("signalEvents")
      .withIndex("by_kind", (q) => q.eq("kind", "promoted"))
      .order("desc")
      .take(PROMOTIONS);
    return {
      writer,
      rivals: rivals.length,
      arms,
      promotions: promotions.map(({ _id, _creationTime, ...event }) => event),
      head: await shadowHeadOf(ctx),
    };
  },
});

/** Events of the shadow chain behind a sequence number, in order. */
export const events = internalQuery({
  args: { after: v.number(), limit: v.number() },
  returns: v.array(vShadowEvent),
  handler: async (ctx, { after, limit }) => {
    const rows = await ctx.db
      .query("shadowEvents")
      .withIndex("by_sequence", (q) => q.gt("sequence", after))
      .take(limit);
    return rows.map(bareEvent);
  },
});

function bareEvent({ _id, _creationTime, ...event }: Doc<"shadowEvents">) {
  return event;
}
