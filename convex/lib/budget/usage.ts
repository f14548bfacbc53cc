import type { QueryCtx } from "../../_generated/server";
import { rowsBy } from "../records/rows";
import { dayOf } from "../time";
import { budgetMicros, isCaller, PART_OF_CALLERS, resetAfter, type Billed } from "./classes";
import { ROWS_OF_DAY } from "../outside/spending";

/** How much of the day's budget is used, for the operator. */

/** From here on the operator is warned: of the budget, or of the callers' part of it. */
export const NEARLY_USED = 0.8;

/** What each provider has cost on the day of `now`. `used`: the part of the budget, and of the callers' part, 0 to 1. */
export async function spentToday(
  ctx: QueryCtx,
  now: number,
): Promise<{
  resetsAt: number;
  limitUsd: number;
  spentUsd: number;
  providers: Record<Billed, number>;
  used: { all: number; callers: number };
}> {
  const rows = await rowsBy(ctx.db.query("spending"), "day", dayOf(now)).take(ROWS_OF_DAY);
  const sum = (some: typeof rows) => some.reduce((total, { micros }) => total + micros, 0);
  const of = (provider: Billed) => usd(sum(rows.filter((row) => row.provider === provider)));
  const budget = budgetMicros();
  return {
    resetsAt: resetAfter(now),
    limitUsd: usd(budget),
    spentUsd: usd(sum(rows)),
    providers: { llm: of("llm"), sentiment: of("sentiment"), agentApi: of("agentApi") },
    used: {
      all: sum(rows) / budget,
      callers: sum(rows.filter(({ payer }) => isCaller(payer))) / (budget * PART_OF_CALLERS),
    },
  };
}

/** To a hundredth of a cent. */
function usd(micros: number): number {
  return Math.round(micros / 100) / 10_000;
}
