import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { checksummed } from "../lib/money/addresses";
import { formatUnits } from "../lib/money/amounts";
import { setting } from "../lib/env";
import { AppError } from "../lib/errors";
import { cancel, underWay, vJob, type Job } from "../lib/work/jobs";
import { listedOf } from "../wallets/allowlist";
import { walletOf } from "../wallets/model";
import { vSymbol, type UserRequest } from "../wallets/tables";
import { recordUnreadable, tradeOf } from "../wallets/trades";
import { openOrder } from "../wallets/orders/model";
import type { Command } from "./posts/commands";
import { endMention } from "./endings";
import { judge } from "./posts/guards";
import { limitsOf } from "./limits";
import { authorById } from "./model";
import { countsBought, sumOf, type Prices } from "./posts/orders";
import { vIntent } from "./validators";

/** From the model's reading to an open trade: a mention that may not be executed ends here, with its reason. */

const SLIPPAGE_BPS = 100;

/** Identifies one attempt; results of an earlier one change nothing. */
export const vTry = { mentionId: v.id("mentions"), job: vJob };

/** The mention of an attempt; `null` if another attempt has replaced it, or the mention has ended. */
export async function underWayAt(
  ctx: QueryCtx,
  { mentionId, job }: { mentionId: Id<"mentions">; job: Job },
): Promise<Doc<"mentions"> | null> {
  return (await underWay(ctx, job)) === null ? null : ctx.db.get("mentions", mentionId);
}

/** The live prices that a command needs, and the wallet it would spend. */
export const vWanted = v.object({
  fromToken: vSymbol,
  /** `null` unless its price is needed. */
  toToken: v.union(vSymbol, v.null()),
});

/** Stores the model's reading, and checks it. @returns `null` if there is nothing to execute. */
export const interpret = internalMutation({
  args: { ...vTry, intent: vIntent },
  returns: v.union(vWanted, v.null()),
  handler: async (ctx, { mentionId, job, intent }) => {
    const row = await underWayAt(ctx, { mentionId, job });
    if (row === null) return null;
    await ctx.db.patch("mentions", mentionId, { intent });
    const agreed = await agreedOn(ctx, { ...row, intent });
    if (agreed === null) return null;
    const { command } = agreed;
    const toToken = countsBought(command) ? command.toToken : null;
    return { fromToken: command.fromToken, toToken };
  },
});

/**
 * Opens the trade: permission, limits, transaction and the link between the two rows are decided in this one
 * transaction.
 * @returns `null` if the trade is not allowed.
 * @throws AppError `invalid_request` beyond a limit in 24 hours.
 */
export const execute = internalMutation({
  args: {
    ...vTry,
    /** Micro-USD per whole token, digits. */
    fromPrice: v.string(),
    toPrice: v.optional(v.string()),
    /** Of one ether. */
    etherPrice: v.string(),
  },
  returns: v.union(v.id("orders"), v.null()),
  handler: async (ctx, { mentionId, job, fromPrice, toPrice, etherPrice }) => {
    const row = await underWayAt(ctx, { mentionId, job });
    if (row === null) return null;
    const agreed = await agreedOn(ctx, row);
    if (agreed === null) return null;
    const to = toPrice === undefined ? null : BigInt(toPrice);
    return openTrade(ctx, row, agreed, { from: BigInt(fromPrice), to }, BigInt(etherPrice));
  },
});

type Agreed = { userId: string; command: Command; wallet: Doc<"wallets"> };

/** The command that model, text and user agree on. Otherwise the mention ends, and this is `null`. */
async function agreedOn(ctx: MutationCtx, row: Doc<"mentions">): Promise<Agreed | null> {
  const now = Date.now();
  const end = async (status: "ignored" | "failed", reason: string): Promise<null> => {
    await endMention(ctx, row._id, { status, reason }, now);
    return null;
  };
  const author = await authorById(ctx, row.authorId);
  if (author === null || author.userId !== row.userId || !author.enabled) {
    return end("ignored", "Social trading was switched off");
  }
  const { userId } = author;
  if (row.intent === undefined) return null;
  const verdict = judge(row.text, row.intent, Number(setting("SOCIAL_TRADE_CONFIDENCE")));
  if (verdict.kind === "refused") {
    const { reason, unreadable } = verdict;
    // It is unclear which trade it wants; that is recorded as a trade of unknown action.
    if (unreadable) {
      const tradeId = await recordUnreadable(ctx, { userId, mentionId: row._id, error: reason, now });
      await ctx.db.patch("mentions", row._id, { tradeId });
    }
    return end("ignored", reason);
  }
  const { command } = verdict;
  if (command.recipient !== null) {
    const address = checksummed(command.recipient);
    const listed = address === null ? null : await listedOf(ctx, userId, address);
    if (listed === null || listed.countsFrom > now)
      return end("ignored", "The recipient is not on the user's list, or not for two hours yet");
  }
  const wallet = await walletOf(ctx, userId, "custody");
  return wallet === null
    ? end("failed", "No wallet was found for this user: connect first")
    : { userId, command, wallet };
}

async function openTrade(
  ctx: MutationCtx,
  row: Doc<"mentions">,
  { userId, command, wallet }: Agreed,
  prices: Prices,
  etherPrice: bigint,
): Promise<Id<"orders"> | null> {
  const now = Date.now();
  const refuse = async (reason: string): Promise<null> => {
    await endMention(ctx, row._id, { status: "ignored", reason }, now);
    return null;
  };
  const sum = sumOf(command, prices);
  if (sum === null) return refuse("The amount is smaller or finer than the token can be divided");
  const { perTrade, perDay } = await limitsOf(ctx, userId);
  if (sum.value > perTrade)
    return refuse(`A trade by mention may be worth at most ${formatUnits(perTrade, 6)} USD`);
  const onSettled: string = await createFunctionHandle(internal.social.mentions.settle);
  const orderId = await openOrder(ctx, {
    userId,
    walletId: wallet.walletId,
    request: requestOf(command, sum.amount),
    source: "x",
    idempotencyKey: `x:${row.tweetId}`,
    value: sum.value,
    etherPrice,
    // The author has linked this account, and signed in to do so.
    by: "post",
    most: perDay,
    address: null,
    mentioned: { mentionId: row._id, action: command.action, onSettled },
  });
  await ctx.db.patch("mentions", row._id, { tradeId: await tradeFor(ctx, orderId, row._id) });
  // From here on only the order continues.
  await cancel(ctx, row._id);
  return orderId;
}

function requestOf({ fromToken, toToken, recipient }: Command, amount: bigint): UserRequest {
  const digits = amount.toString();
  if (toToken !== null) {
    return { kind: "swap", fromToken, toToken, amount: digits, slippageBps: SLIPPAGE_BPS };
  }
  const toAddress = checksummed(recipient ?? "");
  if (toAddress === null) throw new AppError("internal", "A send has no recipient");
  return { kind: "send", token: fromToken, toAddress, amount: digits };
}

/** @throws AppError `conflict` if the user's own HTTP call has used the mention's key before. */
async function tradeFor(
  ctx: MutationCtx,
  orderId: Id<"orders">,
  mentionId: Id<"mentions">,
): Promise<Id<"trades">> {
  const trade = await tradeOf(ctx, orderId);
  if (trade?.mentionId !== mentionId) {
    throw new AppError("conflict", "This mention's key was used for another request");
  }
  return trade._id;
}
