import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { log } from "../lib/log";
import { dayOf, iso } from "../lib/time";
import { tellEverybody } from "../messenger/webhooks/events";
import { append, closedStatement, issuedStatement } from "./chain";
import { excessPointsOf, ratio, recordOf, rounded, sum, winrateOf } from "./record";
import { afterCosts, LIFETIME_MS, TOKENS, type Token } from "./rules";
import type { SignalStats } from "./shapes";
import type { Outcome, Scope, Signal, Standing } from "./tables";
import { signalView } from "./views";

/** Signals in the database: what others read of them, and their changes, each with its event. */

/** Whether a token has a signal on a day, or it is settled that it gets none. */
export async function isDecided(ctx: QueryCtx, day: string, token: Token): Promise<boolean> {
  const event = await ctx.db
    .query("signalEvents")
    .withIndex("by_day", (q) => q.eq("day", day).eq("token", token))
    .first();
  return event !== null;
}

/** The signals of a UTC day, in the order of `TOKENS`. */
export async function signalsOfDay(ctx: QueryCtx, day: string): Promise<Signal[]> {
  const rows = await ctx.db
    .query("signals")
    .withIndex("by_day", (q) => q.eq("day", day))
    .take(TOKENS.length);
  return rows.map(signalIn);
}

/** The newest signal of each token that has one, with any outcome, in the order of `TOKENS`. */
export async function latestSignals(ctx: QueryCtx, tokens: readonly Token[]): Promise<Signal[]> {
  const wanted = TOKENS.filter((token) => tokens.includes(token));
  const rows = await Promise.all(
    wanted.map((token) =>
      ctx.db
        .query("signals")
        .withIndex("by_token", (q) => q.eq("token", token))
        .order("desc")
        .first(),
    ),
  );
  return rows.flatMap((row) => (row === null ? [] : [signalIn(row)]));
}

/** A stored signal without what the platform adds to a row. */
export function signalIn({ _id, _creationTime, ...signal }: Doc<"signals">): Signal {
  return signal;
}

/** `BTC WIN, ETH PENDING`: a signal's levels are fixed, so its status says all that a review depends on. */
export function outcomesKey(signals: readonly Pick<Signal, "token" | "status">[]): string {
  return signals.map(({ token, status }) => `${token} ${status}`).join(", ");
}

/** The record of a token's closed signals, or of all. */
export async function recordFor(ctx: QueryCtx, scope: Scope): Promise<SignalStats> {
  const row = await ctx.db
    .query("recaps")
    .withIndex("by_period", (q) => q.eq("period", "all").eq("of", scope))
    .unique();
  return row?.period === "all" ? row.record : recordOf([]);
}

/** More than ten years of them; a transaction reads no more. */
const MOST_SIGNALS = 8_000;

/** Every signal, oldest first. */
export async function allSignals(ctx: QueryCtx): Promise<Signal[]> {
  const rows = await ctx.db.query("signals").withIndex("by_generatedAt").order("desc").take(MOST_SIGNALS);
  return rows.map(signalIn).toReversed();
}

async function keepRecord(ctx: MutationCtx): Promise<void> {
  const signals = await allSignals(ctx);
  for (const of of ["ALL", ...TOKENS] as const) {
    const record = recordOf(of === "ALL" ? signals : signals.filter(({ token }) => token === of));
    const kept = { period: "all" as const, of, record, generatedAt: Date.now() };
    const row = await ctx.db
      .query("recaps")
      .withIndex("by_period", (q) => q.eq("period", "all").eq("of", of))
      .unique();
    if (row === null) await ctx.db.insert("recaps", kept);
    else await ctx.db.replace("recaps", row._id, kept);
  }
}

type Issue = Pick<
  Signal,
  | "token"
  | "signal"
  | "entry"
  | "tp1"
  | "tp2"
  | "sl"
  | "confidence"
  | "reasoning"
  | "model"
  | "promptVersion"
  | "price"
  | "costBps"
>;

/** Stores a day's signal of a token with its event. @returns `null` if the day is decided or over. */
export async function issueSignal(ctx: MutationCtx, day: string, issue: Issue): Promise<Signal | null> {
  const newest = await ctx.db.query("signals").withIndex("by_generatedAt").order("desc").first();
  // Callers page by this time, so no two signals have the same.
  const generatedAt = Math.max(Date.now(), (newest?.generatedAt ?? 0) + 1);
  if (dayOf(generatedAt) !== day || (await isDecided(ctx, day, issue.token))) return null;
  const signal: Signal = {
    ...issue,
    day,
    generatedAt,
    expiresAt: generatedAt + LIFETIME_MS,
    status: "PENDING",
    evaluatedUntil: generatedAt,
    gapMinutes: 0,
  };
  await ctx.db.insert("signals", signal);
  await append(ctx, issuedStatement(signal));
  await tellEverybody(ctx, "signal.issued", signalView(signal));
  return signal;
}

/** Why a day has no signal: the model proposed nothing that may be issued, or something was out of reach. */
export type Missing = { reason: "refused" | "failed"; detail: string };

/** Notes that a token gets no signal on a day, unless it is decided. */
export async function noteMissing(
  ctx: MutationCtx,
  { day, token }: { day: string; token: Token },
  { reason, detail }: Missing,
): Promise<void> {
  if (await isDecided(ctx, day, token)) return;
  log.error("signals.none issued", { token, day, reason, detail });
  const content = { reason, detail, at: iso(Date.now()) };
  await append(ctx, { kind: "none", token, day, content });
}

/** Ends a pending signal: its row, its event and the record. */
export async function closeSignal(ctx: MutationCtx, row: Doc<"signals">, outcome: Outcome): Promise<void> {
  await ctx.db.patch("signals", row._id, { ...outcome, evaluatedUntil: outcome.closedAt });
  const signal = signalIn(row);
  await append(ctx, closedStatement(signal, outcome));
  await tellEverybody(ctx, "signal.closed", signalView({ ...signal, ...outcome }));
  await keepRecord(ctx);
}

/** The results of a few signals: of a day, of a week. */
export function standingOf(signals: readonly Signal[]): Standing {
  const count = (wanted: Signal["status"]) => signals.filter(({ status }) => status === wanted).length;
  const [wins, losses] = [count("WIN"), count("LOSS")];
  const results = resultsOf(signals);
  const net = signals.flatMap((one) => resultsOf([one]).map((pnl) => afterCosts(pnl, one.costBps)));
  return {
    wins,
    losses,
    expired: count("EXPIRED"),
    pending: count("PENDING"),
    winrate: winrateOf(wins, losses),
    trades: results.length,
    totalPnlPercent: rounded(sum(results), 6),
    totalAfterCostsPercent: rounded(sum(net), 6),
    excessPoints: rounded(sum(signals.map((one) => excessPointsOf(one) ?? 0)), 6),
  };
}

/** The results of those that have one, in percent and before costs. */
export function resultsOf(signals: readonly Pick<Signal, "pnlPercent">[]): number[] {
  return signals.flatMap(({ pnlPercent }) => (typeof pnlPercent === "number" ? [pnlPercent] : []));
}

/** Their mean, best and worst; `null` without any. */
export function spreadOf(results: readonly number[]) {
  return {
    averagePnlPercent: ratio(sum(results), results.length),
    bestPnlPercent: results.length === 0 ? null : Math.max(...results),
    worstPnlPercent: results.length === 0 ? null : Math.min(...results),
  };
}
