import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { change } from "../changes";
import { addTo, countFor, mayHave } from "../limits/shares";
import { addSpent, anyShard, SHARDS, spentOn, type Share } from "../outside/expenses";
import { keepNoted, vNoted } from "../outside/tallies";
import { vBilled, vPayer, vPayingClass, vPrepaid } from "../tables";
import { dayOf } from "../time";
import { named, partOf, poolOf, refusal, type Billed, type Payer } from "./classes";

/**
 * The day's budget: `DAILY_BUDGET_USD` for each provider that bills. Money is held before each call and settled by its
 * usage afterwards. Amounts are in millionths of a USD; days are UTC.
 *
 * Strangers and signed-in users have a share each; each caller may have a tenth of what is left in it
 * (`lib/limits/shares`). The rest is kept for the service's own work, which the clock bounds, and for paid reports,
 * which pay for themselves. Neither is ever refused. The signals' shadow arms may take at most half of that rest,
 * because nobody waits for them.
 */

/** Money that was paid in advance and is not used up. */
export type Prepaid = Infer<typeof vPrepaid>;

const vAmount = { payer: vPayer, provider: vBilled, micros: v.number() };
const vHeld = v.object({ day: v.string(), shard: v.number() });
const vShare = { day: v.string(), payer: vPayingClass, provider: vBilled };

/** Holds a call's greatest cost in its payer's share. @throws AppError `rate_limited` */
export const hold = internalMutation({
  args: vAmount,
  returns: vHeld,
  handler: async (ctx, amount) => {
    const day = dayOf(Date.now());
    return { day, shard: await take(ctx, day, amount) };
  },
});

export const settle = change(
  { ...vAmount, ...vHeld.fields, noted: vNoted },
  async (ctx, { micros, payer, noted, ...reservation }) => {
    await settleNow(ctx, payer, reservation, micros);
    await keepNoted(ctx, noted);
  },
);

async function settleNow(
  ctx: MutationCtx,
  payer: Payer,
  reservation: { day: string; shard: number; provider: Billed },
  micros: number,
): Promise<void> {
  const { class: of, holders } = named(payer);
  const cell = { ...reservation, payer: of };
  await addSpent(ctx, cell, micros);
  await addTo(ctx, poolOf(cell), holders, micros);
}

/** What is left of a share of the day; negative if a call cost more than was held for it. */
export const left = internalQuery({
  args: vShare,
  returns: v.number(),
  handler: async (ctx, share) => sum(await roomsOf(ctx, share)),
});

/**
 * Refuses a payer whose share of the model gateway's budget is used up, before any work begins for it.
 * @throws AppError `rate_limited`, with the time at which the budget is restored.
 */
export async function refuseBeyond(ctx: MutationCtx, payer: Payer): Promise<void> {
  const { class: of, holders } = named(payer);
  const share = { day: dayOf(Date.now()), payer: of, provider: "llm" as const };
  if (partOf(of) === Infinity) return;
  const own = await spentOn(ctx, { ...share, shard: anyShard() });
  if (own >= partOf(of) && sum(await roomsOf(ctx, share)) <= 0) throw refusal(share, "class");
  if (holders.length === 0) return;
  if (!(await mayHave(ctx, poolOf(share), holders, 1, await leftLately(ctx, share))))
    throw refusal(share, "caller");
}

/** Takes the cost of long work out of its starter's share in advance, all or nothing. @throws AppError `rate_limited` */
export const prepay = internalMutation({
  args: { payer: vPayer, amounts: vPrepaid.omit("day") },
  returns: vPrepaid,
  handler: async (ctx, { payer, amounts }) => {
    const day = dayOf(Date.now());
    for (const provider of ["llm", "sentiment"] as const)
      await take(ctx, day, { payer, provider, micros: amounts[provider] });
    return { day, ...amounts };
  },
});

/** Returns the unused part of a prepayment. A prepayment from an earlier day's budget is lost with that day. */
export async function giveBack(ctx: MutationCtx, payer: Payer, { day, ...rest }: Prepaid): Promise<void> {
  if (day !== dayOf(Date.now())) return;
  for (const provider of ["llm", "sentiment"] as const)
    if (rest[provider] > 0)
      await settleNow(ctx, payer, { day, provider, shard: anyShard() }, -rest[provider]);
}

/**
 * Takes an amount out of a share (out of one row's part if it fits, else out of the remainder of all rows) and out of
 * its payer's part of it.
 * @returns The row on which it is settled.
 * @throws AppError `rate_limited` when not enough is left.
 */
async function take(
  ctx: MutationCtx,
  day: string,
  { micros, payer, provider }: { payer: Payer; provider: Billed; micros: number },
): Promise<number> {
  const { class: of, holders } = named(payer);
  const share = { day, payer: of, provider };
  const shard = await takeFrom(ctx, share, micros);
  if (holders.length === 0) return shard;
  const leftNow = await leftLately(ctx, share);
  if (!(await countFor(ctx, poolOf(share), holders, micros, leftNow))) throw refusal(share, "caller");
  return shard;
}

async function takeFrom(ctx: MutationCtx, share: Share, micros: number): Promise<number> {
  const shard = anyShard();
  const cell = { ...share, shard };
  if ((await spentOn(ctx, cell)) + micros <= partOf(share.payer)) {
    await addSpent(ctx, cell, micros);
    return shard;
  }
  const rooms = await roomsOf(ctx, share);
  if (sum(rooms) < micros) throw refusal(share, "class");
  let rest = micros;
  for (const [other, room] of rooms.entries()) {
    const some = Math.min(rest, Math.max(0, room));
    if (some > 0) await addSpent(ctx, { ...share, shard: other }, some);
    rest -= some;
  }
  return shard;
}

/** What is left of a share, from a snapshot that may be a moment old: a current read would make all spenders conflict. */
async function leftLately(ctx: MutationCtx, share: Share): Promise<number> {
  return ctx.runQuery(internal.lib.budget.ledger.left, share, { useStaleSnapshot: true });
}

/**
 * What each row's part of a share has left; the parts are equal, and all rows are read only if one is not enough.
 * Negative if a call cost more than was held for it.
 */
async function roomsOf(ctx: QueryCtx, { day, payer, provider }: Share): Promise<number[]> {
  const rows = await ctx.db
    .query("spending")
    .withIndex("by_day", (q) => q.eq("day", day).eq("payer", payer).eq("provider", provider))
    .take(SHARDS);
  const used = new Map(rows.map(({ shard, micros }) => [shard, micros]));
  return Array.from({ length: SHARDS }, (_, shard) => partOf(payer) - (used.get(shard) ?? 0));
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
