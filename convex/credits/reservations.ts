import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { deduct, refund, standingOf } from "./model";
import { creditsForTokens } from "./rates";

/**
 * Credits of an agent run: `reserve` takes the estimate before the model is asked, `settle` replaces it by the real
 * cost, `release` returns all of it. Each is a step of the caller's transaction; a run is reserved once and ends once.
 */

const SOURCE = { source: "agent_run" } as const;

type Run = { runId: string; userId: string; agentId: string };

/**
 * Reserves credits for a run.
 * @param estimate The most it should cost, in credits.
 * @throws AppError `payment_required` if the balance does not cover it.
 */
export async function reserve(ctx: MutationCtx, run: Run, estimate: number): Promise<void> {
  if ((await getOneFrom(ctx.db, "creditReservations", "by_runId", run.runId)) !== null) return;
  const { runId, userId, agentId } = run;
  await deduct(ctx, { ...SOURCE, userId, amount: estimate, key: `run:${runId}:reserve`, agentId });
  await ctx.db.insert("creditReservations", { runId, userId, agentId, amount: estimate, state: "held" });
}

/**
 * Ends a run that answered: unused credits are returned; usage beyond the estimate is taken as far as the balance goes,
 * up to half of the estimate more.
 * @returns The run's cost to the user, in credits.
 */
export async function settle(
  ctx: MutationCtx,
  runId: string,
  used: { model: string; tokensUsed: number },
): Promise<number> {
  const reservation = await required(ctx, runId);
  if (reservation.state !== "held") return reservation.cost ?? 0;
  const { userId, agentId, amount } = reservation;
  const price = creditsForTokens(used.tokensUsed);
  let cost = price;
  if (price < amount) {
    await refund(ctx, {
      ...SOURCE,
      userId,
      agentId,
      amount: amount - price,
      key: `run:${runId}:refund`,
      ...used,
    });
  } else if (price > amount) {
    const { balance } = await standingOf(ctx, userId);
    // A gateway that reports an impossible usage must not take everything a user has.
    const more = Math.min(balance, price - amount, Math.ceil(amount / 2));
    cost = amount + more;
    if (more > 0)
      await deduct(ctx, { ...SOURCE, userId, agentId, amount: more, key: `run:${runId}:more`, ...used });
  }
  if (price >= amount && cost === amount) {
    // Nothing moves, but the ledger records the usage.
    await deduct(ctx, { ...SOURCE, userId, agentId, amount: 0, key: `run:${runId}:used`, ...used });
  }
  await ctx.db.patch("creditReservations", reservation._id, { state: "settled", cost });
  return cost;
}

/** Ends a run that failed: all of it is returned. */
export async function release(ctx: MutationCtx, runId: string): Promise<void> {
  const reservation = await required(ctx, runId);
  if (reservation.state !== "held") return;
  const { userId, agentId, amount } = reservation;
  await refund(ctx, { ...SOURCE, userId, agentId, amount, key: `run:${runId}:refund` });
  await ctx.db.patch("creditReservations", reservation._id, { state: "refunded", cost: 0 });
}

async function required(ctx: QueryCtx, runId: string): Promise<Doc<"creditReservations">> {
  const reservation = await getOneFrom(ctx.db, "creditReservations", "by_runId", runId);
  if (reservation === null) throw new Error("A run is settled before its credits were reserved");
  return reservation;
}
