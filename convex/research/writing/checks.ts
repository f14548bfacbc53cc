import * as z from "zod";

/** What code adds to a result's texts. Times are epoch ms; callers see them written out. */

/** A change between two times, from the facts of both. */
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

/** The outcome of the check of a result's figures. */
export const checkedCounts = z.object({
  figures: z
    .int()
    .describe("Figures that the texts state, each printed from the fact it cites or checked against it"),
  cited: z.int().describe("Facts cited"),
  removed: z
    .int()
    .describe("Sentences that were replaced by the facts they cite, because a figure was in no fact"),
});
