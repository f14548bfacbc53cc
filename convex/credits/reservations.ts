import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { balanceOf, creditsForTokens, deduct, entryWith, refund } from "./model";

/**
 * Credits of an agent run: `reserve` takes the estimate before the model is asked, `settle` replaces it by the real
 * cost, `release` returns all of it. Each is a step of the caller's transaction; a run is reserved once and ends once,
 * by one further row of the ledger.
 */

type Run = { runId: string; userId: string; agentId: string };
type Row = Doc<"creditTransactions">;

const reserveKey = (runId: string) => `run:${runId}:reserve`;
const endKey = (runId: string) => `run:${runId}:end`;

/**
 * Reserves credits for a run.
 * @param estimate The most it should cost, in credits.
 * @throws AppError `payment_required` if the balance does not cover it.
 */
export async function reserve(ctx: MutationCtx, run: Run, estimate: number): Promise<void> {
  const { runId, userId, agentId } = run;
  await deduct(ctx, { userId, agentId, source: "agent_run", amount: estimate, key: reserveKey(runId) });
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
  const { held, end } = await rowsOf(ctx, runId);
  if (end !== null) return held.amount + (end.type === "deduction" ? end.amount : -end.amount);
  const { userId, agentId = "", amount } = held;
  const price = creditsForTokens(used.tokensUsed);
  const row = { userId, agentId, source: "agent_run" as const, key: endKey(runId), ...used };
  if (price < amount) {
    await refund(ctx, { ...row, amount: amount - price });
    return price;
  }
  // A gateway that reports an impossible usage must not take everything a user has.
  const more = Math.min(await balanceOf(ctx, userId), price - amount, Math.ceil(amount / 2));
  // Zero, too: the ledger records the usage.
  await deduct(ctx, { ...row, amount: more });
  return amount + more;
}

/** Ends a run that failed: all of it is returned. */
export async function release(ctx: MutationCtx, runId: string): Promise<void> {
  const { held, end } = await rowsOf(ctx, runId);
  if (end !== null) return;
  const { userId, agentId = "", amount } = held;
  await refund(ctx, { userId, agentId, source: "agent_run", amount, key: endKey(runId) });
}

async function rowsOf(ctx: QueryCtx, runId: string): Promise<{ held: Row; end: Row | null }> {
  const held = await entryWith(ctx, reserveKey(runId));
  if (held === null) throw new Error("A run is settled before its credits were reserved");
  return { held, end: await entryWith(ctx, endKey(runId)) };
}
