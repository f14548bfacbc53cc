import type { WithoutSystemFields } from "convex/server";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc, Id } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { armsIn } from "../statistics/days";
import { emptyTotals } from "../statistics/totals";
import type { Totals } from "../statistics/rows";
import { dayStart } from "../trade/calendar";
import { REGIMES, regimeOf, TOKENS, type Token } from "../trade/rules";
import { DAILY, type Scope, type Signal, type Slot } from "./rows";

/** Reads signals, their runs and their totals. Changes are in `signals/record/changes`. */

export async function findSlot(
  ctx: QueryCtx,
  { arm, slot, token }: Pick<Slot, "arm" | "slot" | "token">,
): Promise<Doc<"signals"> | null> {
  return ctx.db
    .query("signals")
    .withIndex("by_slot", (q) => q.eq("arm", arm).eq("slot", slot).eq("token", token))
    .unique();
}

/** The daily signals of a UTC day, `2026-11-20`, or those of a person's arm, in the order of `TOKENS`. */
export async function signalsOfDay(ctx: QueryCtx, day: string, arm = DAILY): Promise<Signal[]> {
  const slot = dayStart(day);
  const rows = await Promise.all(TOKENS.map((token) => findSlot(ctx, { arm, slot, token })));
  return rows.flatMap((row) => (row === null ? [] : [signalIn(row)]));
}

/** The daily signals of a UTC day, and the review of exactly these outcomes; `null` while there is none. */
export async function reviewedDay(ctx: QueryCtx, day: string) {
  const signals = await signalsOfDay(ctx, day);
  const written = await getOneFrom(ctx.db, "signalReviews", "by_day", day);
  const review = written !== null && written.outcomes === outcomesKey(signals) ? written.review : null;
  return { signals, review };
}

/** `BTC WIN, ETH PENDING`: a signal's levels are fixed, so its status says all that a review depends on. */
export function outcomesKey(signals: readonly Pick<Signal, "token" | "status">[]): string {
  return signals.map(({ token, status }) => `${token} ${status}`).join(", ");
}

/** The newest daily signal of each token that has one, with any outcome, in the order of `TOKENS`. */
export async function latestSignals(ctx: QueryCtx, tokens: readonly Token[]): Promise<Signal[]> {
  const wanted = TOKENS.filter((token) => tokens.includes(token));
  const newest = (token: Token) =>
    ctx.db
      .query("signals")
      .withIndex("by_token", (q) => q.eq("arm", DAILY).eq("token", token))
      .order("desc")
      .first();
  const rows = await Promise.all(wanted.map(newest));
  return rows.flatMap((row) => (row === null ? [] : [signalIn(row)]));
}

/** A stored signal without what the platform adds to a row. */
export function signalIn({ _id, _creationTime, ...signal }: Doc<"signals">): Signal {
  return signal;
}

export async function findRun(
  ctx: QueryCtx,
  { arm, slot, token }: Pick<Slot, "arm" | "slot" | "token">,
): Promise<Doc<"signalRuns"> | null> {
  return ctx.db
    .query("signalRuns")
    .withIndex("by_slot", (q) => q.eq("arm", arm).eq("slot", slot).eq("token", token))
    .unique();
}

/** A run that is under way; `null` if it has ended. */
export async function findOpenRun(ctx: QueryCtx, runId: Id<"signalRuns">): Promise<Doc<"signalRuns"> | null> {
  const run = await ctx.db.get("signalRuns", runId);
  return run?.state === "writing" ? run : null;
}

/** The cuts of an arm's record, besides its tokens. */
export const CUTS = ["BUY", "SELL", ...REGIMES] as const;

/** The totals of its arm in which a signal counts. A shadow counts in those of its token and in those of all. */
export function scopesOf({ desk, token, signal, volatility }: ScopedSignal): Scope[] {
  if (desk === "lab") return [token, "ALL"];
  const side = signal === "HOLD" ? [] : [signal];
  return [token, "ALL", ...side, ...(volatility === undefined ? [] : [regimeOf(volatility)])];
}
type ScopedSignal = Pick<Signal, "desk" | "token" | "signal" | "volatility">;

export async function totalsOf(ctx: QueryCtx, arm: string, scope: Scope): Promise<Totals> {
  return (await totalsRow(ctx, arm, scope)).totals;
}

export async function changeTotals(
  ctx: MutationCtx,
  { arm, scopes }: { arm: string; scopes: readonly Scope[] },
  change: (totals: Totals) => Totals,
): Promise<void> {
  for (const scope of scopes) {
    const { _id, totals } = await totalsRow(ctx, arm, scope);
    const after: WithoutSystemFields<Doc<"signalTotals">> = { arm, scope, ...change(totals) };
    if (_id === null) await ctx.db.insert("signalTotals", after);
    else await ctx.db.replace("signalTotals", _id, after);
  }
}

async function totalsRow(ctx: QueryCtx, arm: string, scope: Scope) {
  const row = await ctx.db
    .query("signalTotals")
    .withIndex("by_arm", (q) => q.eq("arm", arm).eq("scope", scope))
    .unique();
  if (row === null) return { _id: null, totals: emptyTotals() };
  const { _id, _creationTime, arm: _arm, scope: _scope, arms, ...sums } = row;
  return { _id, totals: { ...emptyTotals(), ...sums, arms: armsIn(arms) } };
}
