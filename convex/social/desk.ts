import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { payerOf } from "../lib/budget/payers";
import { deadlines } from "../lib/outside/deadlines";
import { AppError } from "../lib/errors";
import { worker } from "../lib/work/desk";
import { completeStructured } from "../providers/models/structure";
import { valuesOf } from "../wallets/holdings";
import { TOKENS, type Symbol } from "../wallets/tokens";
import { carry } from "../wallets/orders/desk";
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
  const orderId = await ctx.runMutation(internal.social.execution.execute, { ...one, ...prices });
  if (orderId === null) return "over";
  await carry(ctx, orderId, deadlines.transaction);
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
  const priceOf = async (token: Symbol) => {
    const amount = (10n ** BigInt(TOKENS[token].decimals)).toString();
    const { value, etherPrice } = await valuesOf({ token, amount });
    if (value === null || value === 0n) throw new AppError("upstream", `There is no live price for ${token}`);
    return { price: value.toString(), etherPrice: etherPrice.toString() };
  };
  const { price: fromPrice, etherPrice } = await priceOf(fromToken);
  const prices = { fromPrice, etherPrice };
  return toToken === null ? prices : { ...prices, toPrice: (await priceOf(toToken)).price };
}
