import type { Doc, Id } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { log } from "../../lib/log";
import { rowsBy } from "../../lib/records/rows";
import { DAY, HOUR, MINUTE } from "../../lib/time";
import { CHAIN } from "../coins";
import type { Reported } from "../tables";

/** The watches of an hour, and the alerts that the agent reports, each movement once. */

/** How far back an alert may be the same as a new one. */
const SAME_WITHIN_MS = 6 * HOUR;
/** Two reports of one movement differ by at most this share of the larger amount. */
const SAME_AMOUNT = 0.1;
/** How many alerts of one token and type are searched for a duplicate; more than six hours of full answers contain. */
const LOOK_AT = 250;

/** An agent that was asked about the last hours reports no other time; clocks differ a little. */
const OLDEST_MS = DAY;
const SKEW_MS = 5 * MINUTE;

/**
 * Stores new alerts and merges known ones. Two alerts are the same movement if, within six hours, they name the same
 * token and the same transaction. If at most one of them names a transaction, two alerts of one answer are the same if
 * token, type, amount and description are equal; two of different answers, if token and type are equal and the amounts
 * differ by at most 10 %: the nearest amounts are matched first, and never two alerts of an answer with one known
 * alert. A known alert keeps its first report and only adds a missing transaction.
 * @returns `named`: the alerts with a transaction that Base may have and that nobody has looked for.
 */
export async function storeAlerts(
  ctx: MutationCtx,
  watchId: Id<"whaleWatches">,
  alerts: readonly Reported[],
  now: number,
): Promise<{ stored: Doc<"whaleAlerts">[]; merged: number; named: Id<"whaleAlerts">[] }> {
  const movements = distinct(alerts.map((alert) => withoutFalseTime(alert, now)));
  const known = await matches(ctx, movements, now - SAME_WITHIN_MS);
  const stored: Doc<"whaleAlerts">[] = [];
  const named: Id<"whaleAlerts">[] = [];
  for (const alert of movements) {
    const same = known.get(alert);
    if (same === undefined) {
      const alertId = await ctx.db.insert("whaleAlerts", {
        ...alert,
        detectedAt: now,
        watchId,
        messengerSent: false,
        verified: false,
      });
      if (mayBeOnBase(alert)) named.push(alertId);
      const row = await ctx.db.get("whaleAlerts", alertId);
      if (row !== null) stored.push(row);
    } else if (same.txHash === undefined && alert.txHash !== undefined) {
      await ctx.db.patch("whaleAlerts", same._id, { txHash: alert.txHash });
      if (mayBeOnBase(alert)) named.push(same._id);
    }
  }
  return { stored, merged: alerts.length - stored.length, named };
}

function withoutFalseTime(alert: Reported, now: number): Reported {
  const { occurredAt, ...rest } = alert;
  if (occurredAt === undefined) return alert;
  return occurredAt >= now - OLDEST_MS && occurredAt <= now + SKEW_MS ? alert : rest;
}

function mayBeOnBase({ txHash, chain = CHAIN }: Reported): boolean {
  return txHash?.startsWith("0x") === true && chain === CHAIN;
}

/** One answer's alerts, each movement once. */
function distinct(alerts: readonly Reported[]): Reported[] {
  const movements: Reported[] = [];
  for (const alert of alerts) {
    const index = movements.findIndex((one) => isRepeat(one, alert));
    const first = movements[index];
    if (first === undefined) movements.push(alert);
    else if (first.txHash === undefined && alert.txHash !== undefined) {
      movements[index] = { ...first, txHash: alert.txHash };
    }
  }
  return movements;
}

function isRepeat(one: Reported, other: Reported): boolean {
  if (one.token !== other.token || !mayShareChain(one, other)) return false;
  if (one.txHash !== undefined && other.txHash !== undefined) return one.txHash === other.txHash;
  return (
    one.alertType === other.alertType && one.amount === other.amount && one.description === other.description
  );
}

function mayShareChain(one: Reported, other: Reported): boolean {
  return one.chain === undefined || other.chain === undefined || one.chain === other.chain;
}

/** Which of an answer's alerts are known: by transaction first, then by amount, the nearest first. */
async function matches(
  ctx: QueryCtx,
  alerts: readonly Reported[],
  since: number,
): Promise<Map<Reported, Doc<"whaleAlerts">>> {
  const known = new Map<Reported, Doc<"whaleAlerts">>();
  const taken = new Set<Id<"whaleAlerts">>();
  const take = (alert: Reported, row: Doc<"whaleAlerts">) => {
    known.set(alert, row);
    taken.add(row._id);
  };
  for (const alert of alerts) {
    const row = await withTransaction(ctx, alert, since);
    if (row !== null) take(alert, row);
  }
  const pairs: { alert: Reported; row: Doc<"whaleAlerts">; apart: number }[] = [];
  for (const alert of alerts.filter((one) => !known.has(one))) {
    for (const row of await alike(ctx, alert, since)) pairs.push({ alert, row, apart: apart(alert, row) });
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
  return (
    rows.find((row) => row.token === token && row.detectedAt >= since && row.withdrawnAt === undefined) ??
    null
  );
}

async function alike(ctx: QueryCtx, alert: Reported, since: number): Promise<Doc<"whaleAlerts">[]> {
  const rows = await ctx.db
    .query("whaleAlerts")
    .withIndex("by_token_and_alertType", (q) =>
      q.eq("token", alert.token).eq("alertType", alert.alertType).gte("detectedAt", since),
    )
    .order("desc")
    .take(LOOK_AT);
  return rows.filter(
    (row) =>
      (row.txHash === undefined || alert.txHash === undefined) &&
      row.withdrawnAt === undefined &&
      mayShareChain(row, alert) &&
      apart(alert, row) <= SAME_AMOUNT,
  );
}

/** The difference between two amounts, as a share of the larger. */
function apart(one: Reported, other: Reported): number {
  return Math.abs(one.amount - other.amount) / Math.max(one.amount, other.amount);
}

type Ending = Pick<Doc<"whaleWatches">, "note" | "counts" | "pausedUntil"> & { state: "done" | "failed" };

export async function end(ctx: MutationCtx, watchId: Id<"whaleWatches">, ending: Ending): Promise<void> {
  if (ending.note !== undefined) log.warn("whales.note", { watchId, note: ending.note });
  await ctx.db.patch("whaleWatches", watchId, { ...ending, endedAt: Date.now() });
}
