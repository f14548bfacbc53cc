import { v, type Infer } from "convex/values";
import { internalMutation } from "../../_generated/server";
import { OPERATOR, recordAudit } from "../../lib/records/audit";
import { setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { log } from "../../lib/log";
import { iso } from "../../lib/time";
import { append } from "../record/chain";
import { DAILY } from "../record/rows";
import { differenceShown } from "../statistics/figures";
import { NO_SEEN, seenIn } from "../statistics/days";
import { armNamed, findArm, nameOfArm, rivalsOf, writerOf } from "./arms";
import { neededOf } from "./figures";

/** The operator's decisions about the shadow lab. */

/** The longest reason that is stored. */
const REASON_CHARS = 300;

const vPromotion = v.object({
  /** The arm that wrote the daily signals before. */
  before: v.string(),
  eValue: v.number(),
  needed: v.number(),
  /** The event of the record about it. */
  sequence: v.number(),
});

/**
 * Has an arm write the daily signals from the next one on:
 * `npx convex run signals/arms/promotions:promote '{"arm":"claude-haiku-4.5@signal-3"}'`.
 *
 * The arm's e-value against the one that writes now (both asked in the same hours, see `signals/statistics/days`) has to be at
 * least 20 for each arm that has been held against that one: of several that are no better, one seems so sooner than one
 * alone would, and together they are promoted with a probability of 5 % at most, whenever anybody looks. Arms that are
 * added one after another raise that bound, to 5 % × (1 + 1/2 + … + 1/k) for k of them.
 *
 * @param args.force The operator's reason for promoting an arm whose e-value does not say so; it stands in the record.
 * @throws AppError `invalid_request` for no arm, or a reason that is none; `conflict` for the arm that writes already;
 * `forbidden`, with the figures, where the e-value is too small, or none was shown, and no reason is given.
 */
export const promote = internalMutation({
  args: { arm: v.string(), force: v.optional(v.string()) },
  returns: vPromotion,
  handler: async (ctx, { arm: name, force }): Promise<Infer<typeof vPromotion>> => {
    const arm = armNamed(name);
    const forced = force?.trim() ?? null;
    if (forced !== null && (forced === "" || forced.length > REASON_CHARS)) {
      throw new AppError("invalid_request", `force must be a reason of 1 to ${REASON_CHARS} characters`);
    }
    const writer = await writerOf(ctx, DAILY);
    const before = { model: writer.model ?? setting("LLM_MODEL"), promptVersion: writer.promptVersion };
    const against = nameOfArm(before);
    if (against === arm.arm) throw new AppError("conflict", `${arm.arm} writes the daily signals already`);
    const pairs = await rivalsOf(ctx, against);
    const pair = pairs.find((one) => one.arm === arm.arm);
    const { eValue, days } = differenceShown(pair === undefined ? NO_SEEN : seenIn(pair));
    const needed = neededOf(pairs.length);
    if (eValue < needed && forced === null) {
      const known = (await findArm(ctx, arm.arm)) === null ? "It was never asked." : "";
      throw new AppError(
        "forbidden",
        `${arm.arm} is not shown to be better than ${against}: its e-value is ${eValue.toFixed(2)} over ` +
          `${days} days, ${needed} is needed. ${known} With "force" and a reason it is promoted all the same.`,
      );
    }
    const { sequence } = await append(ctx, {
      desk: "daily",
      statement: {
        kind: "promoted",
        content: {
          ...{ arm: arm.arm, model: arm.model, promptVersion: arm.promptVersion },
          ...{ previousModel: before.model, previousPromptVersion: before.promptVersion },
          ...{ eValue, days, needed, forced, at: iso(Date.now()) },
        },
      },
    });
    const why = forced === null ? "" : `; forced: ${forced}`;
    const detail = `in place of ${against}, e-value ${eValue.toFixed(2)} of ${needed}${why}`;
    await recordAudit(ctx, { actor: OPERATOR, action: "signal arm promoted", subject: arm.arm, detail });
    log.info("signals.arm promoted", { arm: arm.arm, against, eValue, needed, forced: forced !== null });
    return { before: against, eValue, needed, sequence };
  },
});
