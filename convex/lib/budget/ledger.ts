import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { internalQuery, type MutationCtx } from "../../_generated/server";
import { AppError } from "../errors";
import { rowsBy, rowsByBoth } from "../records/rows";
import { dayOf, iso } from "../time";
import {
  budgetMicros,
  isCaller,
  MOST_BUDGETS,
  named,
  PART_OF_CALLERS,
  PART_OF_ONE,
  resetAfter,
  type Payer,
} from "./classes";
import { ROWS_OF_DAY } from "../outside/spending";

/**
 * The day's budget: `DAILY_BUDGET_USD`, checked before work begins; what its calls have cost is added after them
 * (`lib/outside/tallies`). Callers have three fifths of it together, and one user or address a fifth of it. What is owed
 * or scheduled goes on until twice the budget, and a paid report is never refused.
 */

const vSpent = v.object({
  /** By everybody, by all callers, and the most by one of the holders. */
  all: v.number(),
  callers: v.number(),
  own: v.number(),
});

export const spent = internalQuery({
  args: { day: v.string(), holders: v.array(v.string()) },
  returns: vSpent,
  handler: async (ctx, { day, holders }): Promise<Infer<typeof vSpent>> => {
    const rows = await rowsBy(ctx.db.query("spending"), "day", day).take(ROWS_OF_DAY);
    const sum = (some: typeof rows) => some.reduce((total, { micros }) => total + micros, 0);
    const own = await Promise.all(
      holders.map((holder) =>
        rowsByBoth(ctx.db.query("callerSpending"), "day", day, "holder", holder).unique(),
      ),
    );
    return {
      all: sum(rows),
      callers: sum(rows.filter(({ payer }) => isCaller(payer))),
      own: Math.max(0, ...own.map((row) => row?.micros ?? 0)),
    };
  },
});

/**
 * Refuses a payer whose part of the day's budget is used up, before any work begins for it. What is read may be a
 * moment old: a current read would conflict with every call that is being counted.
 * @throws AppError `rate_limited`, with the time at which the budget is restored.
 */
export async function refuseBeyond(ctx: MutationCtx, payer: Payer): Promise<void> {
  const { class: of, holders } = named(payer);
  if (of === "paid") return;
  const now = Date.now();
  const { all, callers, own } = await ctx.runQuery(
    internal.lib.budget.ledger.spent,
    { day: dayOf(now), holders: isCaller(of) ? holders : [] },
    { useStaleSnapshot: true },
  );
  const budget = budgetMicros();
  if (!isCaller(of)) {
    if (all >= budget * MOST_BUDGETS) throw usedUp("Twice today's budget of the service", now);
    return;
  }
  if (own >= budget * PART_OF_ONE) throw usedUp("Your part, a fifth, of today's budget", now);
  if (callers >= budget * PART_OF_CALLERS || all >= budget * MOST_BUDGETS)
    throw usedUp("Today's budget for what callers ask", now);
}

function usedUp(what: string, now: number): AppError {
  const resetAt = resetAfter(now);
  return new AppError("rate_limited", `${what} is used up: it is restored at ${iso(resetAt)}`, {
    retryAfterMs: resetAt - now,
  });
}
