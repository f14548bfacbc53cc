import * as z from "zod";

/** What a result comes with beside its texts, by code. Times are epoch ms; callers see them written out. */

/** Between two moments, from the facts of both. */
export const change = z.object({
  subject: z.string(),
  /** In words: `price`. */
  what: z.string(),
  from: z.number(),
  to: z.number(),
  unit: z.string(),
  percent: z.number(),
  since: z.enum(["start", "report"]).describe("The shift's start, or the last report on this focus"),
  /** When the earlier and the later fact were observed. */
  fromAt: z.number(),
  toAt: z.number(),
});

/** What the check of a result's figures came to. */
export const checkedCounts = z.object({
  figures: z
    .int()
    .describe("Figures that the texts state, each printed from the fact it cites or held against it"),
  cited: z.int().describe("Facts cited"),
  removed: z.int().describe("Sentences that gave way to the facts they cite, because a figure was no fact's"),
});
