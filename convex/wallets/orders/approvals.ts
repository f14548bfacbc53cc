import type { Doc, Id } from "../../_generated/dataModel";
import { internal } from "../../_generated/api";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { AppError, failureOf } from "../../lib/errors";
import { rowsByBoth } from "../../lib/records/rows";
import { usedUp } from "../../lib/limits/refusals";
import { DAY, HOUR, MINUTE, SECOND } from "../../lib/time";
import { approvingLink } from "../../messenger/model";
import { changeDelivery } from "../../messenger/owners";
import { APPROVED, CHAT } from "../../users/access";
import { rulesOf } from "../../users/levels";
import { openTransaction, pauseOf } from "../transactions/model";
import type { Wish } from "./tables";

/** Questions to owners, and their taps: plain functions, steps of their caller's mutation. */

type Approval = Doc<"approvals">;

/** How long the owner has. */
export const ASKED_MS = 10 * MINUTE;

/** How long it usually takes until the chain has it. */
const CHECK_MS = 8 * SECOND;

/** How many questions may be open at once, and how many a day: anybody who knows the id could ask for ever. */
const MOST_OPEN = 3;
const MOST_A_DAY = 10;
/** This many refusals within an hour stop further questions for an hour. */
const REFUSALS = 2;

const ENDS = ["approved", "refused", "failed", "expired", "void", "undelivered"] as const;
/** `undelivered`: the owner's chat did not take the question. */
export const STANDINGS = ["awaiting_approval", ...ENDS] as const;
export type Standing = (typeof STANDINGS)[number];

export async function askedWith(ctx: QueryCtx, userId: string, key: string): Promise<Approval | null> {
  const rows = ctx.db.query("approvals");
  return rowsByBoth(rows, "userId", userId, "idempotencyKey", key).unique();
}

/** The newest questions that still wait for the owner. */
export async function openOf(ctx: QueryCtx, userId: string, now: number): Promise<Approval[]> {
  const open = await rowsByBoth(ctx.db.query("approvals"), "userId", userId, "state", "open")
    .order("desc")
    .take(MOST_A_DAY);
  const standing = await Promise.all(open.map((row) => standingOf(ctx, row, now)));
  return open.filter((_, i) => standing[i] === "awaiting_approval");
}

/** The state of a question at `now`: without a decision it expires by itself. */
export async function standingOf(ctx: QueryCtx, row: Approval, now: number): Promise<Standing> {
  if (row.state !== "open") return row.state;
  if (row.expiresAt <= now) return "expired";
  if (!(await isWaitedFor(ctx, row))) return "void";
  const { version, isFrozen } = await rulesOf(ctx, row.userId);
  if (isFrozen || version !== row.policyVersion) return "void";
  if ((await approvingLink(ctx, row.userId, now))?._id !== row.linkId) return "void";
  const card = row.card === undefined ? null : await ctx.db.get("messages", row.card);
  return card?.state === "failed" || card?.state === "skipped" ? "undelivered" : "awaiting_approval";
}

/** Whether its expiry is scheduled in this deployment: not so for a row that an import has restored (`tables.ts`). */
async function isWaitedFor(ctx: QueryCtx, { closing }: Approval): Promise<boolean> {
  if (closing === undefined) return false;
  return (await ctx.db.system.get("_scheduled_functions", closing))?.state.kind === "pending";
}

/** @throws AppError `rate_limited` if the owner is asked too often. */
export async function refuseTooMany(ctx: QueryCtx, userId: string, now: number): Promise<void> {
  const asked = await rowsByBoth(ctx.db.query("approvals"), "userId", userId, "begun", undefined)
    .order("desc")
    .take(MOST_A_DAY);
  const refused = asked.filter(({ state, decidedAt = 0 }) => state === "refused" && decidedAt > now - HOUR);
  const last = Math.max(...refused.map(({ decidedAt = 0 }) => decidedAt));
  const quota = (name: string, most: number, windowMs: number, againAt: number) =>
    usedUp(name, { name: "approvals", most, windowMs, left: 0, againMs: Math.max(1, againAt - now) });
  if (refused.length >= REFUSALS)
    throw quota("the limit of questions to an owner who has refused twice", REFUSALS, HOUR, last + HOUR);
  const [first] = asked.slice(MOST_A_DAY - 1);
  if (first !== undefined && first._creationTime > now - DAY)
    throw quota("the daily limit of questions to the owner", MOST_A_DAY, DAY, first._creationTime + DAY);
  const open = (await openOf(ctx, userId, now)).filter(({ begun }) => begun === undefined);
  if (open.length >= MOST_OPEN)
    throw quota(
      "the limit of open questions to the owner",
      MOST_OPEN,
      ASKED_MS,
      open.at(-1)?.expiresAt ?? now,
    );
}

export type Decision = { approval: Approval; standing: Standing };

/**
 * The owner's tap. It counts once, from the account that is linked now, under the rules that were valid when it was
 * asked. The approved request begins in the same transaction.
 * @returns `null` if this account was not asked.
 */
export async function decide(
  ctx: MutationCtx,
  which: string,
  { messengerId, isYes }: { messengerId: string; isYes: boolean },
): Promise<Decision | null> {
  const id = ctx.db.normalizeId("approvals", which);
  const approval = id === null ? null : await ctx.db.get("approvals", id);
  if (approval?.messengerId !== messengerId) return null;
  const now = Date.now();
  const standing = await standingOf(ctx, approval, now);
  if (standing !== "awaiting_approval") return { approval, standing };
  if (approval.closing !== undefined) await ctx.scheduler.cancel(approval.closing);
  const ended = isYes ? await carriedOn(ctx, approval) : ({ state: "refused" } satisfies Partial<Approval>);
  await ctx.db.patch("approvals", approval._id, { ...ended, decidedAt: now, wish: unsealed(approval.wish) });
  return { approval: { ...approval, ...ended }, standing: ended.state };
}

/** The part of a wish that is kept after its question. */
export function unsealed(wish: Wish): Wish {
  if (wish.kind === "order" || wish.sealedBotToken === null) return wish;
  const { sealedBotToken: _, ...rest } = wish;
  return rest;
}

const BY_TAP = { source: "web", permit: APPROVED } as const;
const IN_CHAT = { source: "telegram", permit: CHAT } as const;

type Begun = { state: "approved" | "failed"; transactionId?: Id<"transactions">; error?: string };

async function carriedOn(
  ctx: MutationCtx,
  { userId, wish, idempotencyKey, begun }: Approval,
): Promise<Begun> {
  if (wish.kind === "delivery") {
    const { kind: _kind, botTag: _tag, botId: _id, ...changes } = wish;
    await changeDelivery(ctx, userId, changes);
    return { state: "approved" };
  }
  const paused = pauseOf();
  if (paused !== null) return { state: "failed", error: paused.message };
  const { walletId, request, valueMicroUsd, minBuyAmount, mostFee } = wish;
  try {
    const transactionId = await openTransaction(ctx, {
      ...{ userId, walletId, request, idempotencyKey, minBuyAmount, mostFee },
      ...(begun === "chat" ? IN_CHAT : BY_TAP),
      address: null,
      value: valueMicroUsd === undefined ? null : BigInt(valueMicroUsd),
    });
    // Nobody may wait for its outcome but the chat.
    await ctx.scheduler.runAfter(CHECK_MS, internal.wallets.transactions.progress.followUp.check, {
      transactionId,
    });
    return { state: "approved", transactionId };
  } catch (error) {
    // The limits are checked before anything is written.
    const failure = failureOf(error);
    if (failure === null) throw error;
    return { state: "failed", error: failure.message };
  }
}

/** @throws AppError `conflict` if the key was used for another wish. */
export function requireSameWish(row: Approval, wish: Wish): void {
  if (sameWish(row.wish, wish)) return;
  throw new AppError("conflict", "This idempotency key was used for another request");
}

/** Whether two wishes are the same in the caller's terms: neither values nor the seal of a token count. */
export function sameWish(a: Wish, b: Wish): boolean {
  const terms = (wish: Wish) =>
    wish.kind === "order"
      ? [wish.walletId, Object.entries(wish.request).sort()]
      : [wish.chatId ?? null, wish.chatId === undefined, wish.botTag ?? null, wish.sealedBotToken === null];
  return a.kind === b.kind && JSON.stringify(terms(a)) === JSON.stringify(terms(b));
}
