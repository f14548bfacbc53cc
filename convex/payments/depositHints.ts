import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { optional, setting } from "../lib/env";
import { MINUTE } from "../lib/time";
import { depositsOf } from "./depositModel";
import {
  CHECK_LEASE_MS,
  GIVE_UP_AFTER_MS,
  GIVE_UP_UNSIGNED_AFTER_MS,
  NEVER,
  nextRecheck,
  waitDelay,
} from "./depositPhases";

/** The checks of what webhooks have named: when one begins, and where one ends. Plain functions for mutations. */

/** One round trip to the chain asks for so many transactions. */
const CHECKED_TOGETHER = 25;

/** A check that was started; only the latest of a hint counts. */
export const vCheck = v.object({ hintId: v.id("depositHints"), turn: v.number() });
export type Check = Infer<typeof vCheck>;

export const vSeenIn = v.object({ blockNumber: v.number(), blockHash: v.string() });

/** What the chain says of a transaction. Amounts are digits in USDC's smallest unit. */
export const vFinding = v.union(
  v.object({ kind: v.literal("absent") }),
  v.object({
    kind: v.literal("mined"),
    succeeded: v.boolean(),
    ...vSeenIn.fields,
    confirmations: v.number(),
    transfers: v.array(
      v.object({
        position: v.number(),
        logIndex: v.number(),
        from: v.string(),
        amount: v.string(),
        authorization: v.optional(v.string()),
      }),
    ),
  }),
);
export type Finding = Infer<typeof vFinding>;
export type Mined = Extract<Finding, { kind: "mined" }>;

/** What is known of a transaction that a webhook named, or `null`. */
export async function hintOf(ctx: QueryCtx, txHash: string): Promise<Doc<"depositHints"> | null> {
  return ctx.db
    .query("depositHints")
    .withIndex("by_txHash", (q) => q.eq("txHash", txHash))
    .unique();
}

/**
 * Whether the chain is to be asked about a transaction that is named again.
 * @param removed It is said that the chain has dropped it.
 */
export async function wantsCheck(
  ctx: QueryCtx,
  row: Doc<"depositHints">,
  removed: boolean,
  now: number,
): Promise<boolean> {
  // A check that is under way tells everybody who asks.
  if (row.state === "checking" && row.nextCheckAt > now) return false;
  if (row.state !== "settled" || removed) return true;
  return (await depositsOf(ctx, row.txHash)).every(({ state }) => state === "reversed");
}

/** Has the chain asked, after a while, in as few round trips as it allows. */
export async function startChecks(
  ctx: MutationCtx,
  checks: readonly Check[],
  delayMs: number,
): Promise<void> {
  for (let start = 0; start < checks.length; start += CHECKED_TOGETHER) {
    const together = checks.slice(start, start + CHECKED_TOGETHER);
    await ctx.scheduler.runAfter(delayMs, internal.payments.depositWork.check, { checks: together });
  }
}

/** Whether a mined transaction is as deep in the chain as this service wants it. */
export function isConfirmed({ confirmations }: Mined): boolean {
  return confirmations >= Number(setting("CONFIRMATIONS"));
}

/** Ends a check whose deposits are in line with the chain: settled, or to be looked at again. */
export async function endCheck(ctx: MutationCtx, hint: Doc<"depositHints">, finding: Finding): Promise<void> {
  if (finding.kind === "absent") {
    const waited = Date.now() - hint.openedAt;
    if (hint.state === "settled" || waited < (await patienceFor(ctx, hint))) return waitOn(ctx, hint);
    return settleHint(ctx, hint, "the chain does not know this transaction");
  }
  if (!finding.succeeded) return settleHint(ctx, hint, "the transaction failed");
  if (finding.transfers.length === 0) {
    return settleHint(ctx, hint, "it holds no USDC transfer to the platform wallet");
  }
  if (!isConfirmed(finding)) return waitOn(ctx, hint);
  await settleHint(ctx, hint, undefined);
}

/** How long the chain is asked for a transaction that it does not know, in ms. */
async function patienceFor(ctx: QueryCtx, { txHash }: Doc<"depositHints">): Promise<number> {
  const trusted = optional("DEPOSIT_WEBHOOK_SECRET") !== undefined;
  return trusted || (await depositsOf(ctx, txHash)).length > 0 ? GIVE_UP_AFTER_MS : GIVE_UP_UNSIGNED_AFTER_MS;
}

async function settleHint(
  ctx: MutationCtx,
  hint: Doc<"depositHints">,
  reason: string | undefined,
): Promise<void> {
  const checks = hint.state === "settled" ? hint.checks + 1 : 0;
  const nextCheckAt = reason === undefined ? nextRecheck(Date.now(), checks) : NEVER;
  await ctx.db.patch("depositHints", hint._id, { state: "settled", reason, checks, nextCheckAt });
}

/** Looks again later; soon by itself, else by the cron, which also takes over when that gets lost. */
export async function waitOn(ctx: MutationCtx, hint: Doc<"depositHints">): Promise<void> {
  const now = Date.now();
  const [checks, openedAt] = hint.state === "settled" ? [0, now] : [hint.checks, hint.openedAt];
  const delay = waitDelay(checks);
  const waiting = { state: "waiting" as const, reason: undefined, checks: checks + 1, openedAt };
  if (delay >= MINUTE) {
    await ctx.db.patch("depositHints", hint._id, { ...waiting, nextCheckAt: now + delay });
    return;
  }
  const turn = hint.turn + 1;
  const nextCheckAt = now + delay + CHECK_LEASE_MS;
  await ctx.db.patch("depositHints", hint._id, { ...waiting, turn, nextCheckAt });
  await startChecks(ctx, [{ hintId: hint._id, turn }], delay);
}
