import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { HOUR, MINUTE } from "../lib/time";
import { COIN_NAMES } from "../lib/money/tokens";
import type { Collector, Wanted } from "./tables";

const SLOT_MS = 30 * MINUTE;

/** The half hour a moment is in, by its beginning; epoch ms. */
export const slotOf = (at: number): number => Math.floor(at / SLOT_MS) * SLOT_MS;

export const keyOf = ({ collector, subject }: Wanted): string => `${collector}:${subject}`;

/** Under which `lib/refreshes` knows a collection. */
export const refreshKey = (wanted: Wanted): string => `evidence:${keyOf(wanted)}`;

/** What a source does not tell anew before this is not asked for again, however young it is wanted. */
const GOOD_FOR_MS: Record<Collector, number> = {
  markets: MINUTE,
  trending: 5 * MINUTE,
  listing: HOUR,
  day: MINUTE,
  book: MINUTE,
  candles: MINUTE,
  perpetuals: MINUTE,
  stablecoins: HOUR,
  news: 15 * MINUTE,
  base: MINUTE,
};
export const goodForMs = (collector: Collector): number => GOOD_FOR_MS[collector];

/** The latest facts of a collection, of the half hours up to the one `at` is in. */
export async function latestOf(ctx: QueryCtx, wanted: Wanted, at = Date.now()): Promise<Doc<"facts"> | null> {
  return ctx.db
    .query("facts")
    .withIndex("by_key", (q) => q.eq("key", keyOf(wanted)).lte("slot", slotOf(at)))
    .order("desc")
    .first();
}

/** The coins every report speaks of. */
export const MAJORS = ["BTC", "ETH", "SOL"] as const;

export function isMajor(symbol: string): symbol is (typeof MAJORS)[number] {
  return MAJORS.some((major) => major === symbol);
}

/** What they are called in words, the first of which the news use. */
export const MAJOR_NAMES: Readonly<Record<(typeof MAJORS)[number], readonly [string, ...string[]]>> =
  COIN_NAMES;

/** What is collected for everybody, whatever the focus. */
export const LISTS = [
  { collector: "markets", subject: "" },
  { collector: "trending", subject: "" },
] as const satisfies readonly Wanted[];
