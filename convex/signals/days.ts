import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { addDayOfTrades } from "./arms";
import { changeScope, findSignal } from "./model";
import { TOKENS, type Token } from "./rules";
import { dayTradeOf } from "./standing";

/** Days as the inference takes them: each once, when every one of its signals and controls has ended. */

export async function findRun(ctx: QueryCtx, token: Token, day: string): Promise<Doc<"signalRuns"> | null> {
  return ctx.db
    .query("signalRuns")
    .withIndex("by_token_and_day", (q) => q.eq("token", token).eq("day", day))
    .unique();
}

/**
 * Adds a day to the totals' arms once nothing of it is open: to be called by whatever ends a signal, a comparison or a
 * run. Before that what has ended early would count alone, and what ends early is no fair sample.
 */
export async function completeDay(ctx: MutationCtx, day: string): Promise<void> {
  const runs = await Promise.all(TOKENS.map((token) => findRun(ctx, token, day)));
  if (runs.some((run) => run === null || run.state === "writing")) return;
  const rows = await Promise.all(TOKENS.map((token) => findSignal(ctx, token, day)));
  const signals = rows.filter((row) => row !== null);
  if (signals.some(({ status, comparison }) => status === "PENDING" || comparison === "due")) return;
  const counted = await getOneFrom(ctx.db, "signalDays", "by_day", day);
  if (counted !== null) return;
  await ctx.db.insert("signalDays", { day });
  for (const scope of [...TOKENS, "ALL"] as const) {
    const trades = signals
      .filter(({ token }) => scope === "ALL" || token === scope)
      .flatMap((signal) => dayTradeOf(signal) ?? []);
    if (trades.length === 0) continue;
    await changeScope(ctx, scope, (totals) => ({ ...totals, arms: addDayOfTrades(totals.arms, trades) }));
  }
}
