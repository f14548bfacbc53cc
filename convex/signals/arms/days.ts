import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { internal } from "../../_generated/api";
import { DAY, dayOf, HOUR, iso } from "../../lib/time";
import { changeScope, CUTS, findRun, scopesOf, signalsOfDay } from "../record/model";
import { DAILY, type Asking, type Scope, type Signal } from "../record/tables";
import {
  addArmDay,
  addDayOfTrades,
  addPairDay,
  COUNTED_MS,
  NO_SEEN,
  seenIn,
  type DayShadow,
} from "../statistics/days";
import { dayTradeOf } from "../statistics/figures";
import { dayStart } from "../trade/calendar";
import { LAB_TOKENS, TOKENS } from "../trade/rules";
import { findPair, knownArms } from "./arms";

/** Days as the inference takes them: each once, when all of it has ended. */

/**
 * Adds a day of the daily signals to the totals once nothing of it is open: to be called by whatever ends a signal, a
 * comparison or a run. Before that what has ended early would count alone, and what ends early is no fair sample.
 */
export async function completeDay(ctx: MutationCtx, slot: number): Promise<void> {
  const runs = await Promise.all(TOKENS.map((token) => findRun(ctx, { arm: DAILY, slot, token })));
  if (runs.some((run) => run === null || run.state === "writing")) return;
  const day = dayOf(slot);
  const signals = await signalsOfDay(ctx, day);
  if (signals.some((signal) => signal.open)) return;
  if (await countDay(ctx, "daily", day)) await countTrades(ctx, DAILY, signals);
}

/** Days of people that are looked at in one transaction. */
const LOOKED_AT = 50;
/** A day whose trades have not ended is looked at again so much later. */
const AGAIN_MS = HOUR;

/**
 * Adds the days of people's arms that are over, and of which nothing is open, to their totals: as many as one transaction
 * looks at.
 */
export async function countOpenDays(ctx: MutationCtx, now: number): Promise<void> {
  const due = await ctx.db
    .query("openDays")
    .withIndex("by_dueAt", (q) => q.lte("dueAt", now))
    .take(LOOKED_AT);
  for (const { _id, arm, slot } of due) {
    const signals = await signalsOfDay(ctx, dayOf(slot), arm);
    if (signals.some((signal) => signal.open)) {
      await ctx.db.patch("openDays", _id, { dueAt: now + AGAIN_MS });
      continue;
    }
    // A person who has seen how one ended may leave the other out: an even part of the day is each token's, traded or not.
    await countTrades(ctx, arm, signals, TOKENS.length);
    await ctx.db.delete("openDays", _id);
  }
  if (due.length === LOOKED_AT)
    await ctx.scheduler.runAfter(0, internal.signals.outcomes.tracker.countPeople, {});
}

/** @param places By so many the day of all tokens is shared out, where that is not the number of its trades. */
async function countTrades(
  ctx: MutationCtx,
  arm: string,
  signals: readonly Signal[],
  places?: number,
): Promise<void> {
  const count = async (of: { arm: string; scope: Scope }, own: readonly Signal[]) => {
    const trades = own.flatMap((signal) => dayTradeOf(signal) ?? []);
    if (trades.length === 0) return;
    const isOfToken = TOKENS.some((token) => token === of.scope);
    await changeScope(ctx, of, (totals) => {
      return { ...totals, arms: addDayOfTrades(totals.arms, trades, isOfToken ? undefined : places) };
    });
  };
  for (const scope of [...TOKENS, "ALL", ...CUTS] as const) {
    await count(
      { arm, scope },
      signals.filter((signal) => scopesOf({ ...signal, desk: "daily" }).includes(scope)),
    );
  }
  for (const record of new Set(signals.map((signal) => signal.record))) {
    if (record === arm) continue;
    await count(
      { arm: record, scope: "ALL" },
      signals.filter((signal) => signal.record === record),
    );
  }
}

/** Keeps that a day counts. @returns Whether it did not count before. */
async function countDay(ctx: MutationCtx, desk: Asking, day: string): Promise<boolean> {
  const counted = await ctx.db
    .query("signalDays")
    .withIndex("by_desk", (q) => q.eq("desk", desk).eq("day", day))
    .unique();
  if (counted === null) await ctx.db.insert("signalDays", { desk, day });
  return counted === null;
}

/** The most that an arm has in the counted hours of a day. */
const MOST = LAB_TOKENS.length * 24;

/** Adds the oldest day of the lab that is over and not counted yet to what its arms have shown. */
export async function countNextDay(ctx: MutationCtx, now: number): Promise<void> {
  const from = await nextDay(ctx);
  if (from === null || from + DAY > now || (await isOpen(ctx, from))) return;
  const days = await Promise.all(
    (await knownArms(ctx)).map(async ({ arm }) => ({ arm, shadows: await shadowsOf(ctx, arm, from) })),
  );
  const seen = days.filter(({ shadows }) => shadows.length > 0);
  for (const { arm, shadows } of seen) {
    await changeScope(ctx, { arm, scope: "ALL" }, ({ arms: { model, ...others }, ...totals }) => {
      return {
        ...totals,
        arms: { ...others, model: { ...model, days: addArmDay(model.days, shadows) } },
      };
    });
    for (const other of seen) if (other.arm !== arm) await addToPair(ctx, { arm, shadows }, other);
  }
  await countDay(ctx, "lab", dayOf(from));
}

type DayOfArm = { arm: string; shadows: readonly DayShadow[] };

async function addToPair(ctx: MutationCtx, { arm, shadows }: DayOfArm, other: DayOfArm): Promise<void> {
  const against = other.arm;
  const pair = await findPair(ctx, arm, against);
  const days = addPairDay(pair === null ? NO_SEEN : seenIn(pair), shadows, other.shadows);
  if (pair === null) await ctx.db.insert("signalPairs", { arm, against, days });
  else await ctx.db.patch("signalPairs", pair._id, { days, blocks: undefined });
}

/** When the lab's first day begins that has signals and is not counted, epoch ms; `null` without one. */
async function nextDay(ctx: QueryCtx): Promise<number | null> {
  const counted = await ctx.db
    .query("signalDays")
    .withIndex("by_desk", (q) => q.eq("desk", "lab"))
    .order("desc")
    .first();
  const after = counted === null ? 0 : dayStart(counted.day) + DAY;
  const first = await ctx.db
    .query("signals")
    .withIndex("by_desk", (q) => q.eq("desk", "lab").gte("slot", after))
    .first();
  return first === null ? null : Math.floor(first.slot / DAY) * DAY;
}

/** Whether a shadow of the day's counted hours is still open. None can be issued any more: its hour is over. */
async function isOpen(ctx: QueryCtx, from: number): Promise<boolean> {
  const open = await Promise.all(
    LAB_TOKENS.map((token) =>
      ctx.db
        .query("signals")
        .withIndex("by_open", (q) =>
          q
            .eq("desk", "lab")
            .eq("open", true)
            .eq("token", token)
            .gte("generatedAt", from)
            .lt("generatedAt", from + COUNTED_MS),
        )
        .first(),
    ),
  );
  return open.some((one) => one !== null);
}

async function shadowsOf(ctx: QueryCtx, arm: string, from: number): Promise<DayShadow[]> {
  const rows = await ctx.db
    .query("signals")
    .withIndex("by_slot", (q) =>
      q
        .eq("arm", arm)
        .gte("slot", from)
        .lt("slot", from + COUNTED_MS),
    )
    .take(MOST);
  return rows.map(dayShadowOf);
}

function dayShadowOf(row: Doc<"signals">): DayShadow {
  const { slot, token, signal, entry, tp1, tp2, sl, costBps, exitPrice = null, gapMinutes } = row;
  const { inDoubt } = row;
  return {
    slot: `${iso(slot)} ${token}`,
    ...{ signal, entry, tp1, tp2, sl, costBps, exitPrice, gapMinutes, inDoubt },
  };
}
