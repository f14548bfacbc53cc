import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { creditDeposit, isWritten, reverseDeposit } from "../../credits/model";
import { creditsFor } from "../../credits/rates";
import { optional } from "../../lib/env";
import { log } from "../../lib/log";
import { DAY, HOUR, MINUTE, NEVER, SECOND } from "../../lib/time";
import { rowsByBoth } from "../../lib/records/rows";
import { open } from "../../lib/work/jobs";
import { userIdByAddress } from "../../wallets/model";
import { PRICE } from "../terms";
import {
  authorizationKey,
  claimByKey,
  depositKey,
  releaseDeposit,
  reportKey,
  spendTransfer,
  spentTransfer,
  isConfirmed,
} from "../transfers";
import { hasDeposit, hintOf, standingOf } from "./rows";
import { RECHECKS, vMovedTransfer, vSeenIn } from "./tables";

/**
 * Transactions that webhooks have named, the chain's answers about them, and the users that confirmed transfers credit;
 * `states.md` draws the states of both. Each function is one step of its caller's transaction. A settled hint with
 * deposits is checked twice more, since the newest blocks can still be replaced.
 */

/** How many deposits of one address are credited at once. */
export const CREDIT_BATCH = 50;

/** How many transactions one round trip to the chain asks for. */
const CHECKED_TOGETHER = 25;

/** A transaction that the chain has not known for this long does not exist. Naming it again starts a new check. */
const GIVE_UP_AFTER_MS = DAY;

/** The same for one that anybody may have invented: webhooks are unsigned, and the chain has never shown it. */
const GIVE_UP_UNSIGNED_AFTER_MS = 15 * MINUTE;

/** The wait before an unsettled transaction is checked again: 2 s, 4 s, … 1 h. */
export function waitDelay(checks: number): number {
  return Math.min(2 * SECOND * 2 ** Math.min(checks, 12), HOUR);
}

/** When a settled one is checked again: one and five minutes after it was settled. */
export function nextRecheck(now: number, checks: number): number {
  if (checks >= RECHECKS) return NEVER;
  return now + (checks === 0 ? MINUTE : 4 * MINUTE);
}

/** When to look for the user of an unmatched deposit again: every five minutes, then less and less often, down to daily. */
export function nextMatch(now: number, seenAt: number): number {
  return now + Math.min(Math.max(now - seenAt, 5 * MINUTE), DAY);
}

/** A check that was begun; its result counts if its hint has not changed since. */
export const vCheck = v.object({ hintId: v.id("depositHints"), attempt: v.number() });
export type Check = Infer<typeof vCheck>;

/** The chain's answer about a transaction. */
export const vFinding = v.union(
  v.object({ kind: v.literal("absent") }),
  v.object({ kind: v.literal("too large") }),
  v.object({
    kind: v.literal("mined"),
    succeeded: v.boolean(),
    ...vSeenIn.fields,
    confirmations: v.number(),
    transfers: v.array(vMovedTransfer),
  }),
);
export type Finding = Infer<typeof vFinding>;
export type Mined = Extract<Finding, { kind: "mined" }>;

/** Whether to look up a transaction that is named again. @param removed The webhook says that the chain has dropped it. */
async function wantsCheck(
  ctx: QueryCtx,
  row: Doc<"depositHints">,
  removed: boolean,
  now: number,
): Promise<boolean> {
  // A check that has begun answers every caller. An earlier version's was lost if its hint is due.
  if (row.state === "checking" && row.nextCheckAt > now) return false;
  if (row.state !== "settled" || removed) return true;
  return (await standingOf(ctx, row.txHash, 1)).length === 0;
}

/**
 * Stores a named transaction and, unless it is settled, begins a check for `startChecks`.
 * @param removed The webhook says that the chain has dropped it.
 */
export async function nameTransaction(
  ctx: MutationCtx,
  { txHash, removed }: { txHash: string; removed: boolean },
): Promise<{ isNew: boolean; check: Check | null }> {
  const now = Date.now();
  const row = await hintOf(ctx, txHash);
  const checking = { state: "checking" as const, nextCheckAt: NEVER };
  if (row === null) {
    const fresh = { ...checking, txHash, attempt: 1, checks: 0, openedAt: now };
    return { isNew: true, check: { hintId: await ctx.db.insert("depositHints", fresh), attempt: 1 } };
  }
  if (!(await wantsCheck(ctx, row, removed, now))) return { isNew: false, check: null };
  const reopened = row.state === "settled" ? { openedAt: now, checks: 0, reason: undefined } : {};
  return { isNew: false, check: await changeHint(ctx, row, { ...checking, ...reopened }) };
}

/** Credits the rest of a payment beyond its report as a deposit, whether or not a webhook names it. */
export async function creditRest(
  ctx: MutationCtx,
  { txHash, amount }: { txHash: string; amount: string },
): Promise<void> {
  if (BigInt(amount) <= PRICE) return;
  const { check } = await nameTransaction(ctx, { txHash, removed: false });
  if (check !== null) await startChecks(ctx, [check], 0);
}

/**
 * Changes a hint, at the beginning of a check and at its end: the results of checks that began before are dropped.
 * @returns The check that counts from now on, for `startChecks`.
 */
export async function changeHint(
  ctx: MutationCtx,
  { _id, attempt = 0 }: Doc<"depositHints">,
  changes: Partial<Omit<Doc<"depositHints">, "reason">> & { reason?: string | undefined },
): Promise<Check> {
  await ctx.db.patch("depositHints", _id, { ...changes, attempt: attempt + 1 });
  return { hintId: _id, attempt: attempt + 1 };
}

/** Opens checks, which begin after a delay, in as few round trips as possible. Meanwhile their hints are never due. */
export async function startChecks(
  ctx: MutationCtx,
  checks: readonly Check[],
  delayMs: number,
): Promise<void> {
  for (let start = 0; start < checks.length; start += CHECKED_TOGETHER) {
    const together = checks.slice(start, start + CHECKED_TOGETHER);
    await open(ctx, internal.payments.deposits.desk.check, { checks: together }, { delayMs });
  }
}

/** Ends a check whose deposits are in line with the chain: the hint is settled, or checked again later. */
export async function endCheck(ctx: MutationCtx, hint: Doc<"depositHints">, finding: Finding): Promise<void> {
  if (finding.kind === "absent") {
    const waited = Date.now() - hint.openedAt;
    if (hint.state === "settled" || waited < (await patienceFor(ctx, hint))) return waitOn(ctx, hint);
    return settleHint(ctx, hint, "the chain does not know this transaction");
  }
  if (finding.kind === "too large") return settleHint(ctx, hint, "its receipt is too large to be read");
  if (!finding.succeeded) return settleHint(ctx, hint, "the transaction failed");
  if (finding.transfers.length === 0) {
    return settleHint(ctx, hint, "it holds no USDC transfer to the platform wallet");
  }
  if (!isConfirmed(finding)) return waitOn(ctx, hint);
  await settleHint(ctx, hint, undefined);
}

/** How long an unknown transaction is looked up, in ms. */
async function patienceFor(ctx: QueryCtx, { txHash }: Doc<"depositHints">): Promise<number> {
  const trusted = optional("DEPOSIT_WEBHOOK_SECRET") !== undefined;
  return trusted || (await hasDeposit(ctx, txHash)) ? GIVE_UP_AFTER_MS : GIVE_UP_UNSIGNED_AFTER_MS;
}

async function settleHint(
  ctx: MutationCtx,
  hint: Doc<"depositHints">,
  reason: string | undefined,
): Promise<void> {
  const checks = hint.state === "settled" ? hint.checks + 1 : 0;
  const nextCheckAt = reason === undefined ? nextRecheck(Date.now(), checks) : NEVER;
  await changeHint(ctx, hint, { state: "settled", reason, checks, nextCheckAt });
}

/** Waits for the next check: a soon one is opened here, a later one by the dispatcher. */
export async function waitOn(ctx: MutationCtx, hint: Doc<"depositHints">): Promise<void> {
  const now = Date.now();
  const [checks, openedAt] = hint.state === "settled" ? [0, now] : [hint.checks, hint.openedAt];
  const delay = waitDelay(checks);
  const waiting = { state: "waiting" as const, reason: undefined, checks: checks + 1, openedAt };
  const isSoon = delay < MINUTE;
  const check = await changeHint(ctx, hint, { ...waiting, nextCheckAt: isSoon ? NEVER : now + delay });
  if (isSoon) await startChecks(ctx, [check], delay);
}

/**
 * Credits a confirmed deposit to the user of its sending address. Without a user it is kept as unmatched; it is ignored
 * if a report has used it up or it is worth less than a credit.
 */
export async function settleDeposit(ctx: MutationCtx, row: Doc<"deposits">): Promise<void> {
  if (creditsFor(BigInt(row.amount)) === 0) return ignore(ctx, row, "it is worth less than one credit");
  const userId = await userIdByAddress(ctx, row.from);
  if (userId !== null) return credit(ctx, row, userId);
  const now = Date.now();
  await ctx.db.patch("deposits", row._id, { state: "unmatched", nextMatchAt: nextMatch(now, row.seenAt) });
}

/**
 * Credits deposits from an address that had no user before.
 * @param address In any case.
 * @returns How many deposits were processed; `CREDIT_BATCH` if there may be more.
 */
export async function creditUnmatched(ctx: MutationCtx, address: string, userId: string): Promise<number> {
  const rows = await rowsByBoth(
    ctx.db.query("deposits"),
    "from",
    address.toLowerCase(),
    "state",
    "unmatched",
  ).take(CREDIT_BATCH);
  for (const row of rows) await credit(ctx, row, userId);
  return rows.length;
}

/** Reverses a deposit that the chain has dropped, with its credits. */
export async function revertDeposit(ctx: MutationCtx, row: Doc<"deposits">): Promise<void> {
  if (row.state === "credited") {
    await reverseDeposit(ctx, { key: depositKey(row, row.creditings) });
    await releaseDeposit(ctx, row);
    log.warn("deposits.reversed", { depositId: row._id });
  }
  await ctx.db.patch("deposits", row._id, { state: "reversed", reason: undefined, nextMatchAt: NEVER });
}

async function credit(ctx: MutationCtx, row: Doc<"deposits">, userId: string): Promise<void> {
  const { lessReport, amount, credits } = await worthOf(ctx, row);
  if (credits === 0) return ignore(ctx, row, amount > 0n ? "it is worth less than one credit" : SPENT);
  const creditings = row.creditings + 1;
  const key = depositKey(row, creditings);
  await spendTransfer(ctx, row, { depositKey: key });
  await creditDeposit(ctx, { userId, amount: credits, key, source: "usdc" });
  const state = "credited" as const;
  await ctx.db.patch("deposits", row._id, {
    state,
    userId,
    credits,
    lessReport,
    creditings,
    nextMatchAt: NEVER,
  });
}

/** The reason shown for a deposit that a report has used up. */
export const SPENT = "it was spent on a report";

/** The value of a deposit after the price of the report that it has paid for. */
export async function worthOf(
  ctx: QueryCtx,
  row: Doc<"deposits">,
): Promise<{ lessReport: boolean; amount: bigint; credits: number }> {
  const lessReport = await owesReport(ctx, row);
  const amount = BigInt(row.amount) - (lessReport ? PRICE : 0n);
  return { lessReport, amount, credits: amount > 0n ? creditsFor(amount) : 0 };
}

async function ignore(ctx: MutationCtx, row: Doc<"deposits">, reason: string): Promise<void> {
  await ctx.db.patch("deposits", row._id, { state: "ignored", reason, nextMatchAt: NEVER });
}

/**
 * Whether a report still takes its price out of a transfer. Not if the report was paid out of credits before the chain
 * dropped the transfer and mined it again. A signed payment's nonce is known before it is sent to the chain, so this
 * also works if the transfer is seen here first.
 */
async function owesReport(ctx: QueryCtx, row: Doc<"deposits">): Promise<boolean> {
  if (await isWritten(ctx, reportKey(row))) return false;
  if ((await spentTransfer(ctx, row))?.claimKey !== undefined) return true;
  if (row.authorization === undefined) return false;
  const claim = await claimByKey(ctx, authorizationKey({ from: row.from, nonce: row.authorization }));
  return claim !== null && claim.state !== "refused";
}
