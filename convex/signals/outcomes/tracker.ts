import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { cron, dueWork } from "../../lib/cronRuns";
import { HOUR } from "../../lib/time";
import { completeDay, countNextDay, countOpenDays } from "../arms/days";
import { SLOTS } from "../arms/slots";
import { closeSignal, hasControls, keepComparison } from "../record/changes";
import { anchoredBefore } from "../record/publication";
import { tellOfSignal } from "../views/events";
import { vDesk, vLabToken, type Desk } from "../record/rows";
import { comparisonOf } from "../trade/controls";
import { isSettled, outcomeOf, uncoveredMinutes, walkedOn } from "../trade/path";
import { vStretch, type Stretch } from "../trade/rows";
import { LIFETIME_MS, positionOf, type LabToken } from "../trade/rules";

/**
 * The outcome tracker. For each token with open signals, a tick asks for one live price and for the one-minute candles
 * since its last look; the first level that is touched decides. Once a signal has expired, the whole path decides how
 * its controls ended. If a tick is lost, the next one does its work, because open signals are read from the table.
 *
 * Only measured prices (an exchange's, a feed's, a ticker's) decide: the language model's market data may be invented,
 * and a record of wins, losses and results built on it would be worth nothing.
 */

/** How many signals are compared with one path: in the lab, four arms for seven hours. More wait for the next look. */
const BATCH = 40;
/** Enough to find one that is due, because few only wait for their expiry. */
const SAMPLE = 4;
/** The signals of a batch were issued within this time, so that paths and requests stay short after an outage. */
const BATCH_MS = LIFETIME_MS + 2 * HOUR;

export const track = cron("track signal outcomes", async (ctx) => {
  await lookAt(ctx, "daily");
});

/**
 * The lab's tick, which also counts the next day that is over. It is separate, so that a fault in the lab does not
 * affect the record.
 */
export const trackShadows = cron("track shadow signals", async (ctx) => {
  await lookAt(ctx, "lab");
  await countNextDay(ctx, Date.now());
});

/** The tick of people's signals, which also counts their days that are over. */
export const trackPeople = cron("track people's signals", async (ctx) => {
  await lookAt(ctx, "people");
  await countOpenDays(ctx, Date.now());
});

/** There are more days than one transaction can count. */
export const countPeople = dueWork(async (ctx) => {
  await countOpenDays(ctx, Date.now());
});

async function lookAt(ctx: MutationCtx, desk: Desk): Promise<void> {
  for (const token of SLOTS[desk].tokens) {
    const [open] = await openSignals(ctx, { desk, token, after: 0, now: Date.now() }, SAMPLE);
    if (open !== undefined)
      await ctx.scheduler.runAfter(0, internal.signals.outcomes.sight.look, { desk, token });
  }
}

/** The oldest open signals that were issued after a moment, and the part of the path that is needed for them. */
export const next = internalQuery({
  args: { desk: vDesk, token: vLabToken, after: v.number(), now: v.number() },
  returns: v.union(
    v.object({
      signalIds: v.array(v.id("signals")),
      /** When the last of them was issued. */
      until: v.number(),
      span: v.object({ from: v.number(), to: v.number() }),
    }),
    v.null(),
  ),
  handler: async (ctx, wanted) => {
    const open = await openSignals(ctx, wanted, BATCH);
    const last = open.at(-1);
    if (last === undefined) return null;
    const { now } = wanted;
    return {
      signalIds: open.map(({ _id }) => _id),
      until: last.generatedAt,
      span: {
        from: Math.min(...open.map((one) => knownFrom(one, now))),
        to: Math.min(now, Math.max(...open.map(({ expiresAt }) => expiresAt))),
      },
    };
  },
});

type Wanted = { desk: Desk; token: LabToken; after: number; now: number };

/** Signals that are pending, or have expired and wait for their controls, as many as one path serves. */
async function openSignals(
  ctx: QueryCtx,
  { desk, token, after, now }: Wanted,
  most: number,
): Promise<Doc<"signals">[]> {
  const rows = await ctx.db
    .query("signals")
    .withIndex("by_open", (q) =>
      q.eq("desk", desk).eq("open", true).eq("token", token).gt("generatedAt", after),
    )
    .take(most);
  const due = rows.filter(({ status, expiresAt }) => status === "PENDING" || expiresAt <= now);
  const first = due[0]?.generatedAt ?? 0;
  return due.filter(({ generatedAt }) => generatedAt <= first + BATCH_MS);
}

/** The controls need the whole path, an open signal only the part that no look has covered yet. */
function knownFrom(signal: Doc<"signals">, now: number): number {
  const isCompared = hasControls(signal) && now >= signal.expiresAt;
  return isCompared ? signal.generatedAt : signal.walkedUntil;
}

/** Compares open signals, and their controls once they are due, with the path that was seen. */
export const settle = change(
  { signalIds: v.array(v.id("signals")), seen: v.array(vStretch) },
  async (ctx, { signalIds, seen }) => {
    const now = Date.now();
    for (const signalId of signalIds) {
      const signal = await ctx.db.get("signals", signalId);
      if (signal?.open !== true) continue;
      const hasEnded = await settleOutcome(ctx, signal, { seen, now });
      if (hasEnded && hasControls(signal)) await settleComparison(ctx, signal, { seen, now });
      if (signal.desk === "daily") await completeDay(ctx, signal.slot);
    }
  },
);

type Sight = { seen: readonly Stretch[]; now: number };

/** @returns Whether it has ended. */
async function settleOutcome(
  ctx: MutationCtx,
  signal: Doc<"signals">,
  { seen, now }: Sight,
): Promise<boolean> {
  if (signal.status !== "PENDING") return true;
  const { walkedUntil: since, gapMinutes: earlierGaps } = signal;
  const outcome = outcomeOf(signal, { seen, since, earlierGaps, now });
  if (outcome !== null) {
    const isOver = isSettled(outcome, now);
    if (!isOver) return false;
    const { desk, event } = signal;
    const isAnchored = await anchoredBefore(ctx, desk, event, outcome.closedAt);
    await closeSignal(ctx, signal, outcome, isAnchored);
    if (desk === "daily") await tellOfSignal(ctx, "signal.closed", signal);
    return true;
  }
  const walked = walkedOn(signal, { seen, now });
  if (walked !== null) await ctx.db.patch("signals", signal._id, walked);
  return false;
}

async function settleComparison(
  ctx: MutationCtx,
  signal: Doc<"signals">,
  { seen, now }: Sight,
): Promise<void> {
  const position = positionOf(signal);
  if (position === null) return;
  const { generatedAt, expiresAt } = signal;
  const gapMinutes = uncoveredMinutes(seen, generatedAt, expiresAt);
  if (!isSettled({ closedAt: expiresAt, gapMinutes }, now)) return;
  const compared = comparisonOf({ position, generatedAt, expiresAt }, { seen, now });
  if (compared !== null) await keepComparison(ctx, signal, compared);
}
