import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, type ActionCtx } from "../../_generated/server";
import { AppError, failureOf, messageOf, type ErrorCode } from "../../lib/errors";
import { log } from "../../lib/log";
import { providerAction } from "../../lib/providerCalls";
import { SECOND, sleep } from "../../lib/time";
import { byWalletId } from "../model";
import { byId, startDriver, vSigned, vStep, takeNonce, take, signedFields, auditSigning } from "./model";
import { follow } from "./outcome";
import { sendable, type Job, type Plan } from "./plan";
import { nextInTerm, vAsked, vNext, type Asked, type Next } from "./queue";
import { sendOut, signInTerm, type Step } from "./signing";
import { prepareSwap } from "./swap";
import { vSwapTerms } from "./tables";

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
    await serve(ctx, term, await ctx.runMutation(internal.wallets.transactions.driver.nextWork, term));
    return null;
  },
});

/**
 * Works until there is nothing left to do in this term. What became of one piece of work is marked in the mutation that
 * names the next.
 * @returns The caller's own transaction, where they ordered one and it is handed out.
 */
export async function serve(ctx: ActionCtx, asked: Asked, first: Next): Promise<Doc<"transactions"> | null> {
  let next = first;
  while (next.work !== null) {
    const job: Job = { ...next.work, walletId: asked.walletId, driver: asked.driver };
    const step = job.transaction.state === "prepared" ? await carryOut(ctx, job) : await resolve(ctx, job);
    next =
      step === null
        ? await ctx.runMutation(internal.wallets.transactions.driver.nextWork, asked)
        : await ctx.runMutation(internal.wallets.transactions.driver.report, {
            ...asked,
            transactionId: job.transaction._id,
            ...step,
          });
  }
  return next.own;
}

/** Finds out about bytes that may not have arrived, before anything is signed behind them. */
async function resolve(ctx: ActionCtx, { transaction }: Job): Promise<Step | null> {
  if (transaction.state === "signed") return sendOut(transaction);
  try {
    await follow(ctx, transaction._id, { mends: true });
  } catch (error) {
    log.warn("wallets.unsettled", { transactionId: transaction._id, error: messageOf(error) });
  }
  await sleep(RESOLVE_PAUSE_MS);
  return null;
}

/** @returns What became of it; `null` where the bytes are void. */
async function carryOut(ctx: ActionCtx, job: Job): Promise<Step | null> {
  const { transaction } = job;
  try {
    const plan = await planOf(ctx, job);
    const signed = await signInTerm(ctx, job, plan);
    const stored = await ctx.runMutation(internal.wallets.transactions.driver.storeSigned, {
      transactionId: transaction._id,
      signed,
      ...(plan.terms === undefined ? {} : { terms: plan.terms }),
    });
    return stored ? await sendOut({ ...transaction, ...signed }) : null;
  } catch (thrown) {
    const failure = failureOf(thrown);
    if (failure === null)
      log.error("wallets.unexpected", { transactionId: transaction._id, message: messageOf(thrown) });
    const error = failure?.message ?? "Internal error";
    return { to: "failed", onlyFrom: "prepared", error, errorCode: callerCode(failure?.code) };
  }
}

function callerCode(code: ErrorCode | undefined): "invalid_request" | "upstream" | "internal" {
  return code === "invalid_request" || code === "upstream" ? code : "internal";
}

async function planOf(ctx: ActionCtx, job: Job): Promise<Plan> {
  const { transaction, nextNonce } = job;
  const { request } = transaction;
  switch (request.kind) {
    case "send":
      return { ...(await sendable(ctx, transaction, request)), nextNonce };
    case "swap":
      return prepareSwap(ctx, job, request);
    case "approve":
    case "fill":
    case "settlement":
    case "anchor":
      throw new AppError("internal", "Approvals, fills, settlements and anchors are signed as they are made");
  }
}

/** The driver's next piece of work; without any the driver's term ends in the same transaction. */
export const nextWork = internalMutation({
  args: vAsked,
  returns: vNext,
  handler: nextInTerm,
});

/** Marks what became of a piece of work, whoever drives by now. @returns The next one. */
export const report = internalMutation({
  args: { ...vAsked, transactionId: v.id("transactions"), ...vStep },
  returns: vNext,
  handler: async (ctx, { walletId, driver, own, transactionId, ...step }) => {
    await take(ctx, transactionId, step);
    return nextInTerm(ctx, { walletId, driver, ...(own === undefined ? {} : { own }) });
  },
});

/** Ends the term of a caller who is answered before their work is done; another driver goes on with it. */
export const endTerm = internalMutation({
  args: { walletId: v.string(), driver: v.number() },
  returns: v.null(),
  handler: async (ctx, { walletId, driver }) => {
    const wallet = await byWalletId(ctx, walletId);
    if (wallet.driver === driver) await startDriver(ctx, { ...wallet, leaseUntil: 0 }, Date.now());
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
