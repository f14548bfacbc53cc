import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { namedShadowArms, setting } from "../../lib/env";
import { iso } from "../../lib/time";
import type { ShadowLab } from "./shapes";
import { figuresOfArm, figuresOfPair, neededOf } from "./figures";

/** The lab as callers see it. */
export async function readLab(ctx: ActionCtx): Promise<ShadowLab> {
  const { writer, rivals, arms, promotions, head } = await ctx.runQuery(
    internal.signals.arms.history.standing,
    { model: orElse(() => setting("LLM_MODEL"), "unknown") },
  );
  const asked = orElse(namedShadowArms, []);
  return {
    writer,
    arms: arms.map(({ arm, model, promptVersion, since, totals, pair }) => ({
      ...{ arm, model, promptVersion, since: iso(since) },
      ...{ asked: asked.includes(arm), writes: arm === writer },
      ...figuresOfArm(totals),
      againstWriter: pair === null ? null : { writer, ...figuresOfPair(pair), needed: neededOf(rivals) },
    })),
    promotions: promotions.flatMap((event) =>
      event.kind === "promoted" ? [{ sequence: event.sequence, ...event.content }] : [],
    ),
    head,
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
