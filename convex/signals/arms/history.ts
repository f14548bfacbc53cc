import { v } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalQuery, type QueryCtx } from "../../_generated/server";
import { namedShadowArms, setting } from "../../lib/env";
import { iso } from "../../lib/time";
import { eventsAfter, headOf, newestOf } from "../record/chain";
import { totalsOf } from "../record/model";
import { DAILY } from "../record/tables";
import { seenIn } from "../statistics/days";
import { differenceShown } from "../statistics/figures";
import { vShadowEvent } from "../stored";
import { vLab } from "./stored";
import { knownArms, nameOfArm, rivalsOf, writerOf, type LabArm } from "./arms";
import { figuresOfArm, neededOf } from "./figures";
import type { ShadowArm } from "./shapes";

/** Shown of the promotions. */
const PROMOTIONS = 20;

/**
 * The lab as callers see it: every arm that was ever asked, and who writes the daily signals. As many rows as there are arms,
 * however long they have been asked.
 */
export const lab = internalQuery({
  args: {},
  returns: vLab,
  handler: async (ctx) => {
    const { model, promptVersion } = await writerOf(ctx, DAILY);
    const writer = nameOfArm({
      model: model ?? orElse(() => setting("LLM_MODEL"), "unknown"),
      promptVersion,
    });
    const rivals = await rivalsOf(ctx, writer);
    const arms = await Promise.all(
      (await knownArms(ctx)).map(async (row) => armView(ctx, row, writer, rivals)),
    );
    const promotions = await newestOf(ctx, "promoted", PROMOTIONS);
    return {
      ...{ writer, arms, head: await headOf(ctx, "lab") },
      promotions: promotions.map(({ sequence, content }) => ({ sequence, ...content })),
    };
  },
});

async function armView(
  ctx: QueryCtx,
  { arm, model, promptVersion, since }: LabArm,
  writer: string,
  rivals: readonly Doc<"signalPairs">[],
): Promise<ShadowArm> {
  const pair = rivals.find((one) => one.arm === arm);
  const needed = neededOf(rivals.length);
  return {
    ...{ arm, model, promptVersion, since: iso(since) },
    ...{ asked: orElse(namedShadowArms, []).includes(arm), writes: arm === writer },
    ...figuresOfArm(await totalsOf(ctx, arm, "ALL")),
    againstWriter: pair === undefined ? null : { writer, ...differenceShown(seenIn(pair)), needed },
  };
}

/** What a malformed setting spoils is what needs it, not the whole answer. */
function orElse<Value>(read: () => Value, otherwise: Value): Value {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** Events of the shadow chain behind a sequence number, in order. */
export const events = internalQuery({
  args: { after: v.number(), limit: v.number() },
  returns: v.array(vShadowEvent),
  handler: async (ctx, page) => (await eventsAfter(ctx, "lab", page)).map(({ event }) => event),
});
