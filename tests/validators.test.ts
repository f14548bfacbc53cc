import { zodOutputToConvex } from "convex-helpers/server/zod4";
import { expect, test } from "vitest";
import * as z from "zod";
import * as opsValidators from "../convex/ops/validators";
import * as researchValidators from "../convex/research/validators";
import * as signalsValidators from "../convex/signals/validators";
import { ownChecks } from "../convex/ops/shapes";
import { onchainShape, resultShape, sentimentShape } from "../convex/research/writing/prompts";
import { signalStats } from "../convex/signals/shapes";

/**
 * What tables store of shapes is written as validators too, so that transactions need not load zod: this holds each
 * against its shape.
 */

const written = z.object({ json: z.unknown() });

test.for<[string, object, Record<string, z.ZodType>]>([
  ["ops", opsValidators, { vOwnChecks: ownChecks }],
  [
    "research",
    researchValidators,
    { vReportText: resultShape, vSentiment: sentimentShape, vOnchainOutput: onchainShape },
  ],
  ["signals", signalsValidators, { vRecord: signalStats }],
])("%s stores what its shapes say", ([, validators, shapes]) => {
  expect(Object.keys(validators).sort()).toEqual(Object.keys(shapes).sort());
  for (const [name, one] of Object.entries(validators))
    expect([name, written.parse(one).json]).toEqual([
      name,
      written.parse(zodOutputToConvex(shapes[name] ?? z.never())).json,
    ]);
});
