import { internal } from "../../../_generated/api";
import type { Doc, Id } from "../../../_generated/dataModel";
import type { ActionCtx } from "../../../_generated/server";
import { AppError } from "../../../lib/errors";
import { providerAction } from "../../../lib/outside/providerCalls";
import { UPSTREAM } from "../../../providers/chain/rpc/client";
import { saysAgain, standing, type Standing } from "../../../providers/chain/transactions";
import { storedAddress } from "../../addresses";
import { hashesOf } from "../bytes";
import { ofTransaction } from "./outcome";
import { endingOf } from "./receipt";
import { mendGap, replaceIfStuck, withdrawRefused } from "./replacement";
import { handOut } from "./signatures";
import { isOpen, nonceAfter } from "../states";

/** Asks the chain about the outcome of signed transactions. */

const TAKEN = "Another transaction took this one's place";

export const check = providerAction(ofTransaction, async (ctx, { transactionId }) => {
  await follow(ctx, transactionId, { mends: true });
});

/**
 * Asks the chain about a signed transaction. One that is neither mined nor pending is sent again: the same bytes,
 * unless the chain cannot take those any more. Ended ones are checked as well: the chain may have decided differently
 * since.
 * @param mends Whether to repair what holds it up: a gap before it, or fees that are too low now.
 * @throws AppError `upstream`
 */
export async function follow(
  ctx: ActionCtx,
  transactionId: Id<"transactions">,
  { mends }: { mends: boolean },
): Promise<void> {
  const row = await ctx.runQuery(internal.wallets.transactions.orders.view, { transactionId });
  const { nonce } = row;
  if (nonce === undefined || row.state === "prepared") return;
  const ask = () => standing(storedAddress(row.address), nonce, hashesOf(row));
  const now = await ask();
  if (now.kind !== "replaced" && row.replacedSince !== undefined) {
    await ctx.runMutation(internal.wallets.transactions.progress.outcome.trust, { transactionId });
  }
  if (now.kind === "replaced") {
    if (row.state === "failed") return;
    await refuseAbsurd(ctx, row, now.mined);
    if (!(await isReplaced(ctx, row, ask))) return;
    const failed = { to: "failed", error: TAKEN, errorCode: "upstream" } as const;
    if (isOpen(row.state)) {
      await ctx.runMutation(internal.wallets.transactions.progress.outcome.advance, {
        transactionId,
        ...failed,
      });
    } else
      await ctx.runMutation(internal.wallets.transactions.progress.outcome.amend, {
        transactionId,
        ...failed,
      });
    return;
  }
  if (isOpen(row.state)) await followOpen(ctx, row, now, mends);
  else await followEnded(ctx, row, now);
}

/** @throws AppError `upstream` if the chain counts transactions that the account cannot have made: then its answer is wrong. */
async function refuseAbsurd(
  ctx: ActionCtx,
  { walletId, address, request }: Doc<"transactions">,
  mined: number,
): Promise<void> {
  const { next, isNew } = await ctx.runQuery(internal.wallets.transactions.progress.nonces.next, {
    walletId,
  });
  if (nonceAfter(mined, next) !== null) return;
  // If an earlier answer was wrong, a payment is signed again: that pays nothing twice.
  if (isNew && request.kind === "settlement" && (await saysAgain(storedAddress(address), mined))) return;
  throw new AppError("upstream", `${UPSTREAM} reports transactions that this account has not made`);
}

async function isReplaced(
  ctx: ActionCtx,
  { _id, state }: Doc<"transactions">,
  ask: () => Promise<Standing>,
): Promise<boolean> {
  const transactionId = _id;
  const believed = await ctx.runMutation(internal.wallets.transactions.progress.outcome.suspectReplaced, {
    transactionId,
  });
  if (believed && (await ask()).kind === "replaced") return true;
  if (!isOpen(state))
    await ctx.runMutation(internal.wallets.transactions.progress.outcome.lookAgain, { transactionId });
  return false;
}

type Found = Exclude<Standing, { kind: "replaced" }>;

async function followOpen(
  ctx: ActionCtx,
  row: Doc<"transactions">,
  now: Found,
  mends: boolean,
): Promise<void> {
  const transactionId = row._id;
  if (now.kind === "mined") {
    const ending = await endingOf(row, now);
    await ctx.runMutation(internal.wallets.transactions.progress.outcome.advance, {
      transactionId,
      ...ending,
    });
    return;
  }
  if (now.kind === "pending") {
    await ctx.runMutation(internal.wallets.transactions.progress.outcome.advance, {
      transactionId,
      to: "broadcast",
    });
  }
  // A transaction after a missing nonce is never mined, however often it is sent.
  const waits = row.nonce !== undefined && now.mined < row.nonce;
  if (mends && waits && (await mend(ctx, row, now.mined))) return;
  if (mends && (await replaceIfStuck(ctx, row, now.mined))) return;
  if (now.kind !== "missing") return;
  const answer = await handOut(ctx, row);
  if (mends && answer === "refused") await withdrawRefused(ctx, row, now.mined);
}

async function followEnded(ctx: ActionCtx, row: Doc<"transactions">, now: Found): Promise<void> {
  const transactionId = row._id;
  if (now.kind === "mined") {
    const ending = await endingOf(row, now);
    if (ending.to !== row.state) {
      await ctx.runMutation(internal.wallets.transactions.progress.outcome.amend, {
        transactionId,
        ...ending,
      });
    }
    return;
  }
  await mend(ctx, row, now.mined);
  await ctx.runMutation(internal.wallets.transactions.progress.outcome.lookAgain, { transactionId });
}

/** @returns Whether the account's open payments were dropped, to be signed again. */
async function mend(
  ctx: ActionCtx,
  { walletId, address }: Doc<"transactions">,
  mined: number,
): Promise<boolean> {
  return (await mendGap(ctx, { walletId, address: storedAddress(address), mined })).isReset;
}
