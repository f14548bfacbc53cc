import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { iso } from "../lib/time";
import { linksAfter, type ChainHead, type Statement } from "./eventChain";
import { TOKENS, type Outcome, type Token } from "./rules";
import type { Signal } from "./tables";
import { addClosed, emptyTotals, type Totals } from "./totals";

/** Signals, their events and their totals: what is written together is written here. */

export type Scope = Token | "ALL";

export async function findSignal(ctx: QueryCtx, token: Token, day: string): Promise<Doc<"signals"> | null> {
  return ctx.db
    .query("signals")
    .withIndex("by_token_and_day", (q) => q.eq("token", token).eq("day", day))
    .unique();
}

/** The token's newest signal, whatever became of it. */
async function latestSignal(ctx: QueryCtx, token: Token): Promise<Doc<"signals"> | null> {
  return ctx.db
    .query("signals")
    .withIndex("by_token", (q) => q.eq("token", token))
    .order("desc")
    .first();
}

/** The newest signal of each of the tokens that has one, in the order of `TOKENS`. */
export async function latestSignals(ctx: QueryCtx, tokens: readonly Token[]): Promise<Signal[]> {
  const wanted = TOKENS.filter((token) => tokens.includes(token));
  const rows = await Promise.all(wanted.map((token) => latestSignal(ctx, token)));
  return rows.flatMap((row) => (row === null ? [] : [bare(row)]));
}

/** A stored signal without what the platform adds to a row. */
export function bare({ _id, _creationTime, ...signal }: Doc<"signals">): Signal {
  return signal;
}

/** Stores a new signal with its event. */
export async function issueSignal(ctx: MutationCtx, signal: Signal): Promise<void> {
  await ctx.db.insert("signals", signal);
  const { token, day, entry, tp1, tp2, sl, confidence, reasoning, price } = signal;
  await appendEvent(ctx, {
    kind: "issued",
    content: {
      token,
      day,
      timeframe: "1h",
      signal: signal.signal,
      entry,
      tp1,
      tp2,
      sl,
      confidence,
      reasoning,
      generatedAt: iso(signal.generatedAt),
      expiresAt: iso(signal.expiresAt),
      priceUsd: price.usd,
      priceSource: price.source,
      priceObservedAt: iso(price.observedAt),
    },
  });
}

/** Ends a pending signal: status, event and totals at once. */
export async function closeSignal(
  ctx: MutationCtx,
  row: Doc<"signals">,
  { status, exitPrice, pnlPercent }: Outcome,
  closedAt: number,
): Promise<void> {
  const { _id, token, day, signal, confidence } = row;
  await ctx.db.patch("signals", _id, { status, closedAt, exitPrice, pnlPercent });
  await appendEvent(ctx, {
    kind: "closed",
    content: { token, day, status, closedAt: iso(closedAt), exitPrice, pnlPercent },
  });
  for (const scope of [token, "ALL"] as const) {
    const { _id: totalsId, totals } = await totalsRow(ctx, scope);
    const closed = { signal, status, pnlPercent, confidence, closedAt };
    const after = { scope, ...addClosed(totals, closed) };
    if (totalsId === null) await ctx.db.insert("signalTotals", after);
    else await ctx.db.replace("signalTotals", totalsId, after);
  }
}

/** What the closed signals of a scope come to. */
export async function totalsOf(ctx: QueryCtx, scope: Scope): Promise<Totals> {
  return (await totalsRow(ctx, scope)).totals;
}

async function totalsRow(ctx: QueryCtx, scope: Scope) {
  const row = await ctx.db
    .query("signalTotals")
    .withIndex("by_scope", (q) => q.eq("scope", scope))
    .unique();
  if (row === null) return { _id: null, totals: emptyTotals() };
  const { _id, _creationTime, scope: _scope, ...totals } = row;
  return { _id, totals };
}

/** The last link of the chain; `null` before the first event. */
export async function chainHeadOf(ctx: QueryCtx): Promise<ChainHead | null> {
  const last = await ctx.db.query("signalEvents").withIndex("by_sequence").order("desc").first();
  return last === null ? null : { sequence: last.sequence, hash: last.hash };
}

async function appendEvent(ctx: MutationCtx, statement: Statement): Promise<void> {
  const links = linksAfter(await chainHeadOf(ctx), statement);
  await ctx.db.insert("signalEvents", { ...links, ...statement });
}
