import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { providerAction } from "../lib/providerCalls";
import { standing, type Standing } from "../providers/chainTransactions";
import { asAddress } from "./addresses";
import { endingOf } from "./endings";
import { isOpen } from "./machine";
import { mendGap, replaceIfStuck } from "./replacing";
import { hashesOf, type View } from "./rows";
import { handOut } from "./steps";

const TAKEN = "Another transaction took this one's place";

export const check = providerAction({
  args: { transactionId: v.id("transactions") },
  returns: v.null(),
  handler: async (ctx, { transactionId }) => {
    await follow(ctx, transactionId, { mends: true });
    return null;
  },
});

/**
 * Asks the chain what became of a signed transaction. One that is neither mined nor pending is handed out again: the
 * same bytes, unless the chain cannot take those any more. What has ended is looked at as well: the chain may have
 * decided anew.
 * @param mends Whether what holds it up is mended too: a gap before it, or fees that have outgrown it.
 * @throws AppError `upstream`
 */
export async function follow(
  ctx: ActionCtx,
  transactionId: Id<"transactions">,
  { mends }: { mends: boolean },
): Promise<void> {
  const row = await ctx.runQuery(internal.wallets.transactions.view, { transactionId });
  const { nonce } = row;
  if (nonce === undefined || row.state === "prepared") return;
  const ask = () => standing(asAddress(row.address), nonce, hashesOf(row));
  const now = await ask();
  if (now.kind !== "replaced" && row.replacedSince !== undefined) {
    await ctx.runMutation(internal.wallets.doubts.trust, { transactionId });
  }
  if (now.kind === "replaced") {
    if (row.state === "failed" || !(await isReplaced(ctx, row, ask))) return;
    const failed = { to: "failed", error: TAKEN, errorCode: "upstream" } as const;
    if (isOpen(row.state)) {
      await ctx.runMutation(internal.wallets.transactions.advance, { transactionId, ...failed });
    } else await ctx.runMutation(internal.wallets.doubts.amend, { transactionId, ...failed });
    return;
  }
  if (isOpen(row.state)) await followOpen(ctx, row, now, mends);
  else await followEnded(ctx, row, now);
}

async function isReplaced(
  ctx: ActionCtx,
  { _id, state }: View,
  ask: () => Promise<Standing>,
): Promise<boolean> {
  const transactionId = _id;
  const believed = await ctx.runMutation(internal.wallets.doubts.suspectReplaced, { transactionId });
  if (believed && (await ask()).kind === "replaced") return true;
  if (!isOpen(state)) await ctx.runMutation(internal.wallets.doubts.lookAgain, { transactionId });
  return false;
}

type Found = Exclude<Standing, { kind: "replaced" }>;

async function followOpen(ctx: ActionCtx, row: View, now: Found, mends: boolean): Promise<void> {
  const transactionId = row._id;
  if (now.kind === "mined") {
    const ending = await endingOf(row, now);
    await ctx.runMutation(internal.wallets.transactions.advance, { transactionId, ...ending });
    return;
  }
  if (now.kind === "pending") {
    await ctx.runMutation(internal.wallets.transactions.advance, { transactionId, to: "broadcast" });
  }
  // What waits behind a missing nonce is never mined, however often it is handed out.
  if (mends && row.nonce !== undefined && now.mined < row.nonce) await mend(ctx, row, now.mined);
  if (mends && (await replaceIfStuck(ctx, row, now.mined))) return;
  if (now.kind === "missing") await handOut(ctx, row);
}

async function followEnded(ctx: ActionCtx, row: View, now: Found): Promise<void> {
  const transactionId = row._id;
  if (now.kind === "mined") {
    const ending = await endingOf(row, now);
    if (ending.to !== row.state) {
      await ctx.runMutation(internal.wallets.doubts.amend, { transactionId, ...ending });
    }
    return;
  }
  await mend(ctx, row, now.mined);
  await ctx.runMutation(internal.wallets.doubts.lookAgain, { transactionId });
}

async function mend(ctx: ActionCtx, { walletId, address }: View, mined: number): Promise<void> {
  await mendGap(ctx, { walletId, address: asAddress(address), mined });
}
