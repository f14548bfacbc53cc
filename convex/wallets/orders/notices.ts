import { v } from "convex/values";
import { enqueueCard, linkedChat } from "../../messenger/model";
import { FREEZE } from "../../messenger/owners";
import { byWalletId } from "../model";
import { byId } from "../transactions/model";
import { shortfallOf } from "../transactions/states";
import { requestWords } from "./cards";
import { change } from "../../lib/changes";

/**
 * Notifies the linked account of an order when it is opened, with a button that stops what is not signed yet.
 * @param args.way How it was ordered, in words.
 */
export const tell = change(
  { transactionId: v.id("transactions"), way: v.string() },
  async (ctx, { transactionId, way }) => {
    const { userId, walletId, request } = await byId(ctx, transactionId);
    const chatId = await linkedChat(ctx, userId);
    if (chatId === null) return;
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
  },
);

/** Notifies the account of the outcome of an order that was tapped there: the caller may never look again. */
export const ended = change({ transactionId: v.id("transactions") }, async (ctx, { transactionId }) => {
  const row = await byId(ctx, transactionId);
  const { userId, request, state, txHash, minedAs = txHash } = row;
  const chatId = await linkedChat(ctx, userId);
  if (chatId === null) return;
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
});
