import type { Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { log } from "../lib/log";
import { DAY, MINUTE, toDay, toIso } from "../lib/time";
import { emitToAll } from "../messenger/webhooks/events";
import { appendEvent, buildClosedStatement, buildIssuedStatement } from "./chain";
import { computeRecord, toPublicSignal } from "./record";
import { getNextIssueTime, LIFETIME_MS, SIGNAL_TOKENS, type Token } from "./rules";
import type { SignalStats } from "./shapes";
import type { SignalOutcome, Signal, vIssue } from "./tables";

/** Signals in the database: their reads, and their changes, each with its event. */

/** Whether a token has a signal on a day, or an event that it gets none. */
export async function isDecided(ctx: QueryCtx, day: string, token: Token): Promise<boolean> {
  const event = await ctx.db
    .query("signalEvents")
    .withIndex("by_day", (q) => q.eq("day", day).eq("token", token))
    .first();
  return event !== null;
}

export async function isDayDecided(ctx: QueryCtx, day: string): Promise<boolean> {
  const decided = await Promise.all(SIGNAL_TOKENS.map((token) => isDecided(ctx, day, token)));
  return decided.every(Boolean);
}

/** The models answer within minutes; after this long they are no longer waited for. */
const MAKING_MS = 10 * MINUTE;

/** Whether the day's signals are being made just now. @param now Epoch ms. */
export async function areSignalsDue(ctx: QueryCtx, now: number): Promise<boolean> {
  const since = now - (getNextIssueTime(now) - DAY);
  return since < MAKING_MS && !(await isDayDecided(ctx, toDay(now)));
}

/** The signals of a UTC day, in the order of `SIGNAL_TOKENS`. */
export async function listSignalsOfDay(ctx: QueryCtx, day: string): Promise<Signal[]> {
  const rows = await ctx.db
    .query("signals")
    .withIndex("by_day", (q) => q.eq("day", day))
    .take(SIGNAL_TOKENS.length);
  return rows.map(toSignal);
}

/** The newest signal of each token that has one, with any outcome, in the order of `SIGNAL_TOKENS`. */
export async function listLatestSignals(ctx: QueryCtx, tokens: readonly Token[]): Promise<Signal[]> {
  const requested = SIGNAL_TOKENS.filter((token) => tokens.includes(token));
  const rows = await Promise.all(
    requested.map((token) =>
      ctx.db
        .query("signals")
        .withIndex("by_token", (q) => q.eq("token", token))
        .order("desc")
        .first(),
    ),
  );
  return rows.flatMap((row) => (row === null ? [] : [toSignal(row)]));
}

/** A stored signal without the platform's fields of a row. */
export function toSignal({ _id, _creationTime, ...signal }: Doc<"signals">): Signal {
  return signal;
}

/** The record of a token's closed signals, or of all. */
export async function getRecord(ctx: QueryCtx, scope: Token | "ALL"): Promise<SignalStats> {
  const row = await findStoredRecords(ctx);
  return row?.period === "all" ? row.records[scope] : computeRecord([]);
}

async function findStoredRecords(ctx: QueryCtx) {
  return ctx.db
    .query("signalSummaries")
    .withIndex("by_period", (q) => q.eq("period", "all").eq("of", "ALL"))
    .unique();
}

/** More than ten years of signals; one transaction reads no more. */
const MOST_SIGNALS = 8_000;

/** Every signal, oldest first. */
export async function listAllSignals(ctx: QueryCtx): Promise<Signal[]> {
  const rows = await ctx.db.query("signals").withIndex("by_generatedAt").order("desc").take(MOST_SIGNALS);
  return rows.map(toSignal).toReversed();
}

async function storeRecords(ctx: MutationCtx): Promise<void> {
  const signals = await listAllSignals(ctx);
  const of = (scope: Token) => computeRecord(signals.filter(({ token }) => token === scope));
  const records = { ALL: computeRecord(signals), BTC: of("BTC"), ETH: of("ETH") };
  const kept = { period: "all", of: "ALL", records, generatedAt: Date.now() } as const;
  const row = await findStoredRecords(ctx);
  if (row === null) await ctx.db.insert("signalSummaries", kept);
  else await ctx.db.replace("signalSummaries", row._id, kept);
}

/** Stores a day's signal of a token, with its event. @returns `null` if the day is decided or over. */
export async function issueSignal(
  ctx: MutationCtx,
  day: string,
  issue: Infer<typeof vIssue>,
): Promise<Signal | null> {
  const generatedAt = Date.now();
  if (toDay(generatedAt) !== day || (await isDecided(ctx, day, issue.token))) return null;
  const issued = { ...issue, day, generatedAt, expiresAt: generatedAt + LIFETIME_MS };
  const signal: Signal = { ...issued, status: "PENDING" };
  await ctx.db.insert("signals", signal);
  await appendEvent(ctx, buildIssuedStatement(issued));
  await emitToAll(ctx, "signal.issued", toPublicSignal(signal));
  return signal;
}

/**
 * Records that a token gets no signal on a day, unless the day is decided: the model's proposals broke the rules
 * (`refused`), or a provider did not answer (`failed`).
 */
export async function noteMissing(
  ctx: MutationCtx,
  { day, token }: { day: string; token: Token },
  { reason, detail }: { reason: "refused" | "failed"; detail: string },
): Promise<void> {
  if (await isDecided(ctx, day, token)) return;
  log.error("signals.none issued", { token, day, reason, detail });
  const content = { reason, detail, at: toIso(Date.now()) };
  await appendEvent(ctx, { kind: "none", token, day, content });
}

/** Ends a pending signal: its row, its event and the record. */
export async function closeSignal(
  ctx: MutationCtx,
  row: Doc<"signals">,
  outcome: SignalOutcome,
): Promise<void> {
  await ctx.db.patch("signals", row._id, outcome);
  const signal = toSignal(row);
  await appendEvent(ctx, buildClosedStatement(signal, outcome));
  await emitToAll(ctx, "signal.closed", toPublicSignal({ ...signal, ...outcome }));
  await storeRecords(ctx);
}
