import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import { recordCronRun } from "../lib/cronRuns";
import { optional } from "../lib/env";
import { charge, vCaller } from "../lib/limits";
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
/** So many transfers of one transaction are looked at or taken back in one step. */
const MOVED_TOGETHER = 50;

const vSought = v.object({ ...vCheck.fields, txHash: v.string(), seenIn: v.optional(vSeenIn) });

/**
 * Keeps what a webhook names, and starts a check of all that is not settled yet. A settled one is asked about again when
 * the chain is said to have dropped it, or when it has brought nothing.
 * @throws AppError `rate_limited` when a caller who need not sign names too much that was never named before: each costs
 * a row and questions to the chain.
 */
export const receive = internalMutation({
  args: { hints: v.array(v.object({ txHash: v.string(), removed: v.boolean() })), caller: vCaller },
  returns: v.null(),
  handler: async (ctx, { hints, caller }) => {
    const now = Date.now();
    const checks: Check[] = [];
    let unheardOf = 0;
    for (const { txHash, removed } of hints) {
      const row = await hintOf(ctx, txHash);
      const checking = { state: "checking" as const, nextCheckAt: now + CHECK_LEASE_MS };
      if (row === null) {
        unheardOf++;
        const fresh = { ...checking, txHash, turn: 1, checks: 0, openedAt: now };
        checks.push({ hintId: await ctx.db.insert("depositHints", fresh), turn: 1 });
      } else if (await wantsCheck(ctx, row, removed, now)) {
        const turn = row.turn + 1;
        const reopened = row.state === "settled" ? { openedAt: now, checks: 0, reason: undefined } : {};
        await ctx.db.patch("depositHints", row._id, { ...checking, ...reopened, turn });
        checks.push({ hintId: row._id, turn });
      }
    }
    if (unheardOf > 0 && optional("DEPOSIT_WEBHOOK_SECRET") === undefined) {
      await charge(ctx, "newDeposit", caller, unheardOf);
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
 * Brings a transaction's deposits into line with the chain, a piece at a time: takes back what is no longer in it, keeps
 * what is new, credits what is confirmed. Repeating it changes nothing.
 * @param next Where the piece before has left off; absent for the first one.
 * @returns Where this one has left off: call it again with that, until it is `null`.
 */
export const reconcile = internalMutation({
  args: { ...vCheck.fields, finding: vFinding, next: v.optional(v.number()) },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { hintId, turn, finding, next = 0 }) => {
    const hint = await ctx.db.get("depositHints", hintId);
    if (hint === null || hint.turn !== turn) return null;
    const transfers = finding.kind === "mined" ? finding.transfers : [];
    // First of all what is gone: nothing is ever credited twice, even for a moment.
    if (next === 0 && !(await takeBack(ctx, hint.txHash, transfers))) return 0;
    if (finding.kind === "mined") {
      const end = next + MOVED_TOGETHER;
      for (const transfer of transfers.slice(next, end)) {
        const row = await keep(ctx, hint.txHash, transfer, finding);
        if (row.state === "pending" && isConfirmed(finding)) await settleDeposit(ctx, row);
      }
      if (end < transfers.length) return end;
    }
    await endCheck(ctx, hint, finding);
    return null;
  },
});

/** Takes back some of the deposits that the chain no longer has. @returns Whether that were all. */
async function takeBack(ctx: MutationCtx, txHash: string, transfers: Mined["transfers"]): Promise<boolean> {
  const inChain = new Map(transfers.map((transfer) => [transfer.position, transfer]));
  const gone = (await depositsOf(ctx, txHash)).filter((row) => {
    const transfer = inChain.get(row.position);
    return row.state !== "reversed" && (transfer?.from !== row.from || transfer.amount !== row.amount);
  });
  for (const row of gone.slice(0, MOVED_TOGETHER)) await revertDeposit(ctx, row);
  return gone.length <= MOVED_TOGETHER;
}

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
    .withIndex("by_transfer", (q) => q.eq("txHash", txHash).eq("position", transfer.position))
    .unique();
  if (before !== null && before.state !== "reversed") {
    if (before.blockHash !== blockHash) {
      const { logIndex } = transfer;
      await ctx.db.patch("deposits", before._id, { blockNumber, blockHash, logIndex });
    }
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
