import { v } from "convex/values";
import { internalMutation } from "../../_generated/server";
import { enqueueCard, linkedChat } from "../../messenger/model";
import { FREEZE } from "../../messenger/owners";
import { byWalletId } from "../model";
import { byId } from "../transactions/model";
import { shortfallOf } from "../transactions/states";
import { requestWords } from "./cards";

/**
 * Tells the account that an owner has linked of an order as it is opened, with a button that stops what is not signed yet.
 * @param args.way How it was ordered, in words.
 */
export const tell = internalMutation({
  args: { transactionId: v.id("transactions"), way: v.string() },
  returns: v.null(),
  handler: async (ctx, { transactionId, way }) => {
    const { userId, walletId, request } = await byId(ctx, transactionId);
    const chatId = await linkedChat(ctx, userId);
    if (chatId === null) return null;
    const payer = await byWalletId(ctx, walletId);
    const lines = [
      `From your ${payer.kind} wallet ${payer.address}`,
      ...(request.kind === "send" ? [`To ${request.toAddress}`] : []),
      `Ordered ${way}. If that was not you, freeze your account.`,
    ];
    await enqueueCard(ctx, {
      ...{ userId, chatId, bot: "default", kind: "order" },
      paragraphs: [[{ bold: requestWords(request, undefined) }], ...lines.map((line) => [line])],
      buttons: FREEZE,
    });
    return null;
  },
});

/** Tells the account what has become of an order that was begun there. */
export const ended = internalMutation({
  args: { transactionId: v.id("transactions") },
  returns: v.null(),
  handler: async (ctx, { transactionId }) => {
    const row = await byId(ctx, transactionId);
    const { userId, request, state, txHash, minedAs = txHash } = row;
    const chatId = await linkedChat(ctx, userId);
    if (chatId === null) return null;
    const fault = state === "failed" ? (row.error ?? "It has failed") : shortfallOf(row);
    const lines = [
      requestWords(request, undefined),
      ...(fault === null ? [] : [fault]),
      ...(minedAs === undefined ? [] : [`Transaction ${minedAs}`]),
    ];
    await enqueueCard(ctx, {
      ...{ userId, chatId, bot: "default", kind: "order" },
      paragraphs: [[{ bold: fault === null ? "✅ Done" : "⚠️ Not done" }], ...lines.map((line) => [line])],
    });
    return null;
  },
});
