import * as z from "zod";
import { text } from "../../lib/answers/parts";
import { MAX_WORDS, MIN_WORDS, OUTLOOKS, SUMMARY_LIMIT } from "./result";

/** What the model is asked for as a ResearchResult. */

/** Longer than any analysis that can be mended by cutting. */
const MAX_ANALYSIS = 40_000;

export const RESULT_SCHEMA_NAME = "research_result";

/** The shape the model sends; confidences and lengths outside the contract are demands, so that they can be mended. */
export const resultShape = z.object({
  fullAnalysis: text(MAX_ANALYSIS).describe(
    `${MIN_WORDS} to ${MAX_WORDS} words (a slot counts as one), paragraphs separated by a blank line`,
  ),
  shortSummary: text(MAX_ANALYSIS).describe(
    `at most ${SUMMARY_LIMIT} characters as shown (a slot takes 6 to 14, including its coin or time in parentheses ` +
      "if the words leave it out); it begins with 🟢 for bullish, 🔴 for bearish or 🟡 for neutral; at most two slots, no citation",
  ),
  marketOutlook: z.enum(OUTLOOKS),
  impacts: z
    .array(
      z.object({
        title: text(120).describe("token or theme, without a figure"),
        detail: text(600).describe("one or two sentences"),
        sentiment: z.enum(OUTLOOKS),
        confidence: z.number().describe("0 to 1"),
      }),
    )
    .overwrite((impacts) => impacts.slice(0, 12))
    .describe("the 3 to 6 most important ones"),
});
