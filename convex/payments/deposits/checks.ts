import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { dueWork } from "../../lib/cronRuns";
import { rowsDue } from "../../lib/records/rows";
import { MINUTE, NEVER } from "../../lib/time";
import { depositAt, isConfirmed } from "../transfers";
import {
  changeHint,
  endCheck,
  revertDeposit,
  settleDeposit,
  startChecks,
  vCheck,
  vFinding,
  waitOn,
  type Check,
  type Mined,
} from "./model";
import { ALL_TRANSFERS, standingOf } from "./rows";
import { vSeenIn } from "./tables";

/** Checks of the transactions that webhooks have named: brings the deposits into line with the chain. */

const DUE_BATCH = 50;
/** How many transfers of one transaction are processed or reversed in one step. */
const MOVED_TOGETHER = 50;

const vSought = v.object({ ...vCheck.fields, txHash: v.string(), seenIn: v.optional(vSeenIn) });

/** The transactions of the given checks that still count, and where they were last seen. */
export const sought = internalQuery({
  args: { checks: v.array(vCheck) },
  returns: v.array(vSought),
  handler: async (ctx, { checks }): Promise<Infer<typeof vSought>[]> => {
    const all = await Promise.all(
      checks.map(async ({ hintId, attempt }) => {
        const hint = await current(ctx, { hintId, attempt });
        if (hint === null) return [];
        const [seen] = await standingOf(ctx, hint.txHash, 1);
        if (seen === undefined) return [{ hintId, attempt, txHash: hint.txHash }];
        const { blockNumber, blockHash } = seen;
        return [{ hintId, attempt, txHash: hint.txHash, seenIn: { blockNumber, blockHash } }];
      }),
    );
    return all.flat();
  },
});

/**
 * Brings a transaction's deposits into line with the chain, a part at a time: reverses those that are no longer in it,
 * stores new ones, credits confirmed ones. Repeating it changes nothing.
 * @param next Where the previous part ended; absent for the first one.
 * @returns Where this part ended: call it again with that, until it is `null`.
 */
export const reconcile = internalMutation({
  args: { ...vCheck.fields, finding: vFinding, next: v.optional(v.number()) },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { finding, next = 0, ...check }) => {
    const hint = await current(ctx, check);
    if (hint === null) return null;
    const transfers = finding.kind === "mined" ? finding.transfers : [];
    // Reversals come first: nothing is ever credited twice, even for a moment.
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

/** Reverses some of the deposits that the chain no longer has. @returns Whether these were all. */
async function takeBack(ctx: MutationCtx, txHash: string, transfers: Mined["transfers"]): Promise<boolean> {
  const inChain = new Map(transfers.map((transfer) => [transfer.position, transfer]));
  // Without any transfer left, all of them go: no more are read than are reversed.
  const most = transfers.length === 0 ? MOVED_TOGETHER + 1 : ALL_TRANSFERS;
  const gone = (await standingOf(ctx, txHash, most)).filter((row) => {
    const transfer = inChain.get(row.position);
    return transfer?.from !== row.from || transfer.amount !== row.amount;
  });
  for (const row of gone.slice(0, MOVED_TOGETHER)) await revertDeposit(ctx, row);
  return gone.length <= MOVED_TOGETHER;
}

/** The chain could not be reached, or had no answer: checks again later. */
export const postpone = change({ checks: v.array(vCheck) }, async (ctx, { checks }) => {
  for (const check of checks) {
    const hint = await current(ctx, check);
    if (hint?.state === "settled") {
      await changeHint(ctx, hint, { nextCheckAt: Date.now() + MINUTE });
    } else if (hint !== null) await waitOn(ctx, hint);
  }
});

/** Starts every check that is due. */
export const checkDue = dueWork(async (ctx) => {
  const due = await rowsDue(ctx.db.query("depositHints"), "nextCheckAt", Date.now()).take(DUE_BATCH);
  const checks: Check[] = [];
  for (const row of due) checks.push(await changeHint(ctx, row, { nextCheckAt: NEVER }));
  await startChecks(ctx, checks, 0);
  if (due.length === DUE_BATCH)
    await ctx.scheduler.runAfter(0, internal.payments.deposits.checks.checkDue, {});
});

/** The hint of a check; `null` if the check has ended or was overtaken. */
async function current(ctx: QueryCtx, { hintId, attempt }: Check): Promise<Doc<"depositHints"> | null> {
  const hint = await ctx.db.get("depositHints", hintId);
  return hint?.attempt === attempt ? hint : null;
}

/** The deposit of a transfer, with its current block. */
async function keep(
  ctx: MutationCtx,
  txHash: string,
  transfer: Mined["transfers"][number],
  { blockNumber, blockHash }: Mined,
): Promise<Doc<"deposits">> {
  const before = await depositAt(ctx, { txHash, position: transfer.position });
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
  if (row === null) throw new Error("The deposit that was just written is missing");
  return row;
}
