import { zodOutputToConvex } from "convex-helpers/server/zod4";
import { expect, test } from "vitest";
import * as z from "zod";
import { vOwnChecks } from "../convex/ops/checks";
import { vOnchainOutput, vReportText, vSentiment } from "../convex/research/tables";
import { vRecord } from "../convex/signals/tables";
import { ownChecks } from "../convex/ops/shapes";
import { onchainShape, resultShape, sentimentShape } from "../convex/research/writing/prompts";
import { signalStats } from "../convex/signals/shapes";

/**
 * What tables store of shapes is written as validators too, so that transactions need not load zod: this holds each
 * against its shape.
 */

const written = z.object({ json: z.unknown() });

test.for<[string, object, z.ZodType]>([
  ["health", vOwnChecks, ownChecks],
  ["reports", vReportText, resultShape],
  ["sentiment", vSentiment, sentimentShape],
  ["on-chain signals", vOnchainOutput, onchainShape],
  ["the record", vRecord, signalStats],
])("of %s tables store what its shape says", ([, validator, shape]) => {
  expect(written.parse(validator).json).toEqual(written.parse(zodOutputToConvex(shape)).json);
});
