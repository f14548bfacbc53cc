import type { Doc, Id } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { rowsBy } from "../../lib/records/rows";
import { DAY, HOUR, MINUTE } from "../../lib/time";
import { familyOf } from "../coins";
import type { Reported } from "../tables";

/** The alerts that the agent reports, each movement once. */

/** How far back an alert may be the same as a new one. */
const SAME_WITHIN_MS = 6 * HOUR;
/** Two reports of one movement differ by at most this share of the larger amount; with another type, by less. */
const SAME_AMOUNT = 0.1;
const SAME_AMOUNT_OTHER_TYPE = 0.01;
/** How many alerts are searched for a duplicate; more than six hours of full answers contain. */
const LOOK_AT = 500;

/** An agent that was asked about the last hours reports no other time; clocks differ a little. */
const OLDEST_MS = DAY;
const SKEW_MS = 5 * MINUTE;

/** As the agent tells it, and whether the chain agrees. */
type Told = Reported & { verified: boolean };

/**
 * Stores new alerts and merges known ones. Two alerts are the same movement if, within six hours, they name the same
 * coin (or forms of it) and the same transaction. If at most one of them names a transaction: in one answer, if their
 * amounts are equal, and their descriptions or their types differ; in different answers, if the amounts differ by at
 * most 10 %, or 1 % under another type. The nearest amounts are matched first, and never two alerts of an answer with
 * one known alert. A known alert keeps its first report and only adds a missing transaction.
 */
export async function storeAlerts(
  ctx: MutationCtx,
  alerts: readonly Told[],
  now: number,
): Promise<{ stored: number; merged: number }> {
  const movements = distinct(alerts.map((alert) => withoutFalseTime(alert, now)));
  const known = await matches(ctx, movements, now - SAME_WITHIN_MS);
  let stored = 0;
  for (const alert of movements) {
    const same = known.get(alert);
    if (same === undefined) {
      await ctx.db.insert("whaleAlerts", { ...alert, detectedAt: now, messengerSent: false, cardHour: 0 });
      stored += 1;
    } else if (same.txHash === undefined && alert.txHash !== undefined) {
      const { txHash, verified } = alert;
      await ctx.db.patch("whaleAlerts", same._id, { txHash, verified });
    }
  }
  return { stored, merged: alerts.length - stored };
}

function withoutFalseTime(alert: Told, now: number): Told {
  const { occurredAt, ...rest } = alert;
  if (occurredAt === undefined) return alert;
  return occurredAt >= now - OLDEST_MS && occurredAt <= now + SKEW_MS ? alert : rest;
}

/** One answer's alerts, each movement once. */
function distinct(alerts: readonly Told[]): Told[] {
  const movements: Told[] = [];
  for (const alert of alerts) {
    const index = movements.findIndex((one) => isRepeat(one, alert));
    const first = movements[index];
    if (first === undefined) movements.push(alert);
    else if (first.txHash === undefined && alert.txHash !== undefined) {
      movements[index] = { ...first, txHash: alert.txHash, verified: alert.verified };
    }
  }
  return movements;
}

function isRepeat(one: Reported, other: Reported): boolean {
  if (familyOf(one.token) !== familyOf(other.token) || !mayShareChain(one, other)) return false;
  if (one.txHash !== undefined && other.txHash !== undefined) return one.txHash === other.txHash;
  return (
    one.amount === other.amount &&
    (one.alertType !== other.alertType || one.token !== other.token || one.description === other.description)
  );
}

function mayShareChain(one: Reported, other: Reported): boolean {
  return one.chain === undefined || other.chain === undefined || one.chain === other.chain;
}

/** Which of an answer's alerts are known: by transaction first, then by amount, the nearest first. */
async function matches(
  ctx: QueryCtx,
  alerts: readonly Told[],
  since: number,
): Promise<Map<Told, Doc<"whaleAlerts">>> {
  const known = new Map<Told, Doc<"whaleAlerts">>();
  const taken = new Set<Id<"whaleAlerts">>();
  const take = (alert: Told, row: Doc<"whaleAlerts">) => {
    known.set(alert, row);
    taken.add(row._id);
  };
  for (const alert of alerts) {
    const row = await withTransaction(ctx, alert, since);
    if (row !== null) take(alert, row);
  }
  const pairs: { alert: Told; row: Doc<"whaleAlerts">; apart: number }[] = [];
  const recent = await ctx.db
    .query("whaleAlerts")
    .withIndex("by_detectedAt", (q) => q.gte("detectedAt", since))
    .order("desc")
    .take(LOOK_AT);
  for (const alert of alerts.filter((one) => !known.has(one))) {
    for (const row of recent.filter((one) => isAlike(alert, one)))
      pairs.push({ alert, row, apart: apart(alert, row) });
  }
  for (const { alert, row } of pairs.toSorted((a, b) => a.apart - b.apart)) {
    if (!known.has(alert) && !taken.has(row._id)) take(alert, row);
  }
  return known;
}

async function withTransaction(
  ctx: QueryCtx,
  { token, txHash }: Reported,
  since: number,
): Promise<Doc<"whaleAlerts"> | null> {
  if (txHash === undefined) return null;
  const rows = await rowsBy(ctx.db.query("whaleAlerts"), "txHash", txHash).order("desc").take(10);
  return rows.find((row) => familyOf(row.token) === familyOf(token) && row.detectedAt >= since) ?? null;
}

function isAlike(alert: Reported, row: Doc<"whaleAlerts">): boolean {
  const most = row.alertType === alert.alertType ? SAME_AMOUNT : SAME_AMOUNT_OTHER_TYPE;
  return (
    familyOf(row.token) === familyOf(alert.token) &&
    (row.txHash === undefined || alert.txHash === undefined) &&
    mayShareChain(row, alert) &&
    apart(alert, row) <= most
  );
}

/** The difference between two amounts, as a share of the larger. */
function apart(one: Reported, other: Reported): number {
  return Math.abs(one.amount - other.amount) / Math.max(one.amount, other.amount);
}
