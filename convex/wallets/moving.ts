import type { Doc } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import type { ErrorCode } from "../lib/errors";
import { NEVER } from "../lib/time";
import { corrects, LOOK_BACK_MS, mayFollow, nextCheck } from "./machine";
import { giveBackNonce } from "./nonces";
import type { TransactionState } from "./tables";
import { settleTrade } from "./trades";
import { release, reserveAgain } from "./transferLimits";

/** Moving a transaction from state to state, with all that follows from it. Within mutations. */

type Step = {
  to: TransactionState;
  error?: string | undefined;
  errorCode?: ErrorCode | undefined;
  minedAs?: string | undefined;
};

/** A word that comes too late, or twice, changes nothing. @returns Whether it has changed something. */
export async function moveOn(ctx: MutationCtx, row: Doc<"transactions">, step: Step): Promise<boolean> {
  const { to, error, errorCode, minedAs } = step;
  if (!mayFollow(row.state, to) || (to === row.state && error === row.error)) return false;
  const now = Date.now();
  const ended = to === "confirmed" || to === "failed";
  const refused = to === "failed" && row.state === "signed";
  await ctx.db.patch("transactions", row._id, {
    state: to,
    ...(error === undefined ? {} : { error }),
    ...(errorCode === undefined ? {} : { errorCode }),
    ...(minedAs === undefined ? {} : { minedAs }),
    ...(ended
      ? { endedAt: now, ...lookedBackAt(row, refused, now) }
      : { nextCheckAt: nextCheck(now, row.checks) }),
  });
  if (refused) await giveBackNonce(ctx, row);
  if (to === "failed" && row.reserved !== undefined) await release(ctx, row.userId, row.reserved);
  if (ended) await settleTrade(ctx, row, to, error);
  return true;
}

/** An end is looked at again where the chain decided it: what no node ever took cannot be mined. */
function lookedBackAt(row: Doc<"transactions">, refused: boolean, now: number) {
  const decided = row.handedOutAt !== undefined && !refused;
  return { checks: 0, nextCheckAt: decided ? now + LOOK_BACK_MS[0] : NEVER };
}

/** The chain has decided otherwise than was believed. @returns Whether that has changed something. */
export async function correct(
  ctx: MutationCtx,
  row: Doc<"transactions">,
  { to, error, errorCode, minedAs }: Step & { to: "confirmed" | "failed" },
): Promise<boolean> {
  if (!corrects(row.state, to)) return false;
  await ctx.db.patch("transactions", row._id, {
    state: to,
    error,
    errorCode,
    ...(minedAs === undefined ? {} : { minedAs }),
    replacedSince: undefined,
    replacedAnswers: undefined,
  });
  if (row.reserved !== undefined) {
    if (to === "failed") await release(ctx, row.userId, row.reserved);
    else await reserveAgain(ctx, row.userId, row.reserved);
  }
  await settleTrade(ctx, row, to, error);
  return true;
}
