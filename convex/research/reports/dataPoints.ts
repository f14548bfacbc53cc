import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx } from "../../_generated/server";
import type { Payer } from "../../lib/budget/classes";
import { refuseBeyond } from "../../lib/budget/ledger";
import { failureOf } from "../../lib/errors";
import { sha256Hex } from "../../lib/security/digests";
import { MINUTE } from "../../lib/time";
import { rowsBy } from "../../lib/records/rows";
import { nextCollection } from "./checkpoints";
import { rankOfShift } from "../model";
import { shareObservation } from "../observations";

/** A shift's data points: its observations, and whether the latest is recent enough for a report. */

/** How old the collection of a report may be; otherwise the report waits for a new one. */
const REPORTABLE_MS = 10 * MINUTE;
/** A report does not wait longer for a collection: it says what is missing. */
const WAITED_MS = 6 * MINUTE;

/**
 * Adds a data point to a shift, and sets the time of the next.
 * @throws AppError `rate_limited` when the day's budget is used up: the starter's part for the first one, twice the whole
 * for the others.
 */
export async function addDataPoint(ctx: MutationCtx, shift: Doc<"shifts">, now: number): Promise<void> {
  const { paidBy = "shift" } = shift;
  // A shift that runs is owed its collections: they count in its starter's part, which does not refuse them.
  const payer: Payer = typeof paidBy === "object" ? { ...paidBy, class: "shift" } : "shift";
  const isFirst = shift.collectionsCount === 0;
  const observationId = await shareObservation(ctx, shift.focus, rankOfShift(shift), async () => {
    await refuseBeyond(ctx, isFirst ? paidBy : "shift");
    return payer;
  });
  const sequence = shift.collectionsCount + 1;
  await ctx.db.insert("dataPoints", { shiftId: shift._id, observationId, sequence, claimedAt: now });
  await ctx.db.patch("shifts", shift._id, {
    collectionsCount: sequence,
    evidence: sha256Hex(`${shift.evidence}:${observationId}`),
    nextCollectionAt: nextCollection(shift.startedAt, now),
  });
}

/** `addDataPoint` for a shift that runs. @returns `false`, and it goes on with what it has, once the budget is used up. */
export async function isDataPointAdded(
  ctx: MutationCtx,
  shift: Doc<"shifts">,
  now: number,
): Promise<boolean> {
  try {
    await addDataPoint(ctx, shift, now);
    return true;
  } catch (error) {
    if (failureOf(error)?.code !== "rate_limited") throw error;
    await ctx.db.patch("shifts", shift._id, { nextCollectionAt: nextCollection(shift.startedAt, now) });
    return false;
  }
}

/**
 * Whether a shift's latest collection can be reported on; if it is too old, a new one is started.
 * @returns `false` while it is being collected.
 */
export async function isReportable(ctx: MutationCtx, shift: Doc<"shifts">, now: number): Promise<boolean> {
  const latest = await rowsBy(ctx.db.query("dataPoints"), "shiftId", shift._id).order("desc").first();
  if (latest === null || now - latest.claimedAt > REPORTABLE_MS) {
    if (await isDataPointAdded(ctx, shift, now)) return false;
    return true;
  }
  if (now - latest.claimedAt > WAITED_MS) return true;
  return (await ctx.db.get("observations", latest.observationId))?.state !== "collecting";
}
