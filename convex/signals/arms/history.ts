import { v, type Infer } from "convex/values";
import { internalQuery } from "../../_generated/server";
import { setting } from "../../lib/env";
import { namedShadowArms } from "../../lib/settings";
import { headOf, newestOf } from "../record/chain";
import { totalsOf } from "../record/model";
import { DAILY, vLabArm } from "../record/rows";
import { seenIn } from "../statistics/days";
import { vSeen, totalsFields } from "../statistics/rows";
import { vHead, vPromoted } from "../validators";
import { knownArms, nameOfArm, rivalsOf, writerOf } from "./arms";

/** How many promotions are shown. */
const PROMOTIONS = 20;

const vLab = v.object({
  writer: v.string(),
  asked: v.array(v.string()),
  /** How many have been compared with the one that writes. */
  rivals: v.number(),
  arms: v.array(vLabArm.extend({ totals: v.object(totalsFields), againstWriter: v.union(vSeen, v.null()) })),
  promotions: v.array(vPromoted.extend({ sequence: v.number() })),
  head: vHead,
});
export type Lab = Infer<typeof vLab>;

/**
 * The lab: every arm that was ever asked, and which one writes the daily signals. One row for each arm, no matter how
 * long it has been asked.
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
    const pairs = await rivalsOf(ctx, writer);
    const arms = (await knownArms(ctx)).map(async ({ _id, _creationTime, ...one }) => {
      const pair = pairs.find(({ arm }) => arm === one.arm);
      const againstWriter = pair === undefined ? null : seenIn(pair);
      return { ...one, totals: await totalsOf(ctx, one.arm, "ALL"), againstWriter };
    });
    const promotions = await newestOf(ctx, "promoted", PROMOTIONS);
    return {
      ...{ writer, asked: orElse(namedShadowArms, []), rivals: pairs.length, arms: await Promise.all(arms) },
      promotions: promotions.map(({ sequence, content }) => ({ sequence, ...content })),
      head: await headOf(ctx, "lab"),
    };
  },
});

/** A malformed setting spoils only the part that needs it, not the whole answer. */
function orElse<Value>(read: () => Value, otherwise: Value): Value {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
