import type { WithoutSystemFields } from "convex/server";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { iso } from "../lib/time";
import { calibrated, outcomesOf, type Outcomes } from "./calibration";
import { champion, learnFrom } from "./champions";
import { coinFlip, type Comparison } from "./controls";
import { chanceOf } from "./edge";
import { GENESIS, linksAfter, type Statement } from "./eventChain";
import type { ChainHead } from "./eventShapes";
import type { Outcome } from "./path";
import { LIFETIME_MS, positionOf, TOKENS, type Levels, type Token } from "./rules";
import type { courseFields, Held, Signal } from "./tables";
import { addClosed, emptyTotals, type Totals } from "./totals";

/** Signals, their events and their totals: what is written together is written here. */

export type Scope = Token | "ALL";

export async function findSignal(ctx: QueryCtx, token: Token, day: string): Promise<Doc<"signals"> | null> {
  return ctx.db
    .query("signals")
    .withIndex("by_token_and_day", (q) => q.eq("token", token).eq("day", day))
    .unique();
}

/** The newest signal of each of the tokens that has one, whatever became of it, in the order of `TOKENS`. */
export async function latestSignals(ctx: QueryCtx, tokens: readonly Token[]): Promise<Signal[]> {
  const wanted = TOKENS.filter((token) => tokens.includes(token));
  const newest = (token: Token) =>
    ctx.db
      .query("signals")
      .withIndex("by_token", (q) => q.eq("token", token))
      .order("desc")
      .first();
  const rows = await Promise.all(wanted.map(newest));
  return rows.flatMap((row) => (row === null ? [] : [bare(row)]));
}

/** A stored signal without what the platform adds to a row. */
export function bare({ _id, _creationTime, ...signal }: Doc<"signals">): Signal {
  return signal;
}

/** The moment at which a signal is issued now: later than every other's, since callers page by it. */
export async function nextIssueTime(ctx: QueryCtx, now: number): Promise<number> {
  const newest = await ctx.db.query("signals").withIndex("by_generatedAt").order("desc").first();
  return Math.max(now, (newest?.generatedAt ?? 0) + 1);
}

/** What is issued: the proposal entered at its price, and what was known then. */
type Issue = Omit<Signal, keyof typeof courseFields | "coin" | "comparison" | "compared"> & {
  /** Hours of the prompt's candles that were not to be had. */
  missingHours: number;
};

/** How a signal of the day or a shadow begins. @param outcomes What its confidence is calibrated by. */
export function begun(issue: Levels & Pick<Signal, "confidence" | "generatedAt">, outcomes: Outcomes) {
  const { confidence, generatedAt } = issue;
  const position = positionOf(issue);
  // A HOLD risks nothing and gains nothing.
  const chance = position === null ? 0.5 : chanceOf(position);
  return {
    status: "PENDING" as const,
    expiresAt: generatedAt + LIFETIME_MS,
    calibrated: calibrated(outcomes, confidence, chance),
    walkedUntil: generatedAt,
    gapMinutes: 0,
  };
}

/** What the event of an issue says of a signal of the day and of a shadow. */
export function issuedFacts({ signal, ...held }: Held) {
  const { entry, tp1, tp2, sl, confidence, costBps, model, price } = held;
  return {
    ...{ model, signal, entry, tp1, tp2, sl, confidence, costBps },
    calibratedConfidence: held.calibrated.confidence,
    calibrationMethod: held.calibrated.method,
    calibrationOutcomes: held.calibrated.n,
    generatedAt: iso(held.generatedAt),
    expiresAt: iso(held.expiresAt),
    priceSource: price.source,
    priceObservedAt: iso(price.observedAt),
  };
}

/** Stores a new signal with its event: its calibration from the outcomes so far, its coin from the chain's head. */
export async function issueSignal(ctx: MutationCtx, { missingHours, ...issue }: Issue): Promise<void> {
  const { token, day, reasoning } = issue;
  const position = positionOf(issue);
  const head = await chainHeadOf(ctx);
  const signal: Signal = {
    ...issue,
    ...begun(issue, await outcomesSoFar(ctx)),
    coin: position === null ? null : coinFlip(head?.hash ?? GENESIS, token, day),
    momentum: position === null ? null : issue.momentum,
    comparison: position === null ? "none" : "due",
  };
  await ctx.db.insert("signals", signal);
  const { coin, momentum } = signal;
  await appendEvent(ctx, {
    kind: "issued",
    content: {
      ...(await circumstancesOf(ctx, signal, 60 * missingHours)),
      ...issuedFacts(signal),
      ...{ timeframe: "1h", coin, momentum, reasoning },
    },
  });
}

/** What the confidence of the one that writes now is calibrated by. */
async function outcomesSoFar(ctx: QueryCtx): Promise<Outcomes> {
  const promoted = await champion(ctx);
  return promoted === null ? totalsOf(ctx, "ALL") : outcomesOf(Object.values(promoted.outcomes));
}

/** Ends a pending signal: status, event and totals at once. */
export async function closeSignal(ctx: MutationCtx, row: Doc<"signals">, outcome: Outcome): Promise<void> {
  const { _id, token, signal, confidence, calibrated: before, costBps } = row;
  const { status, closedAt, exitPrice, pnlPercent, decidedBy, gapMinutes } = outcome;
  await ctx.db.patch("signals", _id, { ...outcome, walkedUntil: closedAt });
  await appendEvent(ctx, {
    kind: "closed",
    content: {
      ...(await circumstancesOf(ctx, row, gapMinutes)),
      ...{ status, closedAt: iso(closedAt), exitPrice, pnlPercent, decidedBy },
    },
  });
  const closed = { signal, status, pnlPercent, costBps, confidence, gapMinutes, closedAt };
  const calibratedConfidence = before.confidence;
  await changeTotals(ctx, token, (totals) => addClosed(totals, { ...closed, calibratedConfidence }));
  if (signal !== "HOLD" && status !== "EXPIRED") await learnFrom(ctx, row, status === "WIN");
}

/** Keeps how the control arms of a signal ended, with an event. */
export async function keepComparison(
  ctx: MutationCtx,
  row: Doc<"signals">,
  compared: Comparison,
): Promise<void> {
  await ctx.db.patch("signals", row._id, { compared, comparison: "done" });
  const { mirrorStatus, mirrorExitPrice, holdExitPrice, decidedBy, mirrorGapMinutes } = compared;
  await appendEvent(ctx, {
    kind: "compared",
    content: {
      ...(await circumstancesOf(ctx, row, mirrorGapMinutes)),
      ...{ mirrorStatus, mirrorExitPrice, holdExitPrice, decidedBy },
    },
  });
}

/** Counts a day on which a token got no signal, with an event. */
export async function keepRefusal(
  ctx: MutationCtx,
  run: { token: Token; day: string; model: string | null; promptVersion: string },
  reason: "refused" | "failed",
): Promise<void> {
  await changeTotals(ctx, run.token, (totals) => ({ ...totals, refused: totals.refused + 1 }));
  const content = { ...(await circumstancesOf(ctx, run, 0)), reason, at: iso(Date.now()) };
  await appendEvent(ctx, { kind: "refused", content });
}

async function circumstancesOf(
  ctx: QueryCtx,
  {
    token,
    day,
    model,
    promptVersion,
  }: { token: Token; day: string; model: string | null; promptVersion: string },
  gapMinutes: number,
) {
  const { totals } = await totalsRow(ctx, token);
  return { token, day, model, promptVersion, refusedDays: totals.refused, gapMinutes };
}

/** Changes the totals of a token and those of all. */
async function changeTotals(
  ctx: MutationCtx,
  token: Token,
  change: (totals: Totals) => Totals,
): Promise<void> {
  for (const scope of [token, "ALL"] as const) await changeScope(ctx, scope, change);
}

export async function changeScope(
  ctx: MutationCtx,
  scope: Scope,
  change: (totals: Totals) => Totals,
): Promise<void> {
  const { _id, totals } = await totalsRow(ctx, scope);
  const after: WithoutSystemFields<Doc<"signalTotals">> = { scope, ...change(totals) };
  if (_id === null) await ctx.db.insert("signalTotals", after);
  else await ctx.db.replace("signalTotals", _id, after);
}

/** What the closed signals of a scope come to. */
export async function totalsOf(ctx: QueryCtx, scope: Scope): Promise<Totals> {
  return (await totalsRow(ctx, scope)).totals;
}

async function totalsRow(ctx: QueryCtx, scope: Scope) {
  const row = await getOneFrom(ctx.db, "signalTotals", "by_scope", scope);
  if (row === null) return { _id: null, totals: emptyTotals() };
  const { _id, _creationTime, scope: _scope, ...totals } = row;
  return { _id, totals };
}

/** The last link of the chain; `null` before the first event. */
export async function chainHeadOf(ctx: QueryCtx): Promise<ChainHead | null> {
  const last = await ctx.db.query("signalEvents").withIndex("by_sequence").order("desc").first();
  return last === null ? null : { sequence: last.sequence, hash: last.hash };
}

/** Adds an event to the chain. */
export async function appendEvent(ctx: MutationCtx, statement: Statement): Promise<ChainHead> {
  const links = linksAfter(await chainHeadOf(ctx), statement);
  await ctx.db.insert("signalEvents", { ...statement, ...links });
  return { sequence: links.sequence, hash: links.hash };
}
