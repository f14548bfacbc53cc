import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { DAY, dayOf, HOUR } from "../../lib/time";
import { changeTotals, CUTS, findRun, scopesOf, signalsOfDay } from "../record/model";
import { DAILY, type Scope, type Signal } from "../record/rows";
import { addArmDay, addDayOfTrades, addPairDay, COUNTED_MS, NO_SEEN, seenIn } from "../statistics/days";
import { dayTradeOf } from "../trade/controls";
import { LAB_TOKENS, TOKENS } from "../trade/rules";
import { knownArms, rivalsOf } from "./arms";

/**
 * Days as the inference counts them: each day once, when all its signals have ended. Until then it is a row of
 * `openDays`.
 */

/** The arms of the lab share their days under this name, because they are compared with one another. */
export const LAB = "lab";

/**
 * Stores that a day has to be counted; a second call changes nothing.
 * @param dueAt When it is checked first; if left out, the code that ends its signals checks it.
 */
export async function noteDay(ctx: MutationCtx, arm: string, slot: number, dueAt?: number): Promise<void> {
  if ((await findDay(ctx, arm, slot)) !== null) return;
  await ctx.db.insert("openDays", { arm, slot, ...(dueAt === undefined ? {} : { dueAt }) });
}

async function findDay(ctx: QueryCtx, arm: string, slot: number): Promise<Doc<"openDays"> | null> {
  return ctx.db
    .query("openDays")
    .withIndex("by_arm", (q) => q.eq("arm", arm).eq("slot", slot))
    .unique();
}

/** More than an arm can have, because a day has ended a day after its last signal. */
const MOST_OPEN = 10;

/** Which days of an arm's signals its totals count, `2026-01-05`. */
export async function countedDays(ctx: QueryCtx, arm: string, signals: readonly Signal[]): Promise<string[]> {
  const open = await ctx.db
    .query("openDays")
    .withIndex("by_arm", (q) => q.eq("arm", arm))
    .order("desc")
    .take(MOST_OPEN);
  const days = new Set(signals.map(({ slot }) => slot));
  for (const { slot } of open) days.delete(slot);
  return [...days].map(dayOf);
}

/**
 * Adds a day of the daily signals to the totals once nothing of it is open. Everything that ends a signal, a comparison
 * or a run calls it. Until then only the signals that end early would count, and these are not a fair sample.
 */
export async function completeDay(ctx: MutationCtx, slot: number): Promise<void> {
  const day = await findDay(ctx, DAILY, slot);
  const runs = await Promise.all(TOKENS.map((token) => findRun(ctx, { arm: DAILY, slot, token })));
  if (day === null || runs.some((run) => run?.state === "writing")) return;
  await countDay(ctx, day);
}

/** How many days of people's arms are checked in one transaction. */
const LOOKED_AT = 50;
/** A day whose trades have not ended is checked again after this time. */
const AGAIN_MS = HOUR;

/**
 * Adds those days of people's arms that are over and have nothing open to their totals, as many as one transaction may
 * check.
 */
export async function countOpenDays(ctx: MutationCtx, now: number): Promise<void> {
  const due = await ctx.db
    .query("openDays")
    .withIndex("by_dueAt", (q) => q.gt("dueAt", 0).lte("dueAt", now))
    .take(LOOKED_AT);
  for (const day of due) {
    // A person who has seen how one trade ended could leave the other out. So each token has an equal part of the
    // day, traded or not.
    const isCounted = await countDay(ctx, day, TOKENS.length);
    if (!isCounted) await ctx.db.patch("openDays", day._id, { dueAt: now + AGAIN_MS });
  }
  if (due.length === LOOKED_AT)
    await ctx.scheduler.runAfter(0, internal.signals.outcomes.tracker.countPeople, {});
}

/**
 * Adds a day's trades to their arm's totals, unless one of them is open.
 * @param places The number by which the day of all tokens is divided, if it is not the number of its trades.
 * @returns Whether it is counted.
 */
async function countDay(
  ctx: MutationCtx,
  { _id, arm, slot }: Doc<"openDays">,
  places?: number,
): Promise<boolean> {
  const signals = await signalsOfDay(ctx, dayOf(slot), arm);
  if (signals.some((signal) => signal.open)) return false;
  const count = async (of: string, scope: Scope, own: readonly Signal[]) => {
    const trades = own.flatMap((signal) => dayTradeOf(signal) ?? []);
    const shared = TOKENS.some((token) => token === scope) ? undefined : places;
    if (trades.length === 0) return;
    await changeTotals(ctx, { arm: of, scopes: [scope] }, (totals) => {
      return { ...totals, arms: addDayOfTrades(totals.arms, trades, shared) };
    });
  };
  for (const scope of [...TOKENS, "ALL", ...CUTS] as const) {
    const own = signals.filter((signal) => scopesOf(signal).includes(scope));
    await count(arm, scope, own);
  }
  for (const record of new Set(signals.map((signal) => signal.record))) {
    const own = signals.filter((signal) => signal.record === record);
    if (record !== arm) await count(record, "ALL", own);
  }
  await ctx.db.delete("openDays", _id);
  return true;
}

/** The most signals that an arm has in the counted hours of a day. */
const MOST = LAB_TOKENS.length * 24;

/** Adds the oldest day of the lab that is over to the results of its arms. */
export async function countNextDay(ctx: MutationCtx, now: number): Promise<void> {
  const day = await ctx.db
    .query("openDays")
    .withIndex("by_arm", (q) => q.eq("arm", LAB))
    .first();
  if (day === null || day.slot + DAY > now || (await isOpen(ctx, day.slot))) return;
  const days = await Promise.all(
    (await knownArms(ctx)).map(async ({ arm }) => ({ arm, shadows: await shadowsOf(ctx, arm, day.slot) })),
  );
  const seen = days.filter(({ shadows }) => shadows.length > 0);
  for (const { arm, shadows } of seen) {
    await changeTotals(ctx, { arm, scopes: ["ALL"] }, ({ arms: { model, ...others }, ...totals }) => {
      return {
        ...totals,
        arms: { ...others, model: { ...model, days: addArmDay(model.days, shadows) } },
      };
    });
    const pairs = await rivalsOf(ctx, arm);
    for (const rival of seen.filter((other) => other.arm !== arm)) {
      const pair = pairs.find((one) => one.arm === rival.arm);
      const sums = addPairDay(pair === undefined ? NO_SEEN : seenIn(pair), rival.shadows, shadows);
      if (pair === undefined)
        await ctx.db.insert("signalPairs", { arm: rival.arm, against: arm, days: sums });
      else await ctx.db.patch("signalPairs", pair._id, { days: sums, blocks: undefined });
    }
  }
  await ctx.db.delete("openDays", day._id);
}

/** Whether a shadow of the day's counted hours is still open. No more can be issued, because their hours are over. */
async function isOpen(ctx: QueryCtx, from: number): Promise<boolean> {
  const open = await Promise.all(
    LAB_TOKENS.map((token) =>
      ctx.db
        .query("signals")
        .withIndex("by_open", (q) => {
          const ofToken = q.eq("desk", "lab").eq("open", true).eq("token", token);
          return ofToken.gte("generatedAt", from).lt("generatedAt", from + COUNTED_MS);
        })
        .first(),
    ),
  );
  return open.some((one) => one !== null);
}

async function shadowsOf(ctx: QueryCtx, arm: string, from: number) {
  const rows = await ctx.db
    .query("signals")
    .withIndex("by_slot", (q) =>
      q
        .eq("arm", arm)
        .gte("slot", from)
        .lt("slot", from + COUNTED_MS),
    )
    .take(MOST);
  return rows.map((row) => ({ ...row, exitPrice: row.exitPrice ?? null }));
}
