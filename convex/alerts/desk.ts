import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { gather } from "../evidence/desk";
import { deadlines } from "../lib/outside/deadlines";
import { optional } from "../lib/env";
import { AppError, failureOf } from "../lib/errors";
import { charge } from "../lib/limits/charges";
import type { Caller } from "../lib/limits/callers";
import { payerOf } from "../lib/budget/payers";
import { counted, providerAction } from "../lib/outside/providerCalls";
import { wellFormed } from "../lib/text/strings";
import { MINUTE } from "../lib/time";
import type { Condition } from "./language/conditions";
import type { Alert } from "./model";
import { readPhrase } from "./language/phrases";
import { replayOf, type Replay } from "./history/replays";

/** Where alerts are read from people's words, and what nobody else asks for is collected. */

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
  const { completeStructured } = await import("../providers/models/structure");
  const { alertQuestion, conditionOf } = await import("./language/prompts");
  const patience = { turnMs: deadlines.alertWords, attempts: 1, payer: payerOf(caller) };
  try {
    const { value } = await completeStructured(ctx, alertQuestion(asked), patience);
    return conditionOf(value, asked);
  } catch (error) {
    if (failureOf(error)?.code !== "upstream") throw error;
    return null;
  }
}

/** Has the funding rates collected where nobody else has, and compares them. One answer has those of all coins. */
export const askForRates = providerAction({
  args: { subjects: v.array(v.string()) },
  returns: v.null(),
  handler: async (ctx, { subjects }) => {
    // A failure is noted where facts are collected; the next tick asks again.
    await gather(ctx, [{ collector: "perpetuals", subject: "" }], { freshMs: 9 * MINUTE });
    for (const subject of subjects) await ctx.runMutation(internal.alerts.watch.compare, { subject });
    return null;
  },
});
