import * as z from "zod";
import { iso } from "../time";

/** What accompanies a text whose figures come from facts. Times are epoch ms; callers see them written out. */

export const citedSource = z.object({
  id: z.number().describe("Its number in the texts' citations"),
  name: z.string().describe("The source; a language model is named as one, and is unverified"),
  url: z.string().nullable().describe("A public address of the same data"),
  observedAt: z.number(),
  says: z.string(),
});

export const shownSource = citedSource.extend({ observedAt: z.iso.datetime() });

export function shownSources(sources: readonly z.output<typeof citedSource>[]) {
  return sources.map((one) => ({ ...one, observedAt: iso(one.observedAt) }));
}
