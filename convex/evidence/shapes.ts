import * as z from "zod";

/** What a text whose figures are facts' comes with. Times are epoch ms; callers see them written out. */

export const citedSource = z.object({
  id: z.int().describe("As the texts cite it"),
  name: z.string().describe("Who says it; a language model is called one, and is unverified"),
  url: z.string().nullable().describe("Where anybody can see the like"),
  observedAt: z.number(),
  says: z.string(),
});
