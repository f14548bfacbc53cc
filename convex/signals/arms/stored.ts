import { v } from "convex/values";

import { literals } from "../../lib/literals";

/** What is stored of the shapes of `signals/arms/shapes`. Written by `npm run codegen`; a test holds both against one another. */

export const vLab = v.object({
  writer: v.string(),
  arms: v.array(
    v.object({
      arm: v.string(),
      model: v.string(),
      promptVersion: v.string(),
      since: v.string(),
      asked: v.boolean(),
      writes: v.boolean(),
      n: v.number(),
      holds: v.number(),
      wins: v.number(),
      losses: v.number(),
      expired: v.number(),
      missed: v.number(),
      excessPoints: v.union(v.number(), v.null()),
      averageBeforeCostsPercent: v.union(v.number(), v.null()),
      averageAfterCostsPercent: v.union(v.number(), v.null()),
      edge: v.object({
        days: v.number(),
        excessPoints: v.union(v.number(), v.null()),
        lowPoints: v.number(),
        highPoints: v.number(),
        eValue: v.number(),
        afterCosts: v.object({ excessPoints: v.union(v.number(), v.null()), eValue: v.number() }),
        verdict: literals(
          "no record yet",
          "better than chance",
          "better before costs",
          "worse than chance",
          "not told from chance",
        ),
      }),
      calibration: v.object({
        n: v.number(),
        brier: v.union(v.number(), v.null()),
        calibratedBrier: v.union(v.number(), v.null()),
      }),
      againstWriter: v.union(
        v.object({
          days: v.number(),
          excessPoints: v.union(v.number(), v.null()),
          lowPoints: v.number(),
          highPoints: v.number(),
          eValue: v.number(),
          writer: v.string(),
          needed: v.number(),
        }),
        v.null(),
      ),
    }),
  ),
  promotions: v.array(
    v.object({
      arm: v.string(),
      model: v.string(),
      promptVersion: v.string(),
      previousModel: v.string(),
      previousPromptVersion: v.string(),
      eValue: v.number(),
      days: v.number(),
      needed: v.number(),
      forced: v.union(v.string(), v.null()),
      at: v.string(),
      sequence: v.number(),
    }),
  ),
  head: v.union(v.object({ sequence: v.number(), hash: v.string() }), v.null()),
});
