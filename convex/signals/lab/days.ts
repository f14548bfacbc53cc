import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { DAY, dayOf, iso } from "../../lib/time";
import { NO_BLOCKS } from "../inference";
import { LAB_TOKENS } from "../rules";
import { findPair, knownArms } from "./arms";
import { addArmDay, addPairDay, COUNTED_MS, type DayShadow } from "./totals";

/** Days as the inference takes them: each once, when every signal of its counted hours has ended. */

/** The most that an arm has in the counted hours of a day. */
const MOST = LAB_TOKENS.length * 24;

/** Adds the oldest day that is over and not counted yet to what its arms have shown. */
export async function countNextDay(ctx: MutationCtx, now: number): Promise<void> {
  const from = await nextDay(ctx);
  if (from === null || from + DAY > now || (await isOpen(ctx, from))) return;
  const arms = await knownArms(ctx);
  const days = await Promise.all(
    arms.map(async (row) => ({ row, signals: await signalsOf(ctx, row.arm, from) })),
  );
  const seen = days.filter(({ signals }) => signals.length > 0);
  for (const { row, signals } of seen) {
    await ctx.db.patch("shadowArms", row._id, { blocks: addArmDay(row.blocks, signals) });
    for (const other of seen) {
      if (other.row.arm === row.arm) continue;
      const pair = await findPair(ctx, row.arm, other.row.arm);
      const blocks = addPairDay(pair?.blocks ?? NO_BLOCKS, signals, other.signals);
      if (pair === null) await ctx.db.insert("shadowPairs", { arm: row.arm, against: other.row.arm, blocks });
      else await ctx.db.patch("shadowPairs", pair._id, { blocks });
    }
  }
  await ctx.db.insert("shadowDays", { day: dayOf(from) });
}

/** When the first day begins that has signals and is not counted, epoch ms; `null` without one. */
async function nextDay(ctx: QueryCtx): Promise<number | null> {
  const counted = await ctx.db.query("shadowDays").withIndex("by_day").order("desc").first();
  const after = counted === null ? 0 : Date.parse(`${counted.day}T00:00:00.000Z`) + DAY;
  const first = await ctx.db
    .query("shadowSignals")
    .withIndex("by_hour", (q) => q.gte("hour", after))
    .first();
  return first === null ? null : Math.floor(first.hour / DAY) * DAY;
}

/** Whether a signal of the day's counted hours is still open. None can be issued any more: its hour is over. */
async function isOpen(ctx: QueryCtx, from: number): Promise<boolean> {
  const open = await ctx.db
    .query("shadowSignals")
    .withIndex("by_status_and_hour", (q) =>
      q
        .eq("status", "PENDING")
        .gte("hour", from)
        .lt("hour", from + COUNTED_MS),
    )
    .first();
  return open !== null;
}

async function signalsOf(ctx: QueryCtx, arm: string, from: number): Promise<DayShadow[]> {
  const rows = await ctx.db
    .query("shadowSignals")
    .withIndex("by_arm_and_hour", (q) =>
      q
        .eq("arm", arm)
        .gte("hour", from)
        .lt("hour", from + COUNTED_MS),
    )
    .take(MOST);
  return rows.map(dayShadowOf);
}

function dayShadowOf(row: Doc<"shadowSignals">): DayShadow {
  const { hour, token, signal, entry, tp1, tp2, sl, exitPrice = null, gapMinutes } = row;
  return { slot: `${iso(hour)} ${token}`, signal, entry, tp1, tp2, sl, exitPrice, gapMinutes };
}
