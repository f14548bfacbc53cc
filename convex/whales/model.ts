import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { DAY, HOUR, MINUTE } from "../lib/time";
import { getFamily } from "./coins";
import type { Measured, PublicAlert, Reported } from "./tables";

/** The alerts of both sources: their public view, and their deduplication by movement. */

/** The most alerts in one answer of the service; the newest ones. */
const MAX_LISTED = 500;

/** Alerts from `since` to `before` (epoch ms), newest first. */
export async function listLatestAlerts(
  ctx: QueryCtx,
  since: number,
  limit = MAX_LISTED,
  before = Infinity,
): Promise<Doc<"whaleAlerts">[]> {
  return ctx.db
    .query("whaleAlerts")
    .withIndex("by_detectedAt", (q) => q.gte("detectedAt", since).lt("detectedAt", before))
    .order("desc")
    .take(limit);
}

/** An alert in the form of answers. */
export function toPublicWhaleAlert({
  _id,
  _creationTime,
  cardHour: _,
  ...alert
}: Doc<"whaleAlerts">): PublicAlert {
  return { ...alert, source: alert.movement === undefined ? "agent-reported" : "measured" };
}

/** The tokens of alerts, the most frequent first. */
export function rankTokens(rows: readonly Pick<Reported, "token">[]): string[] {
  const counts = new Map<string, number>();
  for (const { token } of rows) counts.set(token, (counts.get(token) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a).map(([token]) => token);
}

/** The net flow to exchanges in USD, for each hour with such an alert, oldest first. */
export function sumFlows(rows: readonly Pick<Doc<"whaleAlerts">, "alertType" | "amount" | "detectedAt">[]) {
  const sums = new Map<number, number>();
  for (const { alertType, amount, detectedAt } of rows) {
    const sign = alertType === "cex_inflow" ? 1 : alertType === "cex_outflow" ? -1 : 0;
    const hour = Math.floor(detectedAt / HOUR) * HOUR;
    if (sign !== 0) sums.set(hour, (sums.get(hour) ?? 0) + sign * amount);
  }
  return [...sums].map(([hour, netUsd]) => ({ hour, netUsd })).toSorted((a, b) => a.hour - b.hour);
}

export async function findProgress(ctx: QueryCtx): Promise<Doc<"whaleProgress"> | null> {
  return ctx.db.query("whaleProgress").first();
}

/** Whether the agent has answered once, or the chain is read: before that, the absence of alerts means nothing. */
export async function hasObserved(ctx: QueryCtx): Promise<boolean> {
  const { block, endedAt } = (await findProgress(ctx)) ?? {};
  return block !== undefined || endedAt !== undefined;
}

/** The time within which two alerts may be one movement. */
const SAME_WITHIN_MS = 6 * HOUR;
/** Two reports of one movement differ by at most this share of the larger amount; under another type, by less. */
const SAME_AMOUNT = 0.1;
const SAME_AMOUNT_OTHER_TYPE = 0.01;
/** Plausible times of a report: the agent is asked about the last hours, and clocks differ a little. */
const OLDEST_MS = DAY;
const SKEW_MS = 5 * MINUTE;

/** An alert of the agent, and whether the chain confirms it. */
export type VerifiedReport = Reported & { verified: boolean };
type Alike = Pick<Reported, "token" | "alertType" | "amount" | "chain" | "txHash">;

/** Stores the agent's alerts, each movement once. A known alert keeps its first report, and only adds a missing transaction. */
export async function storeReported(
  ctx: MutationCtx,
  alerts: readonly VerifiedReport[],
  now: number,
): Promise<void> {
  const rows = await listLatestAlerts(ctx, now - SAME_WITHIN_MS);
  for (const alert of mergeRepeats(alerts)) {
    const row = takeSame(rows, alert);
    const { occurredAt = now, ...timeless } = alert;
    const isTimely = occurredAt >= now - OLDEST_MS && occurredAt <= now + SKEW_MS;
    if (row === undefined) await insert(ctx, isTimely ? alert : timeless, now);
    else if (row.txHash === undefined && alert.txHash !== undefined) {
      const { txHash, verified } = alert;
      await ctx.db.patch("whaleAlerts", row._id, { txHash, verified });
    }
  }
}

/** Stores measured alerts; each replaces the agent's report of the same movement. */
export async function storeMeasured(
  ctx: MutationCtx,
  alerts: readonly Measured[],
  now: number,
): Promise<void> {
  if (alerts.length === 0) return;
  const recent = await listLatestAlerts(ctx, now - SAME_WITHIN_MS);
  const rows = recent.filter(({ movement }) => movement === undefined);
  for (const alert of alerts) {
    const row = takeSame(rows, alert);
    const fields = { ...alert, verified: true };
    if (row === undefined) await insert(ctx, fields, now);
    else await ctx.db.patch("whaleAlerts", row._id, fields);
  }
}

async function insert(ctx: MutationCtx, fields: VerifiedReport, now: number): Promise<void> {
  await ctx.db.insert("whaleAlerts", { ...fields, detectedAt: now, messengerSent: false, cardHour: 0 });
}

/**
 * One answer's alerts, each movement once: the agent may report one movement as two types, or as a coin and its wrapped
 * form. Those that name their transaction come first, and stay.
 */
function mergeRepeats(alerts: readonly VerifiedReport[]): VerifiedReport[] {
  const isUnsure = ({ txHash }: VerifiedReport) => Number(txHash === undefined);
  const surest = alerts.toSorted((a, b) => isUnsure(a) - isUnsure(b));
  return surest.filter((alert, at) => !surest.slice(0, at).some((one) => isRepeat(one, alert)));
}

function isRepeat(one: VerifiedReport, other: VerifiedReport): boolean {
  const isOtherKind = one.alertType !== other.alertType || one.token !== other.token;
  const isEqual = canBeSame(one, other) && one.amount === other.amount;
  return isSameTransaction(one, other) || (isEqual && (isOtherKind || one.description === other.description));
}

/** Takes the row most like an alert out of `rows`, so that no second alert matches it. */
function takeSame(rows: Doc<"whaleAlerts">[], alert: Alike): Doc<"whaleAlerts"> | undefined {
  const alike = rows.filter((row) => Number.isFinite(computeDifference(row, alert)));
  const [same] = alike.toSorted((a, b) => computeDifference(a, alert) - computeDifference(b, alert));
  if (same !== undefined) rows.splice(rows.indexOf(same), 1);
  return same;
}

/** The difference of two alerts: 0 for one transaction, `Infinity` for two movements. */
function computeDifference(one: Alike, other: Alike): number {
  if (isSameTransaction(one, other)) return 0;
  const apart = Math.abs(one.amount - other.amount) / Math.max(one.amount, other.amount);
  const most = one.alertType === other.alertType ? SAME_AMOUNT : SAME_AMOUNT_OTHER_TYPE;
  return canBeSame(one, other) && apart <= most ? apart : Infinity;
}

function isSameTransaction(one: Alike, other: Alike): boolean {
  return one.txHash !== undefined && one.txHash === other.txHash && isSameCoin(one, other);
}

/** Whether two alerts may be one movement: of one coin, and at most one with a transaction. */
function canBeSame(one: Alike, other: Alike): boolean {
  return (one.txHash === undefined || other.txHash === undefined) && isSameCoin(one, other);
}

function isSameCoin(one: Alike, other: Alike): boolean {
  const mayShareChain = one.chain === undefined || other.chain === undefined || one.chain === other.chain;
  return mayShareChain && getFamily(one.token) === getFamily(other.token);
}
