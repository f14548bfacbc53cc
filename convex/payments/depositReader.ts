import type { FunctionArgs } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import { toCredits } from "../credits/model";
import { getOptional, getSetting } from "../lib/env";
import { withUsage, noteWorking, defineProviderAction } from "../platform/outside/calls";
import { readFreshHead, readTransfersTo } from "../providers/chain/blocks";
import { parseStoredAddress } from "../wallets/model";
import { vDepositReading, type DepositReading } from "./tables";

/** Reads transfers to the platform wallet from confirmed blocks. */

/** Transfers per transaction: each costs about ten of its 4,096 reads. */
const TOGETHER = 100;
/** Blocks that are read again each hour, about an hour's: a lagging node may have hidden their logs. */
const AGAIN_BLOCKS = 2_000;
/** Blocks without a deposit after which the cursor is stored, about ten minutes. */
const UNSTORED_BLOCKS = 300;

/**
 * Reads from the cursor to the newest confirmed block. A fresh deployment begins at `DEPOSITS_FROM_BLOCK`, or with the
 * next block: earlier transfers are not credited.
 * @throws AppError `upstream`
 */
export const readDeposits = withUsage(
  async (ctx, { wallet, cursor, again: isDue }: DepositReading): Promise<void> => {
    const head = (await readFreshHead()).number;
    const last = Math.max(0, head - Number(getSetting("CONFIRMATIONS")) + 1);
    const store = (read: Omit<FunctionArgs<typeof internal.payments.deposits.advanceDeposits>, "wallet">) =>
      ctx.runMutation(internal.payments.deposits.advanceDeposits, { wallet, ...read });
    const correct = (isReread: boolean) =>
      ctx.runMutation(internal.payments.deposits.correctCursor, { wallet, last, isReread });
    // A cursor above the head was moved by a false head, not by a lagging node: the skipped blocks are read again.
    const again = isDue || (cursor !== null && cursor.block > head);
    let stored: number;
    if (cursor === null) {
      const first = getOptional("DEPOSITS_FROM_BLOCK");
      stored = first === undefined ? last : Number(first) - 1;
      await store({ from: null, to: stored, transfers: [] });
    } else {
      if (cursor.block > last) await correct(false);
      const readTo = Math.min(cursor.block, last);
      stored = again ? Math.max(Math.min(cursor.start, last), readTo - AGAIN_BLOCKS) : readTo;
    }
    for await (const { last: to, value } of readTransfersTo(parseStoredAddress(wallet), stored + 1, last)) {
      const transfers = value
        .filter(({ amount }) => toCredits(amount) > 0)
        .map(({ txHash, position, logIndex, from, amount }) => {
          return { txHash, position, logIndex, from, amount: amount.toString() };
        });
      if (transfers.length === 0 && to - stored < UNSTORED_BLOCKS) continue;
      // The cursor moves with the last page; storing a page again changes nothing.
      for (let start = 0; start === 0 || start < transfers.length; start += TOGETHER) {
        const page = transfers.slice(start, start + TOGETHER);
        const isLast = start + TOGETHER >= transfers.length;
        await store({ from: stored, to: isLast ? to : stored, transfers: page });
      }
      stored = to;
    }
    if (again) await correct(true);
  },
);

export const readDepositBlocks = defineProviderAction(
  { reading: vDepositReading, chainWorks: v.boolean() },
  async (ctx, { reading, chainWorks }) => {
    if (chainWorks) noteWorking("chain");
    await readDeposits(ctx, reading);
  },
);
