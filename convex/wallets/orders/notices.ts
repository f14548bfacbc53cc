import { v } from "convex/values";
import { change } from "../../lib/changes";
import { enqueueCard, linkedChat } from "../../messenger/model";
import { FREEZE } from "../../messenger/notices";
import { byWalletId } from "../model";
import { endCard, requestWords } from "./cards";
import { byId, faultOf, type Order } from "./model";

/** Notifies the linked account of an order when it is opened, with a button that stops what is not signed yet. */
export const begun = change({ orderId: v.id("orders") }, async (ctx, { orderId }) => {
  const row = await byId(ctx, orderId);
  const { userId, walletId, request, keyId } = row;
  const chatId = await linkedChat(ctx, userId);
  if (chatId === null) return;
  const payer = await byWalletId(ctx, walletId);
  const key = keyId === undefined ? null : await ctx.db.get("keys", keyId);
  const lines = [
    `From your ${payer.kind} wallet ${payer.address}`,
    ...(request.kind === "send" ? [`To ${request.toAddress}`] : []),
    `Ordered ${wayOf(row, key?.name)}. If that was not you, freeze your account.`,
  ];
  await enqueueCard(ctx, {
    userId,
    chatId,
    bot: "default",
    kind: "order",
    paragraphs: [[{ bold: requestWords(request, undefined) }], ...lines.map((line) => [line])],
    buttons: FREEZE,
  });
});

/** How an order came, in words for its owner. */
function wayOf({ by, keyId }: Order, name: string | undefined): string {
  if (by === "post") return "by a post of yours";
  if (keyId !== undefined) return `with your key ${name ?? "that is gone"}`;
  return by === "id" ? "by your account id alone" : "with your token";
}

/** Notifies the account of the outcome of an order that was tapped for there: the caller may never look again. */
export const ended = change({ orderId: v.id("orders") }, async (ctx, { orderId }) => {
  const row = await byId(ctx, orderId);
  const chatId = await linkedChat(ctx, row.userId);
  if (chatId === null) return;
  await enqueueCard(ctx, {
    userId: row.userId,
    chatId,
    bot: "default",
    kind: "order",
    paragraphs: endCard(row, faultOf(row)),
  });
});
