import * as z from "zod";
import { iso } from "../time";
import type { CitedSource } from "./ledger";

/** What accompanies a text whose figures come from facts, as callers see it. */
export const shownSource = z.object({
  id: z.number().describe("Its number in the texts' citations"),
  name: z.string().describe("The source; a language model is named as one, and is unverified"),
  url: z.string().nullable().describe("A public address of the same data"),
  observedAt: z.iso.datetime(),
  says: z.string(),
});

export function shownSources(sources: readonly CitedSource[]): z.output<typeof shownSource>[] {
  return sources.map((one) => ({ ...one, observedAt: iso(one.observedAt) }));
}
