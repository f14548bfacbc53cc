import type { Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { NOBODY } from "../../lib/records/records";
import { DAY, MINUTE } from "../../lib/time";
import type { vMeasure } from "../tables";

/** Sums that count against limits over rolling 24 hours: one row for each user or network address and each measure. */

export type Measure = Infer<typeof vMeasure>;
export type Reservation = NonNullable<Doc<"transactions">["reserved"]>;
export type Entries = Doc<"transferWindows">["entries"];

/** Transfers within this time share one entry, which counts as long as the last of them. */
const SLOT_MS = 15 * MINUTE;

/** Adds to the sum of the time at which the transfer was opened; a negative amount reduces it, to zero at most. */
export async function count(
  ctx: MutationCtx,
  userId: string,
  reservation: Reservation,
  sign: 1n | -1n,
): Promise<void> {
  // A transfer of an earlier version, whose day is over or starts again.
  if (!("shares" in reservation)) return;
  const { at, shares } = reservation;
  if (at <= Date.now() - DAY - SLOT_MS) return;
  for (const { measure, address, microUsd: share = reservation.microUsd } of shares) {
    const of = { userId, address, measure };
    await add(ctx, of, await windowOf(ctx, userId, of), { at, microUsd: sign * BigInt(share) });
  }
}

/** Adds an amount of a time to a sum. @param row The sum's; `null` before its first transfer. */
export async function add(
  ctx: MutationCtx,
  { userId, address, measure }: { userId: string; address: string; measure: Measure },
  row: Doc<"transferWindows"> | null,
  { at, microUsd }: { at: number; microUsd: bigint },
): Promise<void> {
  const now = Date.now();
  const entries = changed(row?.entries ?? [], at, microUsd).filter((entry) => entry.at > now - DAY);
  if (row !== null) await ctx.db.patch("transferWindows", row._id, { entries, updatedAt: now });
  else
    await ctx.db.insert("transferWindows", {
      ...{ userId: ownerOf(userId, address), address, measure },
      ...{ entries, updatedAt: now },
    });
}

/** The entries with a change at a moment: at most one entry per slot. */
function changed(entries: Entries, at: number, change: bigint): Entries {
  const slot = Math.floor(at / SLOT_MS);
  const same = entries.find((entry) => Math.floor(entry.at / SLOT_MS) === slot);
  const sum = BigInt(same?.microUsd ?? 0) + change;
  const others = entries.filter((entry) => entry !== same);
  if (sum <= 0n) return others;
  const entry = { at: Math.max(at, same?.at ?? at), microUsd: sum.toString() };
  return [...others, entry].toSorted((a, b) => a.at - b.at);
}

export async function windowOf(
  ctx: QueryCtx,
  userId: string,
  { address, measure }: { address: string; measure: Measure },
): Promise<Doc<"transferWindows"> | null> {
  return ctx.db
    .query("transferWindows")
    .withIndex("by_whose", (q) =>
      q.eq("userId", ownerOf(userId, address)).eq("address", address).eq("measure", measure),
    )
    .unique();
}

/** The `userId` of a count; none for one of an address. */
function ownerOf(userId: string, address: string): string {
  return address === "" ? userId : NOBODY;
}

/** Micro-USD. */
export function sumOf(entries: Entries): bigint {
  return entries.reduce((sum, { microUsd: counted }) => sum + BigInt(counted), 0n);
}
