import type { QueryCtx } from "../../_generated/server";
import { SHARDS } from "../outside/expenses";
import { rowsBy } from "../records/rows";
import { dayOf } from "../time";
import { budgetMicros, resetAfter, SHARES, WHOSE, type Billed, type Class } from "./classes";

/** How much of the day's budget is used, for the operator. */

/** From here on the operator is warned: of a provider's budget, or of a class of callers' share in it. */
export const NEARLY_USED = 0.8;
/** Providers, payers and shards of a day. */
const ROWS_OF_DAY = 3 * 6 * SHARDS;

/** How much of a budget, or of a class's share in it, is spent: 0 to 1. */
export type Used = { provider: Billed; whose: string; part: number };
/** One provider's budget, and what of it is spent. */
export type Spent = { limitUsd: number; spentUsd: number; leftUsd: number; by: Record<string, number> };

/** What each provider has cost on the day of `now`, and what is left of its budget. Reads 144 rows at most. */
export async function spentToday(
  ctx: QueryCtx,
  now: number,
): Promise<{ resetsAt: number; providers: Record<Billed, Spent>; used: Used[] }> {
  const rows = await rowsBy(ctx.db.query("spending"), "day", dayOf(now)).take(ROWS_OF_DAY);
  const limit = budgetMicros();
  const used: Used[] = [];
  const of = (provider: Billed): Spent => {
    const by: Partial<Record<Class, number>> = {};
    for (const row of rows) {
      if (row.provider === provider) by[row.payer] = (by[row.payer] ?? 0) + row.micros;
    }
    // Calls of a running shift were paid for when its stages began.
    const { shift: _paidAlready, ...counted } = by;
    const spent = Object.values(counted).reduce((total, micros) => total + micros, 0);
    used.push({ provider, whose: "everybody", part: spent / limit });
    for (const payer of ["anonymous", "signedIn"] as const) {
      const part = (by[payer] ?? 0) / (limit * (SHARES[payer] ?? 1));
      used.push({ provider, whose: WHOSE[payer] ?? payer, part });
    }
    return {
      limitUsd: usd(limit),
      spentUsd: usd(spent),
      leftUsd: usd(Math.max(0, limit - spent)),
      by: Object.fromEntries(Object.entries(by).map(([payer, micros]) => [payer, usd(micros)])),
    };
  };
  const providers = { llm: of("llm"), sentiment: of("sentiment"), agentApi: of("agentApi") };
  return { resetsAt: resetAfter(now), providers, used };
}

/** To a hundredth of a cent. */
function usd(micros: number): number {
  return Math.round(micros / 100) / 10_000;
}
