import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { AppError } from "../../lib/errors";
import { worker } from "../../lib/work/desk";
import { collectNow } from "../../research/desk";
import { isShort } from "../../research/writing/result";
import { writeSnapshot } from "../../research/writing/snapshot";

/** Writes the report of a paid claim: a new one, never the cached on-demand result. After a failure it stays paid. */
export const write = worker({ claimId: v.id("paymentClaims") }, async (ctx, work) => {
  const begun = await ctx.runMutation(internal.payments.reports.progress.beginWriting, work);
  if (begun === null) return "over";
  // A caller who gives up comes back with the same proof, so a paid report may take its time.
  const { focus, shared } = begun;
  const { observationId } = shared;
  const occasion = "Paid research report";
  const task = { focus, observationId, occasion, wanted: "whole" as const, payer: "paid" as const };
  const [{ result, model, sources }] = await Promise.all([writeSnapshot(ctx, task), collectNow(ctx, shared)]);
  if (isShort(result)) throw new AppError("upstream", "The LLM gateway wrote too short a report");
  await ctx.runMutation(internal.payments.reports.progress.deliver, { ...work, result, model, sources });
});
