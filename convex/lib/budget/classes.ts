import type { Infer } from "convex/values";
import { setting } from "../env";
import type { vBilled, vPayer, vPayingClass } from "../tables";
import { DAY } from "../time";

/** Who pays for calls to the providers that bill. Amounts are in millionths of a USD. */

/** Who pays for a call: the service, a paid report, a running shift, or the caller who asked for it. */
export type Payer = Infer<typeof vPayer>;
export type Class = Infer<typeof vPayingClass>;
/** The classes of callers. */
export type CallerClass = "signedIn" | "anonymous";
/** A provider that bills by the call. */
export type Billed = Infer<typeof vBilled>;

/** What all that is neither paid for nor scheduled may spend together, and one user or address of it. */
export const PART_OF_CALLERS = 0.6;
export const PART_OF_ONE = 0.2;
/** What is owed to a running shift, or scheduled, is refused only at this many budgets. */
export const MOST_BUDGETS = 2;

const MICROS = 1_000_000;

/** The class of a payer, and the callers whose parts count. */
export function named(payer: Payer): { class: Class; holders: string[] } {
  return typeof payer === "string" ? { class: payer, holders: [] } : payer;
}

export function isCaller(payer: Class): boolean {
  return payer === "signedIn" || payer === "anonymous";
}

/** The day's budget for all providers together. */
export function budgetMicros(): number {
  return Number(setting("DAILY_BUDGET_USD")) * MICROS;
}

export function resetAfter(now: number): number {
  return (Math.floor(now / DAY) + 1) * DAY;
}
