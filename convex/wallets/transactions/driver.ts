import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import { internalMutation, type ActionCtx } from "../../_generated/server";
import { AppError, failureOf, messageOf, type ErrorCode } from "../../lib/errors";
import { log } from "../../lib/log";
import { providerAction } from "../../lib/providerCalls";
import { SECOND, sleep } from "../../lib/time";
import { asAddress } from "../addresses";
import { byWalletId } from "../model";
import { oldest, byId, startDriver, vSigned, takeNonce, signedFields, auditSigning } from "./model";
import { follow } from "./outcome";
import { sendTransaction, affordable, type Job, type Plan } from "./plan";
import { handOut, signInTerm } from "./signing";
import { DRIVER_LEASE_MS, isHandedOut } from "./states";
import { prepareSwap } from "./swap";
import { vTransaction, vSwapTerms } from "./tables";

/** Between two questions to the chain about a transaction that holds up its wallet. */
const RESOLVE_PAUSE_MS = SECOND;

/**
 * Works through one wallet's transactions, one after another: the one owner of its next nonce. Whatever fails before
 * the signature ends the request with a reason; behind the signature only the chain decides.
 */
export const drive = providerAction({
  args: { walletId: v.string(), driver: v.number() },
  returns: v.null(),
  handler: async (ctx, term) => {
    await serve(ctx, term);
    return null;
  },
});

export type Term = { walletId: string; driver: number };

/** Works until there is nothing left to do in this term. @param own Stops behind this one, which its caller waits for. */
export async function serve(ctx: ActionCtx, term: Term, own?: Id<"transactions">): Promise<void> {
  const asked = { ...term, ...(own === undefined ? {} : { own }) };
  for (;;) {
    const work = await ctx.runMutation(internal.wallets.transactions.driver.nextWork, asked);
    if (work === null) return;
    const job: Job = { ...work, ...term };
    if (work.transaction.state === "prepared") await carryOut(ctx, job);
    else await resolve(ctx, job);
  }
}

/** Finds out about bytes that may not have arrived, before anything is signed behind them. */
async function resolve(ctx: ActionCtx, { transaction }: Job): Promise<void> {
  if (transaction.state === "signed") return handOut(ctx, transaction);
  try {
    await follow(ctx, transaction._id, { mends: true });
  } catch (error) {
    log.warn("wallets.unsettled", { transactionId: transaction._id, error: messageOf(error) });
  }
  await sleep(RESOLVE_PAUSE_MS);
}

async function carryOut(ctx: ActionCtx, job: Job): Promise<void> {
  const { transaction } = job;
  try {
    const plan = await planOf(ctx, job);
    const signed = await signInTerm(ctx, job, plan);
    const stored = await ctx.runMutation(internal.wallets.transactions.driver.storeSigned, {
      transactionId: transaction._id,
      signed,
      ...(plan.terms === undefined ? {} : { terms: plan.terms }),
    });
    if (stored) await handOut(ctx, { ...transaction, ...signed });
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null)
      log.error("wallets.unexpected", { transactionId: transaction._id, message: messageOf(error) });
    await ctx.runMutation(internal.wallets.transactions.outcome.advance, {
      transactionId: transaction._id,
      to: "failed",
      onlyFrom: "prepared",
      error: failure?.message ?? "Internal error",
      errorCode: callerCode(failure?.code),
    });
  }
}

function callerCode(code: ErrorCode | undefined): "invalid_request" | "upstream" | "internal" {
  return code === "invalid_request" || code === "upstream" ? code : "internal";
}

async function planOf(ctx: ActionCtx, job: Job): Promise<Plan> {
  const { request } = job.transaction;
  const from = asAddress(job.transaction.address);
  switch (request.kind) {
    case "send": {
      const transaction = sendTransaction(
        request.token,
        asAddress(request.toAddress),
        BigInt(request.amount),
      );
      return affordable(ctx, job, from, transaction, {
        token: request.token,
        amount: BigInt(request.amount),
      });
    }
    case "swap":
      return prepareSwap(ctx, job, request);
    case "approve":
    case "fill":
    case "settlement":
    case "anchor":
      throw new AppError("internal", "Approvals, fills, settlements and anchors are signed as they are made");
  }
}

const vWork = v.object({
  transaction: vTransaction,
  /** The wallet's next nonce as far as this service knows; `null` before its first transaction. */
  nextNonce: v.union(v.number(), v.null()),
});

/**
 * The driver's next piece of work; without any the driver's term ends in the same transaction. A caller who drives does so
 * for what they ordered (`own`): what is left behind that goes to a driver of its own.
 */
export const nextWork = internalMutation({
  args: { walletId: v.string(), driver: v.number(), own: v.optional(v.id("transactions")) },
  returns: v.union(vWork, v.null()),
  handler: async (ctx, { walletId, driver, own }): Promise<Infer<typeof vWork> | null> => {
    const wallet = await byWalletId(ctx, walletId);
    if (wallet.driver !== driver) return null;
    // What is signed and not known to have arrived goes first, and nothing is signed behind it: the next nonce would
    // wait for one that may never come. With nothing behind it, it is the follow-up's, at the follow-up's pace.
    const waiting = await oldest(ctx, walletId, "prepared");
    const unsettled = waiting === null ? null : await oldest(ctx, walletId, "unknown");
    const row = (await oldest(ctx, walletId, "signed")) ?? unsettled ?? waiting;
    if (row === null) {
      await ctx.db.patch("wallets", wallet._id, { driverUntil: 0 });
      return null;
    }
    await ctx.db.patch("wallets", wallet._id, { driverUntil: Date.now() + DRIVER_LEASE_MS });
    if (own !== undefined && isHandedOut((await byId(ctx, own)).state)) {
      await ctx.scheduler.runAfter(0, internal.wallets.transactions.driver.drive, { walletId, driver });
      return null;
    }
    return { transaction: row, nextNonce: wallet.nextNonce ?? null };
  },
});

/** Ends the term of a caller who is answered before their work is done; another driver goes on with it. */
export const endTerm = internalMutation({
  args: { walletId: v.string(), driver: v.number() },
  returns: v.null(),
  handler: async (ctx, { walletId, driver }) => {
    const wallet = await byWalletId(ctx, walletId);
    if (wallet.driver === driver) await startDriver(ctx, { ...wallet, driverUntil: 0 }, Date.now());
    return null;
  },
});

/** Sees that somebody works through a wallet's queue. */
export const resume = internalMutation({
  args: { walletId: v.string() },
  returns: v.null(),
  handler: async (ctx, { walletId }) => {
    await startDriver(ctx, await byWalletId(ctx, walletId), Date.now());
    return null;
  },
});

/**
 * Stores signed bytes and takes their nonce, in one transaction.
 * @returns `false` when the driver was replaced, the nonce is gone or the request was dropped: the bytes are void.
 */
export const storeSigned = internalMutation({
  args: { transactionId: v.id("transactions"), signed: vSigned, terms: v.optional(vSwapTerms) },
  returns: v.boolean(),
  handler: async (ctx, { transactionId, signed, terms }) => {
    const row = await byId(ctx, transactionId);
    if (row.state !== "prepared" || !(await takeNonce(ctx, signed))) return false;
    await ctx.db.patch("transactions", transactionId, {
      ...signedFields(signed),
      ...(terms === undefined ? {} : { terms }),
    });
    await auditSigning(ctx, row, `${row.request.kind} ${signed.txHash}`);
    return true;
  },
});
