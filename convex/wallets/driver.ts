import { v } from "convex/values";
import { internal } from "../_generated/api";
import { type ActionCtx } from "../_generated/server";
import { AppError, failureOf, messageOf, type ErrorCode } from "../lib/errors";
import { log } from "../lib/log";
import { providerAction } from "../lib/providerCalls";
import { SECOND, sleep } from "../lib/time";
import { asAddress } from "./addresses";
import { follow } from "./followUp";
import { sendTransaction } from "./plans";
import { affordable, handOut, sign, type Job, type Plan } from "./steps";
import { prepareSwap } from "./swapping";

/** Between two questions to the chain about a transaction that holds up its wallet. */
const RESOLVE_PAUSE_MS = SECOND;

/**
 * Works through one wallet's transactions, one after another: the one owner of its next nonce. Whatever fails before
 * the signature ends the request with a reason; behind the signature only the chain decides.
 */
export const drive = providerAction({
  args: { walletId: v.string(), driver: v.number() },
  returns: v.null(),
  handler: async (ctx, { walletId, driver }) => {
    for (;;) {
      const work = await ctx.runMutation(internal.wallets.transactions.nextWork, { walletId, driver });
      if (work === null) return null;
      const job: Job = { ...work, walletId, driver };
      if (work.transaction.state === "prepared") await carryOut(ctx, job);
      else await resolve(ctx, job);
    }
  },
});

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
    const signed = await sign(ctx, job, plan);
    const stored = await ctx.runMutation(internal.wallets.transactions.storeSigned, {
      transactionId: transaction._id,
      signed,
      ...(plan.terms === undefined ? {} : { terms: plan.terms }),
    });
    if (stored) await handOut(ctx, { ...transaction, ...signed });
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null)
      log.error("wallets.unexpected", { transactionId: transaction._id, message: messageOf(error) });
    await ctx.runMutation(internal.wallets.transactions.advance, {
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
