import type { GenericValidator } from "convex/values";
import { zodOutputToConvex } from "convex-helpers/server/zod4";
import * as z from "zod";
import { onchainShape, resultShape, sentimentShape } from "../convex/research/writing/prompts";
import { ownChecks } from "../convex/ops/shapes";
import { signalStats } from "../convex/signals/shapes";

/** Its type is nobody's to know: to work out those of all of them takes the compiler a tenth of its time. */
function validatorOf(shape: z.ZodType): GenericValidator {
  return zodOutputToConvex(shape);
}

/** Which shapes are stored, by the file of `convex/` that has their validators. */
export const STORED: Readonly<
  Record<
    string,
    {
      from: string;
      /** What several of the validators hold. */
      parts?: Record<string, GenericValidator>;
      validators: Record<string, GenericValidator>;
    }
  >
> = {
  "ops/validators": {
    from: "ops/shapes",
    validators: { vOwnChecks: validatorOf(ownChecks) },
  },
  "research/validators": {
    from: "research",
    validators: {
      vReportText: validatorOf(resultShape),
      vSentiment: validatorOf(sentimentShape),
      vOnchainOutput: validatorOf(onchainShape),
    },
  },
  "signals/validators": {
    from: "signals/shapes",
    parts: { vResult: validatorOf(signalStats.shape.beforeCosts) },
    validators: { vRecord: validatorOf(signalStats) },
  },
};
