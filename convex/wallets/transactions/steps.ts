import { v, type Infer, type ObjectType } from "convex/values";
import type { Doc, Id } from "../../_generated/dataModel";
import type { MutationCtx } from "../../_generated/server";
import type { ErrorCode } from "../../lib/errors";
import { literals } from "../../lib/literals";
import { log } from "../../lib/log";
import { recordAudit } from "../../lib/records/audit";
import { NEVER } from "../../lib/time";
import { tellOwner } from "../../messenger/webhooks/events";
import { count } from "../limits/windows";
import { settleTrade } from "../trades";
import { byId } from "./model";
import { corrects, LOOK_BACK_MS, mayFollow, nextCheck, shortfallOf } from "./states";
import { vState, vTraded, type TransactionState } from "./tables";

/** Steps of a transaction (`states.ts`), with all consequences. Plain functions, steps of their caller's mutation. */

type Transaction = Doc<"transactions">;

type Step = {
  to: TransactionState;
  error?: string | undefined;
  errorCode?: ErrorCode | undefined;
  minedAs?: string | undefined;
  /** By the receipt of a swap. */
  traded?: Infer<typeof vTraded> | undefined;
};

/** A step of a transaction, from an action. */
export const vStep = {
  to: vState,
  error: v.optional(v.string()),
  errorCode: v.optional(literals("invalid_request", "upstream", "internal", "paused", "forbidden")),
  /** Only from this state: for dropping what was not signed. */
  onlyFrom: v.optional(vState),
  minedAs: v.optional(v.string()),
  traded: v.optional(vTraded),
};

/** `moveOn`, with fields that only some steps have. */
export async function take(
  ctx: MutationCtx,
  transactionId: Id<"transactions">,
  { onlyFrom, ...step }: ObjectType<typeof vStep>,
): Promise<void> {
  const row = await byId(ctx, transactionId);
  if (onlyFrom !== undefined && row.state !== onlyFrom) return;
  await moveOn(ctx, row, step);
}

/** Moves a transaction on; a late or repeated step changes nothing. */
export async function moveOn(ctx: MutationCtx, row: Transaction, step: Step): Promise<void> {
  const { to, error, errorCode, minedAs, traded } = step;
  if (!mayFollow(row.state, to) || (to === row.state && error === row.error)) return;
  const now = Date.now();
  const ended = to === "confirmed" || to === "failed";
  await ctx.db.patch("transactions", row._id, {
    state: to,
    ...(error === undefined ? {} : { error }),
    ...(errorCode === undefined ? {} : { errorCode }),
    ...(minedAs === undefined ? {} : { minedAs }),
    ...(traded === undefined ? {} : { traded }),
    ...(ended ? { endedAt: now, ...lookedBackAt(row, now) } : { nextCheckAt: nextCheck(now, row.checks) }),
  });
  // What has moved nothing no longer counts against the limits.
  if (to === "failed" && row.reserved !== undefined) await count(ctx, row.userId, row.reserved, -1n);
  if (ended) await settle(ctx, row, { to, error, traded });
}

/** Ends the trade, and warns the operator if a swap has brought less than it guaranteed. */
async function settle(
  ctx: MutationCtx,
  { traded: _before, ...before }: Transaction,
  { to, error, traded }: Step & { to: "confirmed" | "failed" },
): Promise<void> {
  const row = { ...before, ...(traded === undefined ? {} : { traded }) };
  const short = to === "confirmed" ? shortfallOf(row) : null;
  await tellOfEnd(ctx, row, { status: to, error: short ?? error ?? null });
  if (short === null) return settleTrade(ctx, row, to, error);
  log.error("wallets.swap fell short", { transactionId: row._id });
  await recordAudit(ctx, { actor: row.userId, action: "swap fell short", subject: row._id, detail: short });
  await ctx.db.patch("transactions", row._id, { shortAt: Date.now() });
  await settleTrade(ctx, row, "failed", short);
}

/** Tells the webhooks of whose send or swap it is. What `GET /mcp/defi/transaction` shows of it is the whole of it. */
async function tellOfEnd(
  ctx: MutationCtx,
  { userId, _id: transactionId, request, txHash, traded }: Transaction,
  ended: { status: "confirmed" | "failed"; error: string | null },
): Promise<void> {
  if (request.kind !== "send" && request.kind !== "swap") return;
  await tellOwner(ctx, userId, "transaction.ended", () => {
    return {
      transactionId,
      ...request,
      txHash,
      ...ended,
      success: ended.status === "confirmed" && ended.error === null,
      traded,
    };
  });
}

/** An end is looked at again where the chain decided it: what was never signed cannot be mined. */
function lookedBackAt({ handedOutAt }: Transaction, now: number) {
  return { checks: 0, nextCheckAt: handedOutAt === undefined ? NEVER : now + LOOK_BACK_MS[0] };
}

/** The chain has decided otherwise than was believed. @returns Whether that has changed something. */
export async function correct(
  ctx: MutationCtx,
  row: Transaction,
  step: Step & { to: "confirmed" | "failed" },
): Promise<boolean> {
  const { to, error, errorCode, minedAs, traded } = step;
  if (!corrects(row.state, to)) return false;
  await ctx.db.patch("transactions", row._id, {
    state: to,
    error,
    errorCode,
    ...(minedAs === undefined ? {} : { minedAs }),
    traded,
    replacedSince: undefined,
    replacedAnswers: undefined,
  });
  // What was given back and then mined counts again, even beyond a limit.
  if (row.reserved !== undefined) await count(ctx, row.userId, row.reserved, to === "failed" ? -1n : 1n);
  await settle(ctx, row, step);
  return true;
}
