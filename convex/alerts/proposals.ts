import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type ActionCtx, type QueryCtx } from "../_generated/server";
import { payerOf } from "../lib/payers";
import { deadlines } from "../lib/deadlines";
import { optional } from "../lib/env";
import { AppError, failureOf } from "../lib/errors";
import { charge, type Caller } from "../lib/limits";
import { counted } from "../lib/providerCalls";
import { wellFormed } from "../lib/text";
import type { Condition } from "./grammar";
import { alertsOf, confirm, ownAlert, propose, switchOff, vAlert, vProposal, type Alert } from "./model";
import { readPhrase } from "./phrases";
import { replayOf, type Replay } from "./replays";
import { sinkOf, sinksOf, vSink } from "./sinkRows";

/** From a person's words to an alert: read, replayed, kept as a proposal, confirmed. */

/** The longest request. */
const MAX_ASKED = 300;

export type Proposed = { alert: Alert; replay: Replay };

/**
 * Reads an alert's words and keeps it as a proposal, with when it would have fired. Words that no phrase of the grammar fits
 * are shown to the model, if there is one; the grammar then decides about its proposal. For actions.
 * @throws AppError `invalid_request`, saying what to say instead; `rate_limited` where the model was needed and the caller has
 * asked too often.
 */
export const proposeAlert = counted(
  async (
    ctx,
    { caller, userId, text }: { caller: Caller; userId: string; text: string },
  ): Promise<Proposed> => {
    const asked = wellFormed(text).trim();
    if (asked === "" || asked.length > MAX_ASKED)
      throw new AppError("invalid_request", `text must be 1 to ${MAX_ASKED} characters`);
    const { condition, readBy } = await understand(ctx, asked, caller);
    const replay = await replayOf(ctx, condition);
    const proposal = { userId, asked, condition, readBy };
    const alert: Alert = await ctx.runMutation(internal.alerts.proposals.keep, proposal);
    return { alert, replay };
  },
);

async function understand(
  ctx: ActionCtx,
  asked: string,
  caller: Caller,
): Promise<{ condition: Condition; readBy: "grammar" | "model" }> {
  const read = readPhrase(asked);
  if (read.kind === "condition") return { condition: read.condition, readBy: "grammar" };
  const condition = read.kind === "unknown" ? await proposedBy(ctx, asked, caller) : null;
  if (condition === null) throw new AppError("invalid_request", read.say);
  return { condition, readBy: "model" };
}

/** What the model makes of it, if the grammar and the words agree; `null` without a model, or where it fails. */
async function proposedBy(ctx: ActionCtx, asked: string, caller: Caller): Promise<Condition | null> {
  if (optional("LLM_GATEWAY_API_KEY") === undefined) return null;
  await charge(ctx, "chat", caller);
  const { completeStructured } = await import("../providers/structured");
  const { alertQuestion, conditionOf } = await import("./prompts");
  const patience = { turnMs: deadlines.alertWords, attempts: 1, payer: payerOf(caller) };
  try {
    const { value } = await completeStructured(ctx, alertQuestion(asked), patience);
    return conditionOf(value, asked);
  } catch (error) {
    if (failureOf(error)?.code !== "upstream") throw error;
    return null;
  }
}

export const keep = internalMutation({
  args: vProposal,
  returns: vAlert,
  handler: propose,
});

/** @throws AppError as `model.confirm` does; `not_found` for none of the user's. */
export const accept = internalMutation({
  args: { userId: v.string(), alertId: v.string(), address: v.union(v.string(), v.null()) },
  returns: vAlert,
  handler: async (ctx, { userId, alertId, address }) =>
    confirm(ctx, await ownAlert(ctx, userId, alertId), address),
});

/** @throws AppError `not_found` for none of the user's. */
export const end = internalMutation({
  args: { userId: v.string(), alertId: v.string() },
  returns: vAlert,
  handler: async (ctx, { userId, alertId }) => switchOff(ctx, await ownAlert(ctx, userId, alertId)),
});

export const vEverything = v.object({ alerts: v.array(vAlert), webhooks: v.array(vSink) });

/** A user's alerts and webhooks. */
export async function everythingOf(ctx: QueryCtx, userId: string): Promise<Infer<typeof vEverything>> {
  return {
    alerts: await alertsOf(ctx, userId),
    webhooks: (await sinksOf(ctx, userId)).map(sinkOf),
  };
}

export const all = internalQuery({
  args: { userId: v.string() },
  returns: vEverything,
  handler: (ctx, { userId }) => everythingOf(ctx, userId),
});
