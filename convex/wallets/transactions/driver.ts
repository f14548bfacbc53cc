import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import { AppError, failureOf, messageOf, type ErrorCode } from "../../lib/errors";
import { log } from "../../lib/log";
import { providerAction } from "../../lib/outside/providerCalls";
import { SECOND, sleep } from "../../lib/time";
import { follow } from "./progress/followUp";
import { sendable, type Job, type Plan } from "./terms/plan";
import type { Asked, Next } from "./progress/queue";
import { sendOut, signInTerm, type Step } from "./progress/signatures";
import { prepareSwap } from "./swap";

/** Pause between two questions to the chain about a transaction that holds up its wallet. */
const RESOLVE_PAUSE_MS = SECOND;

/**
 * Works through one wallet's transactions, one after another: the only owner of its next nonce. A failure before the
 * signature ends the request with a reason; after the signature only the chain decides.
 */
export const drive = providerAction({ walletId: v.string(), driver: v.number() }, async (ctx, term) => {
  await serve(ctx, term, await ctx.runMutation(internal.wallets.transactions.progress.queue.nextWork, term));
});

/**
 * Works until this term has nothing left to do. The outcome of one piece of work is stored in the mutation that names
 * the next.
 * @returns The caller's own transaction, if they ordered one and it was sent.
 */
export async function serve(ctx: ActionCtx, asked: Asked, first: Next): Promise<Doc<"transactions"> | null> {
  let next = first;
  while (next.work !== null) {
    const job: Job = { ...next.work, walletId: asked.walletId, driver: asked.driver };
    const step = job.transaction.state === "prepared" ? await carryOut(ctx, job) : await resolve(ctx, job);
    next =
      step === null
        ? await ctx.runMutation(internal.wallets.transactions.progress.queue.nextWork, asked)
        : await ctx.runMutation(internal.wallets.transactions.progress.queue.report, {
            ...asked,
            transactionId: job.transaction._id,
            ...step,
          });
  }
  return next.own;
}

/** Clarifies whether signed bytes have arrived, before anything is signed after them. */
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

/** @returns The outcome; `null` if the bytes are void. */
async function carryOut(ctx: ActionCtx, job: Job): Promise<Step | null> {
  const { transaction } = job;
  try {
    const plan = await planOf(ctx, job);
    const signed = await signInTerm(ctx, job, plan);
    const stored = await ctx.runMutation(internal.wallets.transactions.progress.queue.storeSigned, {
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

function callerCode(code: ErrorCode | undefined): NonNullable<Step["errorCode"]> {
  return code === "invalid_request" || code === "upstream" || code === "paused" || code === "forbidden"
    ? code
    : "internal";
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
      throw new AppError(
        "internal",
        "Approvals, fills, settlements and anchors are signed where they are made, not here",
      );
  }
}
