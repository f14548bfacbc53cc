import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, type MutationCtx } from "../../_generated/server";
import { AppError, failureOf, messageOf } from "../../lib/errors";
import { vFailure } from "../../lib/lanes";
import { log } from "../../lib/log";
import { providerAction } from "../../lib/providerCalls";
import { claimObservation, collectNow, vShared } from "../../research/observations";
import { isShort } from "../../research/result";
import { writeSnapshot } from "../../research/snapshot";
import { vResult, vSourceStates } from "../../research/shapes";
import { claimAt, GENERATING_LEASE_MS, REPLAY_MS, vClaimWork, type ClaimWork } from "./model";
import { vTroubleCode } from "./tables";

/** Writing the report of a paid claim: once, of its own, never the cached on-demand result. */

/** Writes the report. Whatever fails leaves the claim paid. */
export const generate = providerAction({
  args: vClaimWork,
  returns: v.null(),
  handler: async (ctx, work) => {
    try {
      const begun = await ctx.runMutation(internal.payments.reports.writing.begin, work);
      if (begun === null) return null;
      // A caller who gives up comes back with the same proof: what is paid for is worth the wait.
      const { focus, shared } = begun;
      const { observationId } = shared;
      const occasion = "Paid research report";
      const task = { focus, observationId, occasion, wanted: "whole" as const, payer: "paid" as const };
      const [{ result, model, sources }] = await Promise.all([
        writeSnapshot(ctx, task),
        collectNow(ctx, shared),
      ]);
      if (isShort(result)) throw new AppError("upstream", "The LLM gateway wrote too short a report");
      await ctx.runMutation(internal.payments.reports.writing.deliver, { ...work, result, model, sources });
    } catch (error) {
      const upstream = failureOf(error)?.code === "upstream";
      if (!upstream) log.error("payments.unexpected", { claimId: work.claimId, message: messageOf(error) });
      await ctx.runMutation(internal.payments.reports.writing.fail, {
        ...work,
        code: upstream ? "upstream" : "internal",
        message: upstream ? messageOf(error) : "The report could not be written",
      });
    }
    return null;
  },
});

/** The evidence to write from, shared with whoever else researches this focus; `null` when the attempt was overtaken. */
export const begin = internalMutation({
  args: vClaimWork,
  returns: v.union(v.object({ focus: v.string(), shared: vShared }), v.null()),
  handler: async (ctx, work) => {
    const row = await claimAt(ctx, work, "generating");
    if (row === null) return null;
    await ctx.db.patch("paymentClaims", row._id, { leaseUntil: Date.now() + GENERATING_LEASE_MS });
    const { focus } = row.order;
    return { focus, shared: await claimObservation(ctx, focus, "paid") };
  },
});

export const fail = internalMutation({
  args: { ...vClaimWork, code: vTroubleCode, message: v.string() },
  returns: v.null(),
  handler: (ctx, { code, message, ...work }) => leaveToPayer(ctx, work, { code, message }),
});

/** For the lane: the attempt ended with its server. */
export const lost = internalMutation({
  args: { ...vClaimWork, ...vFailure },
  returns: v.null(),
  handler: async (ctx, { claimId, attempt }) =>
    leaveToPayer(
      ctx,
      { claimId, attempt },
      { code: "upstream", message: "The writing of the report was interrupted" },
    ),
});

/** The claim stays paid: the payer asks again. */
async function leaveToPayer(
  ctx: MutationCtx,
  work: ClaimWork,
  trouble: Omit<NonNullable<Doc<"paymentClaims">["trouble"]>, "attempt">,
): Promise<null> {
  const row = await claimAt(ctx, work, "generating");
  if (row === null) return null;
  const { attempt } = work;
  await ctx.db.patch("paymentClaims", row._id, {
    state: "paid",
    leaseUntil: 0,
    trouble: { attempt, ...trouble },
  });
  return null;
}

export const deliver = internalMutation({
  args: { ...vClaimWork, result: vResult, model: v.string(), sources: vSourceStates },
  returns: v.null(),
  handler: async (ctx, { result, model, sources, ...work }) => {
    const row = await claimAt(ctx, work, "generating");
    if (row === null) return null;
    const generatedAt = Date.now();
    await ctx.db.patch("paymentClaims", row._id, {
      state: "delivered",
      leaseUntil: 0,
      report: { result, model, sources, generatedAt },
      forgetAt: generatedAt + REPLAY_MS,
      trouble: undefined,
    });
    return null;
  },
});
