import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { HOUR, MINUTE } from "../lib/time";
import type { Collector, Wanted } from "./tables";

const SLOT_MS = 30 * MINUTE;

/** The start of a moment's half hour; epoch ms. */
export const slotOf = (at: number): number => Math.floor(at / SLOT_MS) * SLOT_MS;

export const keyOf = ({ collector, subject }: Wanted): string => `${collector}:${subject}`;

/** The key of a collection in `lib/refreshes`. */
export const refreshKey = (wanted: Wanted): string => `evidence:${keyOf(wanted)}`;

/** How long a source's facts cannot change, so that it is not asked again earlier; the others every minute. */
const GOOD_FOR_MS: Partial<Record<Collector, number>> = {
  ...{ trending: 5 * MINUTE, listing: HOUR, stablecoins: HOUR, news: 15 * MINUTE },
};
export const goodForMs = (collector: Collector): number => GOOD_FOR_MS[collector] ?? MINUTE;

/** The latest facts of a collection, of the half hours up to the one `at` is in. */
export async function latestOf(ctx: QueryCtx, wanted: Wanted, at = Date.now()): Promise<Doc<"facts"> | null> {
  return ctx.db
    .query("facts")
    .withIndex("by_key", (q) => q.eq("key", keyOf(wanted)).lte("slot", slotOf(at)))
    .order("desc")
    .first();
}

/** Live prices of a few coins, by every source of them. */
export const QUOTES: Wanted = { collector: "quotes", subject: "" };

/** What is collected for everybody, whatever the focus. */
export const LISTS = [
  { collector: "markets", subject: "" },
  { collector: "trending", subject: "" },
] as const satisfies readonly Wanted[];
