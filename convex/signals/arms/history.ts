import { v } from "convex/values";
import { internalQuery } from "../../_generated/server";
import { headOf, newestOf, shadowEvents } from "../record/chains";
import { DAILY, signalTables, vHead, vShadowEvent, vSignalEvent } from "../record/tables";
import { totalsOf } from "../record/totals";
import { vBlocks } from "../statistics/days";
import { totalsFields } from "../statistics/totals";
import { knownArms, rivalsOf } from "./arms";
import { nameOfArm } from "./names";
import { writerOf } from "./writers";

/** Shown of the promotions. */
const PROMOTIONS = 20;

const vArm = v.object({
  ...signalTables.signalArms.validator.fields,
  totals: v.object(totalsFields),
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
    const { model: promoted, promptVersion } = await writerOf(ctx, DAILY);
    const writer = nameOfArm({ model: promoted ?? model, promptVersion });
    const rivals = await rivalsOf(ctx, writer);
    const arms = await Promise.all(
      (await knownArms(ctx)).map(async ({ _id, _creationTime, ...row }) => ({
        ...row,
        totals: await totalsOf(ctx, row.arm, "ALL"),
        pair: rivals.find(({ arm }) => arm === row.arm)?.blocks ?? null,
      })),
    );
    const promotions = await newestOf(ctx, "promoted", PROMOTIONS);
    return { writer, rivals: rivals.length, arms, promotions, head: await headOf(ctx, "lab") };
  },
});

/** Events of the shadow chain behind a sequence number, in order. */
export const events = internalQuery({
  args: { after: v.number(), limit: v.number() },
  returns: v.array(vShadowEvent),
  handler: async (ctx, page) => shadowEvents(ctx, page),
});
