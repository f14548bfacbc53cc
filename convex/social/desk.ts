import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { payerOf } from "../lib/budget/payers";
import { deadlines } from "../lib/outside/deadlines";
import { AppError } from "../lib/errors";
import { worker } from "../lib/work/desk";
import { completeStructured } from "../providers/models/structure";
import { valueOf } from "../wallets/holdings";
import { TOKENS, type Symbol } from "../wallets/tokens";
import { settle } from "../wallets/transactions/desk";
import type { vWanted } from "./execution";
import { intentQuestion } from "./posts/prompts";
import type { Intent } from "./tables";

/** One attempt at one mention: the model reads it, the guards check it, prices are fetched, one mutation opens the trade. */

export const carryOut = worker({ mentionId: v.id("mentions") }, async (ctx, one) => {
  const work = await ctx.runMutation(internal.social.mentions.begin, one);
  if (work === null) return "over";
  const intent = work.intent ?? (await readIntent(ctx, work));
  const wanted = await ctx.runMutation(internal.social.execution.interpret, { ...one, intent });
  if (wanted === null) return "over";
  const prices = await pricesOf(ctx, wanted);
  const transactionId = await ctx.runMutation(internal.social.execution.execute, { ...one, ...prices });
  if (transactionId === null) return "over";
  // The trade ends without this as well; its author only hears of it sooner if somebody waits.
  await settle(ctx, transactionId, deadlines.transaction);
});

async function readIntent(
  ctx: ActionCtx,
  { text, userId }: { text: string; userId?: string },
): Promise<Intent> {
  const payer = payerOf({ ...(userId === undefined ? {} : { userId }), signedIn: true, address: null });
  const patience = { turnMs: deadlines.llmInteractive, attempts: 1, payer };
  const { value } = await completeStructured(ctx, intentQuestion(text), patience);
  return value;
}

/** @throws AppError `upstream` if the chain does not answer, or has no live price. */
async function pricesOf(ctx: ActionCtx, wanted: Infer<typeof vWanted>) {
  const { fromToken, toToken } = wanted;
  const price = async (token: Symbol): Promise<string> => {
    const amount = (10n ** BigInt(TOKENS[token].decimals)).toString();
    const value = await valueOf({ token, amount });
    if (value === null || value === "0")
      throw new AppError("upstream", `There is no live price for ${token}`);
    return value;
  };
  const fromPrice = await price(fromToken);
  return toToken === null ? { fromPrice } : { fromPrice, toPrice: await price(toToken) };
}
