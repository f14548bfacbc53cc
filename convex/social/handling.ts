import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/deadlines";
import { AppError, failureOf, messageOf, type ErrorCode } from "../lib/errors";
import { log } from "../lib/log";
import { payerOf } from "../lib/payers";
import { providerAction } from "../lib/providerCalls";
import { MINUTE, SECOND } from "../lib/time";
import { completeStructured } from "../providers/structured";
import { valueOf } from "../wallets/holdings";
import { TOKENS, type Symbol } from "../wallets/tokens";
import { settle } from "../wallets/transactions/desk";
import { endMention } from "./endings";
import { isUnderWay, vTry, type vWanted } from "./execution";
import { TRIES, TRY_MS } from "./mentions";
import { intentQuestion } from "./prompts";
import { type Intent } from "./tables";
import { vIntent } from "./stored";

/** One try of one mention: the model reads it, the guards judge, prices are asked for, one mutation opens the trade. */

/** Before the second try, the third, and so on. */
const PAUSES_MS = [15 * SECOND, MINUTE, 2 * MINUTE];

/** What becomes of a mention after a try that failed. */
const vOutcome = v.union(v.literal("retry"), v.literal("failed"), v.literal("ignored"));

export const carryOut = providerAction({
  args: vTry,
  returns: v.null(),
  handler: async (ctx, one) => {
    const work = await ctx.runQuery(internal.social.handling.work, one);
    if (work === null) return null;
    try {
      const intent = work.intent ?? (await readIntent(ctx, work));
      const wanted = await ctx.runMutation(internal.social.execution.interpret, { ...one, intent });
      if (wanted === null) return null;
      const prices = await pricesOf(ctx, wanted);
      const transactionId = await ctx.runMutation(internal.social.execution.execute, { ...one, ...prices });
      if (transactionId === null) return null;
      // The trade ends without this as well; its author hears of it sooner with somebody looking.
      await settle(ctx, transactionId, deadlines.transaction);
    } catch (error) {
      const failure = failureOf(error);
      log.warn("social.try failed", { ...one, error: messageOf(error) });
      await ctx.runMutation(internal.social.handling.postpone, {
        ...one,
        reason: failure?.message ?? "Internal error",
        outcome: outcomeOf(failure?.code),
      });
    }
    return null;
  },
});

/** A limit of the service's is the order's fault; what may be gone soon is tried again. */
function outcomeOf(code: ErrorCode | undefined): Infer<typeof vOutcome> {
  if (code === "invalid_request") return "ignored";
  return code === undefined || code === "upstream" ? "retry" : "failed";
}

async function readIntent(
  ctx: ActionCtx,
  { text, userId }: { text: string; userId?: string },
): Promise<Intent> {
  const payer = payerOf({ ...(userId === undefined ? {} : { userId }), signedIn: true, address: null });
  const patience = { turnMs: deadlines.llmInteractive, attempts: 1, payer };
  const { value } = await completeStructured(ctx, intentQuestion(text), patience);
  return value;
}

/** @throws AppError `upstream` when the chain does not answer, or has no live price. */
async function pricesOf(ctx: ActionCtx, wanted: Infer<typeof vWanted>) {
  const { fromToken, toToken } = wanted;
  const price = async (token: Symbol): Promise<string> => {
    const amount = (10n ** BigInt(TOKENS[token].decimals)).toString();
    const value = await valueOf(ctx, { token, amount });
    if (value === null || value === "0")
      throw new AppError("upstream", `There is no live price for ${token}`);
    return value;
  };
  const fromPrice = await price(fromToken);
  return toToken === null ? { fromPrice } : { fromPrice, toPrice: await price(toToken) };
}

/** What a try starts from; `null` when another one has taken its place. */
export const work = internalQuery({
  args: vTry,
  returns: v.union(
    v.object({ text: v.string(), userId: v.optional(v.string()), intent: v.union(vIntent, v.null()) }),
    v.null(),
  ),
  handler: async (ctx, { mentionId, attempt }) => {
    const row = await ctx.db.get("mentions", mentionId);
    if (!isUnderWay(row, attempt)) return null;
    const { text, userId, intent = null } = row;
    return { text, intent, ...(userId === undefined ? {} : { userId }) };
  },
});

/** After a try that failed: another one later, or the end. */
export const postpone = internalMutation({
  args: { ...vTry, reason: v.string(), outcome: vOutcome },
  returns: v.null(),
  handler: async (ctx, { mentionId, attempt, reason, outcome }) => {
    const row = await ctx.db.get("mentions", mentionId);
    if (!isUnderWay(row, attempt)) return null;
    const now = Date.now();
    const pause = PAUSES_MS[attempt - 1];
    if (outcome !== "retry" || attempt >= TRIES || pause === undefined) {
      const status = outcome === "ignored" ? outcome : "failed";
      await endMention(ctx, mentionId, { status, reason }, now);
      return null;
    }
    await ctx.db.patch("mentions", mentionId, { leaseUntil: now + pause + TRY_MS });
    await ctx.scheduler.runAfter(pause, internal.social.mentions.begin, { mentionId, attempt: attempt + 1 });
    return null;
  },
});
