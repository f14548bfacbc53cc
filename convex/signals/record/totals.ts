import type { WithoutSystemFields } from "convex/server";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { emptyTotals, type Totals } from "../statistics/totals";
import type { LabToken } from "../trade/rules";

/** What an arm's closed signals come to, as it is stored. */

export type Scope = Doc<"signalTotals">["scope"];

export async function totalsOf(ctx: QueryCtx, arm: string, scope: Scope): Promise<Totals> {
  return (await totalsRow(ctx, arm, scope)).totals;
}

/** Changes an arm's totals of a token and those of all. */
export async function changeTotals(
  ctx: MutationCtx,
  { arm, token }: { arm: string; token: LabToken },
  change: (totals: Totals) => Totals,
): Promise<void> {
  for (const scope of [token, "ALL"] as const) await changeScope(ctx, { arm, scope }, change);
}

export async function changeScope(
  ctx: MutationCtx,
  { arm, scope }: { arm: string; scope: Scope },
  change: (totals: Totals) => Totals,
): Promise<void> {
  const { _id, totals } = await totalsRow(ctx, arm, scope);
  const after: WithoutSystemFields<Doc<"signalTotals">> = { arm, scope, ...change(totals) };
  if (_id === null) await ctx.db.insert("signalTotals", after);
  else await ctx.db.replace("signalTotals", _id, after);
}

async function totalsRow(ctx: QueryCtx, arm: string, scope: Scope) {
  const row = await ctx.db
    .query("signalTotals")
    .withIndex("by_arm", (q) => q.eq("arm", arm).eq("scope", scope))
    .unique();
  if (row === null) return { _id: null, totals: emptyTotals() };
  const { _id, _creationTime, arm: _arm, scope: _scope, ...totals } = row;
  return { _id, totals };
}
