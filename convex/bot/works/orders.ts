import { internal } from "../../_generated/api";
import { AppError } from "../../lib/errors";
import { charge } from "../../lib/limits/charges";
import { NO_WALLET } from "../../wallets/model";
import { foundFor } from "../../wallets/orders/execution";
import { notice } from "../cards";
import { answerOf, type Workers } from "./work";

/** An order in the chat, rehearsed and shown: its tap carries it out. For actions. */

/** The same default as at the endpoint. */
const SLIPPAGE_BPS = 100;

export const orderWorkers: Workers<"order"> = {
  order: async (ctx, { workId, sender, work }) => {
    const { userId, order } = work;
    await charge(ctx, "transfer", { userId, address: null });
    const wallet = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind: "custody" });
    if (wallet === null) throw new AppError("not_found", NO_WALLET);
    const { walletId, address } = wallet;
    const request = order.kind === "send" ? order : { ...order, slippageBps: SLIPPAGE_BPS };
    const payer = { userId, walletId, address };
    const found = await foundFor(ctx, { payer, request, caller: { address: null }, asked: "chat" });
    const card = await ctx.runMutation(internal.wallets.orders.chatOrders.propose, {
      userId,
      walletId,
      request,
      messengerId: sender.messengerId,
      idempotencyKey: `chat_${workId}`,
      ...found,
    });
    return card === null ? answerOf(notice("It was shown already.")) : { kind: "answer", ...card };
  },
};
