import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import { recordCronRun } from "../lib/cronRuns";
import { MINUTE } from "../lib/time";
import { userIdByAddress } from "../wallets/owners";
import { CREDIT_BATCH, creditUnmatched, depositsOf, revertDeposit, settleDeposit } from "./depositModel";
import {
  endCheck,
  hintOf,
  isConfirmed,
  startChecks,
  vCheck,
  vFinding,
  vSeenIn,
  waitOn,
  wantsCheck,
  type Check,
  type Mined,
} from "./depositHints";
import { CHECK_LEASE_MS, NEVER } from "./depositPhases";

/** The rows of the deposit webhook: what was named, what the chain says of it, and what came of that. */

const DUE_BATCH = 50;
/** So many transfers of one transaction are credited or taken back in one step. */
const MOVED_TOGETHER = 50;

const vSought = v.object({ ...vCheck.fields, txHash: v.string(), seenIn: v.optional(vSeenIn) });

/**
 * Keeps what a webhook names, and starts a check of all that is not settled yet. A settled one is asked about again when
 * the chain is said to have dropped it, or when it has brought nothing.
 */
export const receive = internalMutation({
  args: { hints: v.array(v.object({ txHash: v.string(), removed: v.boolean() })) },
  returns: v.null(),
  handler: async (ctx, { hints }) => {
    const now = Date.now();
    const checks: Check[] = [];
    for (const { txHash, removed } of hints) {
      const row = await hintOf(ctx, txHash);
      const checking = { state: "checking" as const, nextCheckAt: now + CHECK_LEASE_MS };
      if (row === null) {
        const fresh = { ...checking, txHash, turn: 1, checks: 0, openedAt: now };
        checks.push({ hintId: await ctx.db.insert("depositHints", fresh), turn: 1 });
      } else if (await wantsCheck(ctx, row, removed, now)) {
        const turn = row.turn + 1;
        const reopened = row.state === "settled" ? { openedAt: now, checks: 0, reason: undefined } : {};
        await ctx.db.patch("depositHints", row._id, { ...checking, ...reopened, turn });
        checks.push({ hintId: row._id, turn });
      }
    }
    await startChecks(ctx, checks, 0);
    return null;
  },
});

/** What is left to look for, of the checks given: those that were not overtaken, and where they were seen last. */
export const sought = internalQuery({
  args: { checks: v.array(vCheck) },
  returns: v.array(vSought),
  handler: async (ctx, { checks }): Promise<Infer<typeof vSought>[]> => {
    const all = await Promise.all(
      checks.map(async ({ hintId, turn }) => {
        const hint = await ctx.db.get("depositHints", hintId);
        if (hint === null || hint.turn !== turn) return [];
        const seen = (await depositsOf(ctx, hint.txHash)).find(({ state }) => state !== "reversed");
        if (seen === undefined) return [{ hintId, turn, txHash: hint.txHash }];
        const { blockNumber, blockHash } = seen;
        return [{ hintId, turn, txHash: hint.txHash, seenIn: { blockNumber, blockHash } }];
      }),
    );
    return all.flat();
  },
});

/**
 * Brings a transaction's deposits into line with the chain: takes back what is no longer in it, keeps what is new,
 * credits what is confirmed. Repeating it changes nothing.
 * @returns Whether there is more of the same to do: then call it again.
 */
export const reconcile = internalMutation({
  args: { ...vCheck.fields, finding: vFinding },
  returns: v.boolean(),
  handler: async (ctx, { hintId, turn, finding }) => {
    const hint = await ctx.db.get("depositHints", hintId);
    if (hint === null || hint.turn !== turn) return false;
    const mined = finding.kind === "mined" ? finding : null;
    const rows = await depositsOf(ctx, hint.txHash);
    const inChain = new Map(mined?.transfers.map((transfer) => [transfer.logIndex, transfer]));
    let moves = 0;
    // First of all what is gone: a transfer that moved within its transaction is never credited twice, even for a moment.
    for (const row of rows) {
      const transfer = inChain.get(row.logIndex);
      const same = transfer !== undefined && transfer.from === row.from && transfer.amount === row.amount;
      if (same || row.state === "reversed") continue;
      if (moves++ === MOVED_TOGETHER) return true;
      await revertDeposit(ctx, row);
    }
    if (mined !== null) {
      for (const transfer of mined.transfers) {
        const row = await keep(ctx, hint.txHash, transfer, mined);
        if (row.state !== "pending" || !isConfirmed(mined)) continue;
        if (moves++ === MOVED_TOGETHER) return true;
        await settleDeposit(ctx, row);
      }
    }
    await endCheck(ctx, hint, finding);
    return false;
  },
});

/** The chain could not be asked, or did not say: another look later. */
export const postpone = internalMutation({
  args: { checks: v.array(vCheck) },
  returns: v.null(),
  handler: async (ctx, { checks }) => {
    for (const { hintId, turn } of checks) {
      const hint = await ctx.db.get("depositHints", hintId);
      if (hint === null || hint.turn !== turn) continue;
      if (hint.state === "settled") {
        await ctx.db.patch("depositHints", hintId, { nextCheckAt: Date.now() + MINUTE });
      } else await waitOn(ctx, hint);
    }
    return null;
  },
});

/** Starts every check that is due, and again those that died. */
export const checkDue = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await recordCronRun(ctx, "check named deposits");
    const now = Date.now();
    const due = await ctx.db
      .query("depositHints")
      .withIndex("by_nextCheckAt", (q) => q.lte("nextCheckAt", now))
      .take(DUE_BATCH);
    const checks: Check[] = [];
    for (const row of due) {
      const turn = row.turn + 1;
      await ctx.db.patch("depositHints", row._id, { turn, nextCheckAt: now + CHECK_LEASE_MS });
      checks.push({ hintId: row._id, turn });
    }
    await startChecks(ctx, checks, 0);
    if (due.length === DUE_BATCH) await ctx.scheduler.runAfter(0, internal.payments.deposits.checkDue, {});
    return null;
  },
});

/** Looks for the users of unmatched deposits. */
export const matchDue = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await recordCronRun(ctx, "match deposits to users");
    const due = await ctx.db
      .query("deposits")
      .withIndex("by_nextMatchAt", (q) => q.lte("nextMatchAt", Date.now()))
      .take(CREDIT_BATCH);
    for (const row of due) await settleDeposit(ctx, row);
    if (due.length === CREDIT_BATCH) {
      await ctx.scheduler.runAfter(0, internal.payments.deposits.matchDue, {});
    }
    return null;
  },
});

/** Credits what came from an address before it was linked. To be scheduled by whoever links it. */
export const creditAddress = internalMutation({
  args: { address: v.string() },
  returns: v.null(),
  handler: async (ctx, { address }) => {
    const userId = await userIdByAddress(ctx, address);
    if (userId === null) return null;
    if ((await creditUnmatched(ctx, address, userId)) === CREDIT_BATCH) {
      await ctx.scheduler.runAfter(0, internal.payments.deposits.creditAddress, { address });
    }
    return null;
  },
});

/** The deposit of a transfer, as it is in its block now. */
async function keep(
  ctx: MutationCtx,
  txHash: string,
  transfer: Mined["transfers"][number],
  { blockNumber, blockHash }: Mined,
): Promise<Doc<"deposits">> {
  const before = await ctx.db
    .query("deposits")
    .withIndex("by_transfer", (q) => q.eq("txHash", txHash).eq("logIndex", transfer.logIndex))
    .unique();
  if (before !== null && before.state !== "reversed") {
    if (before.blockHash !== blockHash)
      await ctx.db.patch("deposits", before._id, { blockNumber, blockHash });
    return before;
  }
  const fresh = {
    txHash,
    ...transfer,
    blockNumber,
    blockHash,
    state: "pending" as const,
    creditings: before?.creditings ?? 0,
    seenAt: Date.now(),
    nextMatchAt: NEVER,
  };
  if (before !== null) await ctx.db.replace("deposits", before._id, fresh);
  const id = before?._id ?? (await ctx.db.insert("deposits", fresh));
  const row = await ctx.db.get("deposits", id);
  if (row === null) throw new Error("The deposit was just written");
  return row;
}
