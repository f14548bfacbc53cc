import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internalMutation } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { approvalFromNote, approvingLink } from "../../messenger/model";
import { vButton, vSpan } from "../../messenger/tables";
import { vFound, vRequest } from "../tables";
import { isUsers } from "./limits";
import { earlierOf } from "./model";
import { ask } from "./questions";

/**
 * Stores an order that was begun in the owner's chat, once per key: it waits for the tap like orders of others.
 * @returns The card to show; `null` if it was stored before.
 */
export const propose = internalMutation({
  args: {
    userId: v.string(),
    walletId: v.string(),
    request: vRequest,
    messengerId: v.string(),
    idempotencyKey: v.string(),
    value: v.optional(v.string()),
    etherPrice: v.string(),
    minBuyAmount: v.optional(v.string()),
    mostFee: v.optional(v.string()),
    found: vFound,
  },
  returns: v.union(
    v.object({ paragraphs: v.array(v.array(vSpan)), buttons: v.array(v.array(vButton)) }),
    v.null(),
  ),
  handler: async (ctx, { messengerId, found, value, etherPrice, request, ...given }) => {
    if (!isUsers(request)) return null;
    const { userId } = given;
    const order = {
      ...given,
      request,
      by: "chat" as const,
      source: "telegram" as const,
      address: null,
      value: value === undefined ? null : BigInt(value),
      etherPrice: BigInt(etherPrice),
    };
    if ((await earlierOf(ctx, order)) !== null) return null;
    const now = Date.now();
    const account = await approvingLink(ctx, userId, now);
    if (account?.messengerId !== messengerId) {
      const later = await approvalFromNote(ctx, userId, now);
      const what = later === "" ? "orders nothing for that user" : "cannot order yet";
      throw new AppError("forbidden", `This account ${what}${later}`);
    }
    const { paragraphs, buttons } = await ask(ctx, { ...order, account, found, asker: null });
    return { paragraphs: parse(v.array(v.array(vSpan)), paragraphs), buttons };
  },
});
