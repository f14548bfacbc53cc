import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { getSetting } from "../lib/env";
import { AppError } from "../lib/errors";

/**
 * The ledger, append-only. Each function is one step of the caller's transaction. The newest row has the balance. Keys are
 * unique, so every step is idempotent. Amounts are whole credits.
 */

type Entry = Pick<
  Doc<"creditTransactions">,
  "userId" | "type" | "amount" | "source" | "key" | "model" | "tokensUsed" | "agentId"
>;

type Deposit = { userId: string; amount: number; key: string; source: "usdc" | "arcade" };
type Deduction = Omit<Entry, "type" | "source"> & { source: "agent_run" | "report" };

/** Whether a user has any ledger entry. */
export async function hasLedger(ctx: QueryCtx, userId: string): Promise<boolean> {
  return (await findNewestEntry(ctx, userId)) !== null;
}

/** A user's balance. */
export async function getCreditBalance(ctx: QueryCtx, userId: string): Promise<number> {
  return (await findNewestEntry(ctx, userId))?.balanceAfter ?? 0;
}

/**
 * Credits a deposit, once per key. Zero credits (a transfer below the smallest credit) leave no row.
 * @returns Whether this call credited it.
 */
export async function creditDeposit(ctx: MutationCtx, deposit: Deposit): Promise<boolean> {
  return deposit.amount !== 0 && append(ctx, { ...deposit, type: "deposit" });
}

/** The user of a deposit; `null` if no deposit has this key. */
export async function findDepositor(ctx: QueryCtx, key: string): Promise<string | null> {
  const row = await findEntry(ctx, key);
  return row?.type === "deposit" ? row.userId : null;
}

/**
 * Spends credits, once per key.
 * @returns Whether this call spent them.
 * @throws AppError `payment_required` if the balance does not cover the amount; nothing is deducted then.
 */
export async function deduct(ctx: MutationCtx, deduction: Deduction): Promise<boolean> {
  return append(ctx, { ...deduction, type: "deduction" });
}

async function append(ctx: MutationCtx, entry: Entry): Promise<boolean> {
  const { userId, type, amount, key } = entry;
  const written = await findEntry(ctx, key);
  if (written !== null && (written.userId !== userId || written.type !== type))
    throw new AppError("conflict", "This ledger key belongs to another transaction");
  if (written !== null) return false;
  // A row with zero credits records the usage of a run.
  const least = entry.tokensUsed === undefined ? 1 : 0;
  if (!Number.isSafeInteger(amount) || amount < least)
    throw new Error("Credits must be a positive whole number");
  const newest = await findNewestEntry(ctx, userId);
  const balance = newest?.balanceAfter ?? 0;
  const balanceAfter = balance + (type === "deduction" ? -amount : amount);
  if (balanceAfter < 0)
    throw new AppError(
      "payment_required",
      `This costs ${amount} credits and the balance is ${balance}: deposit USDC for more credits`,
    );
  const sequence = (newest?.sequence ?? 0) + 1;
  await ctx.db.insert("creditTransactions", { ...entry, sequence, balanceAfter, at: Date.now() });
  return true;
}

async function findEntry(ctx: QueryCtx, key: string): Promise<Doc<"creditTransactions"> | null> {
  return getOneFrom(ctx.db, "creditTransactions", "by_key", key);
}

async function findNewestEntry(ctx: QueryCtx, userId: string): Promise<Doc<"creditTransactions"> | null> {
  return ctx.db
    .query("creditTransactions")
    .withIndex("by_userId_and_sequence", (q) => q.eq("userId", userId))
    .order("desc")
    .first();
}

/** USDC has six decimals. */
const MICRO_USDC_PER_USDC = 1_000_000n;

/** Whole credits for one USDC. */
export function getCreditsPerUsdc(): number {
  return Number(getSetting("CREDITS_PER_USDC"));
}

/**
 * The credits that a transfer buys, floored.
 * @param amountUsdc In USDC's smallest unit, 0.000001.
 */
export function toCredits(amountUsdc: bigint): number {
  const credits = (amountUsdc * BigInt(getCreditsPerUsdc())) / MICRO_USDC_PER_USDC;
  if (credits > BigInt(Number.MAX_SAFE_INTEGER)) throw new Error("The transfer is larger than any can be");
  return Number(credits);
}

/** The cost of a run: 1 credit per started TOKENS_PER_CREDIT tokens, at least 1. */
export function toTokenCredits(tokens: number): number {
  return Math.max(1, Math.ceil(tokens / Number(getSetting("TOKENS_PER_CREDIT"))));
}

/**
 * Credits of an agent run, as steps of its mutations: `reserve` before the model is called; then `settleRun` refunds the
 * unused part, or `release` all of it. A run has one reservation and one refund.
 */

type Run = { runId: string; userId: string; agentId: string };

const reserveKey = (runId: string) => `run:${runId}:reserve`;
const endKey = (runId: string) => `run:${runId}:end`;

/**
 * Reserves credits for a run.
 * @param estimate The maximum cost, in credits.
 * @throws AppError `payment_required` if the balance does not cover it.
 */
export async function reserve(ctx: MutationCtx, run: Run, estimate: number): Promise<void> {
  const { runId, userId, agentId } = run;
  await deduct(ctx, { userId, agentId, source: "agent_run", amount: estimate, key: reserveKey(runId) });
}

/** Ends an answered run. @returns Its cost in credits: that of its tokens, at most the reservation. */
export async function settleRun(
  ctx: MutationCtx,
  runId: string,
  used: { model: string; tokensUsed: number },
): Promise<number> {
  return endRun(ctx, runId, toTokenCredits(used.tokensUsed), used);
}

/** Ends a failed run. */
export async function release(ctx: MutationCtx, runId: string): Promise<void> {
  await endRun(ctx, runId, 0);
}

async function endRun(
  ctx: MutationCtx,
  runId: string,
  price: number,
  used: { model?: string; tokensUsed?: number } = {},
): Promise<number> {
  const held = await findEntry(ctx, reserveKey(runId));
  if (held === null) throw new Error("A run has ended before its credits were reserved");
  const key = endKey(runId);
  const ended = await findEntry(ctx, key);
  if (ended !== null) return held.amount - ended.amount;
  const { userId, agentId = "", source } = held;
  const amount = Math.max(0, held.amount - price);
  await append(ctx, { userId, agentId, source, type: "refund", amount, key, ...used });
  return held.amount - amount;
}
