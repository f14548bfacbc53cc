import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internalMutation } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { vButton, vSpan } from "../../messenger/tables";
import { approvingLink, approvalFromNote } from "../../messenger/model";
import { CHAT, TOKEN } from "../../users/access";
import { levelOf, liveRules } from "../../users/levels";
import { askedWith } from "./approvals";
import { vFound } from "./cards";
import { judged, write } from "./proposals";
import { vWish } from "./tables";

/**
 * Orders from the owner's chat. They wait for the tap like orders of others, in the same table and under the same
 * rules. They may move little (`CHAT`), because anybody who has the chat can both order and tap.
 */

/** Stores an order, once per key. @returns The card to show; `null` if it was stored before. */
export const propose = internalMutation({
  args: { userId: v.string(), messengerId: v.string(), wish: vWish, key: v.string(), found: vFound },
  returns: v.union(
    v.object({ paragraphs: v.array(v.array(vSpan)), buttons: v.array(v.array(vButton)) }),
    v.null(),
  ),
  handler: async (ctx, { userId, messengerId, wish, key, found }) => {
    if (wish.kind !== "order" || (await askedWith(ctx, userId, key)) !== null) return null;
    const now = Date.now();
    const account = await approvingLink(ctx, userId, now);
    if (account?.messengerId !== messengerId) {
      const later = await approvalFromNote(ctx, userId);
      const what = later === "" ? "orders nothing for that user" : "cannot order yet";
      throw new AppError("forbidden", `This account ${what}${later}`);
    }
    if ((await levelOf(ctx, userId, now)).level === "closed")
      throw new AppError("forbidden", `Your account is closed: an order needs ${TOKEN}`);
    const { version: policyVersion } = await liveRules(ctx, userId);
    const movedUsd = await judged(ctx, userId, wish, CHAT, now);
    const question = { userId, wish, account, policyVersion, key, found, movedUsd, asker: null };
    const { paragraphs, buttons } = await write(ctx, question);
    return { paragraphs: parse(v.array(v.array(vSpan)), paragraphs), buttons };
  },
});
