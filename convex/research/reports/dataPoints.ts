import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx } from "../../_generated/server";
import { sha256Hex } from "../../lib/security/digests";
import { MINUTE } from "../../lib/time";
import { rowsBy } from "../../lib/records/rows";
import { nextCollection } from "./checkpoints";
import { placeOfShift } from "../model";
import { shareObservation } from "../observations";
import { payForCollection } from "./stages";

/** A shift's data points: its observations, and whether the latest is recent enough for a report. */

/** How old the collection of a report may be; otherwise the report waits for a new one. */
const REPORTABLE_MS = 10 * MINUTE;
/** A report does not wait longer for a collection: it says what is missing. */
const WAITED_MS = 6 * MINUTE;

/**
 * Adds a data point to a shift, and sets the time of the next.
 * @throws AppError `rate_limited` for the first one, if the day's budget cannot pay it.
 */
export async function addDataPoint(ctx: MutationCtx, shift: Doc<"shifts">, now: number): Promise<void> {
  let { prepaid } = shift;
  const pay = async () => {
    const paying = await payForCollection(ctx, shift, shift.collectionsCount === 0);
    prepaid = paying.prepaid;
    return paying.payer;
  };
  const observationId = await shareObservation(ctx, shift.focus, placeOfShift(shift), pay);
  const sequence = shift.collectionsCount + 1;
  await ctx.db.insert("dataPoints", { shiftId: shift._id, observationId, sequence, claimedAt: now });
  await ctx.db.patch("shifts", shift._id, {
    collectionsCount: sequence,
    evidence: sha256Hex(`${shift.evidence}:${observationId}`),
    nextCollectionAt: nextCollection(shift.startedAt, now),
    prepaid,
  });
}

/**
 * Whether a shift's latest collection can be reported on; if it is too old, a new one is started.
 * @returns `false` while it is being collected.
 */
export async function isReportable(ctx: MutationCtx, shift: Doc<"shifts">, now: number): Promise<boolean> {
  const latest = await rowsBy(ctx.db.query("dataPoints"), "shiftId", shift._id).order("desc").first();
  if (latest === null || now - latest.claimedAt > REPORTABLE_MS) {
    await addDataPoint(ctx, shift, now);
    return false;
  }
  if (now - latest.claimedAt > WAITED_MS) return true;
  return (await ctx.db.get("observations", latest.observationId))?.state !== "collecting";
}
