import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import type { Standing } from "./tables";

/**
 * The ledger. Each function is one step of the caller's transaction: it appends rows and changes the balance with them,
 * so that the sum of a user's rows is always the balance. A key is written once: repeating a step changes nothing.
 * Amounts are whole credits.
 */

type Entry = Pick<
  Doc<"creditTransactions">,
  "userId" | "type" | "amount" | "source" | "key" | "model" | "tokensUsed" | "agentId"
>;

export type Deposit = { userId: string; amount: number; key: string; source: "usdc" | "arcade" };
export type Deduction = Pick<Entry, "userId" | "amount" | "key" | "agentId" | "model" | "tokensUsed"> & {
  /** What the credits are spent on. */
  source: "agent_run" | "report";
};

/** Whether anything was ever written to a user's ledger. */
export async function hasLedger(ctx: QueryCtx, userId: string): Promise<boolean> {
  return (await balanceRow(ctx, userId)) !== null;
}

/** A user's balance; all zeros for a user without rows. */
export async function standingOf(ctx: QueryCtx, userId: string): Promise<Standing> {
  const row = await balanceRow(ctx, userId);
  return { balance: row?.balance ?? 0, owed: row?.owed ?? 0, transactions: row?.transactions ?? 0 };
}

/**
 * Credits a deposit, once per key; the user's debt is taken from it immediately, as a row of its own. Zero credits (a
 * transfer below the smallest credit) leave no row. A reversed deposit is not credited again under the same key.
 * @returns The balance afterwards, and whether this call credited it.
 */
export async function creditDeposit(
  ctx: MutationCtx,
  deposit: Deposit,
): Promise<Standing & { credited: boolean }> {
  const written = await findEntry(ctx, deposit.key, { userId: deposit.userId, type: "deposit" });
  if (written !== null || deposit.amount === 0) {
    return { ...(await standingOf(ctx, deposit.userId)), credited: false };
  }
  return { ...(await bringIn(ctx, { ...deposit, type: "deposit" })), credited: true };
}

/** The user to whom a deposit was credited; `null` if there is none under this key. */
export async function depositor(ctx: QueryCtx, key: string): Promise<string | null> {
  const row = await entryWith(ctx, key);
  return row?.type === "deposit" ? row.userId : null;
}

/**
 * Reverses a deposit, once: takes what is there now, and the rest from later income.
 * @param key The deposit's key.
 * @returns What was taken and what is owed; zeros if there is no such deposit or it was reversed before.
 */
export async function reverseDeposit(
  ctx: MutationCtx,
  { key }: { key: string },
): Promise<{ taken: number; owed: number }> {
  const deposit = await entryWith(ctx, key);
  const reversed = await getOneFrom(ctx.db, "creditReversals", "by_key", key);
  if (deposit === null || deposit.type !== "deposit" || reversed !== null) return { taken: 0, owed: 0 };
  const { userId, amount } = deposit;
  await ctx.db.insert("creditReversals", { key, userId, amount, at: Date.now() });
  const { balance } = await standingOf(ctx, userId);
  const taken = Math.min(balance, amount);
  await addOwed(ctx, userId, amount);
  if (taken > 0) await payOwed(ctx, { userId, key: `${key}:reversal`, amount: taken });
  return { taken, owed: amount - taken };
}

/** Spends credits, once per key. @throws AppError `payment_required` if the balance does not cover it; nothing is taken then. */
export async function deduct(ctx: MutationCtx, deduction: Deduction): Promise<Standing> {
  const { userId, amount, key } = deduction;
  if ((await findEntry(ctx, key, { userId, type: "deduction" })) !== null) return standingOf(ctx, userId);
  const { balance } = await standingOf(ctx, userId);
  if (balance < amount) {
    throw new AppError("payment_required", `This takes ${amount} credits and the balance is ${balance}`);
  }
  return append(ctx, { ...deduction, type: "deduction" });
}

/** Refunds credits of a deduction, once per key; the user's debt is taken from them as from a deposit. */
export async function refund(ctx: MutationCtx, given: Deduction): Promise<Standing> {
  const { userId, key } = given;
  if ((await findEntry(ctx, key, { userId, type: "refund" })) !== null) return standingOf(ctx, userId);
  return bringIn(ctx, { ...given, type: "refund" });
}

async function bringIn(ctx: MutationCtx, entry: Entry): Promise<Standing> {
  const { userId, amount, key } = entry;
  const standing = await append(ctx, entry);
  const netted = Math.min(standing.owed, amount);
  return netted === 0 ? standing : payOwed(ctx, { userId, key: `${key}:owed`, amount: netted });
}

async function payOwed(
  ctx: MutationCtx,
  payment: Pick<Entry, "userId" | "key" | "amount">,
): Promise<Standing> {
  return append(ctx, { ...payment, type: "deduction", source: "reversal" });
}

/** Appends one row and changes the balance with it. */
async function append(ctx: MutationCtx, entry: Entry): Promise<Standing> {
  const { userId, type, amount, source } = entry;
  // A row with zero credits records the usage of a run.
  const least = entry.tokensUsed === undefined ? 1 : 0;
  if (!Number.isSafeInteger(amount) || amount < least)
    throw new Error("Credits must be a positive whole number");
  const before = await standingOf(ctx, userId);
  const after = {
    balance: before.balance + (type === "deduction" ? -amount : amount),
    owed: before.owed - (source === "reversal" ? amount : 0),
    transactions: before.transactions + 1,
  };
  if (after.balance < 0 || after.owed < 0) throw new Error("The ledger would go below zero");
  await ctx.db.insert("creditTransactions", {
    ...entry,
    sequence: after.transactions,
    balanceAfter: after.balance,
    owedAfter: after.owed,
    at: Date.now(),
  });
  await keepStanding(ctx, userId, after);
  return after;
}

async function addOwed(ctx: MutationCtx, userId: string, amount: number): Promise<void> {
  const before = await standingOf(ctx, userId);
  await keepStanding(ctx, userId, { ...before, owed: before.owed + amount });
}

async function keepStanding(ctx: MutationCtx, userId: string, standing: Standing): Promise<void> {
  const row = await balanceRow(ctx, userId);
  if (row === null) await ctx.db.insert("creditBalances", { userId, ...standing });
  else await ctx.db.replace("creditBalances", row._id, { userId, ...standing });
}

/** The row under a key, which must be from the same step of the same user. */
async function findEntry(
  ctx: QueryCtx,
  key: string,
  same: Pick<Entry, "userId" | "type">,
): Promise<Doc<"creditTransactions"> | null> {
  const row = await entryWith(ctx, key);
  if (row !== null && (row.userId !== same.userId || row.type !== same.type)) {
    throw new AppError("conflict", "This ledger key belongs to another transaction");
  }
  return row;
}

async function entryWith(ctx: QueryCtx, key: string): Promise<Doc<"creditTransactions"> | null> {
  return getOneFrom(ctx.db, "creditTransactions", "by_key", key);
}

async function balanceRow(ctx: QueryCtx, userId: string): Promise<Doc<"creditBalances"> | null> {
  return getOneFrom(ctx.db, "creditBalances", "by_userId", userId);
}
