import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { alertsOf, findAlert, switchOff } from "../../alerts/model";
import { configOf, saveConfig } from "../../messenger/model";
import { endWebhook, webhooksOf } from "../../messenger/webhooks/events";
import { activeShiftsOf } from "../../research/model";
import type { vLeftover } from "../tables";

/**
 * What is set on a `userId` without an owner; anybody who knew the id may have set it. A claim shows it, and ends what the
 * claimer does not keep. Plain functions.
 */

export type Leftover = Infer<typeof vLeftover>;

export const vLeftovers = v.object({
  /** The chat for its cards. */
  chat: v.union(v.string(), v.null()),
  /** Whether it has its own bot. */
  bot: v.boolean(),
  /** Their addresses. */
  webhooks: v.array(v.string()),
  /** In words. */
  alerts: v.array(v.string()),
  /** Active ones: the focus (`""` for the whole market), and their own chat, if they have one. */
  shifts: v.array(v.object({ token: v.string(), chat: v.union(v.string(), v.null()) })),
});

export async function leftoversOf(ctx: QueryCtx, userId: string): Promise<Infer<typeof vLeftovers>> {
  const config = await configOf(ctx, userId);
  const shifts = await activeShiftsOf(ctx, userId);
  return {
    chat: config?.chatId ?? null,
    bot: config?.sealedBotToken !== undefined,
    webhooks: (await webhooksOf(ctx, userId)).map(({ url }) => url),
    alerts: (await openAlerts(ctx, userId)).map(({ words }) => words),
    shifts: shifts.map(({ focus: token, messengerChatId }) => ({ token, chat: messengerChatId ?? null })),
  };
}

/** Ends everything that is set, except what is kept. */
export async function endLeftovers(
  ctx: MutationCtx,
  userId: string,
  keep: readonly Leftover[],
): Promise<void> {
  const goes = (one: Leftover) => !keep.includes(one);
  await saveConfig(ctx, userId, {
    ...(goes("chat") ? { chatId: null } : {}),
    ...(goes("bot") ? { sealedBotToken: null } : {}),
  });
  if (goes("webhooks")) {
    for (const { _id } of await webhooksOf(ctx, userId)) await endWebhook(ctx, userId, _id);
  }
  if (goes("alerts")) {
    for (const { alertId } of await openAlerts(ctx, userId)) {
      const row = await findAlert(ctx, userId, alertId);
      if (row !== null) await switchOff(ctx, row);
    }
  }
  if (goes("shifts")) await ctx.runMutation(internal.research.shifts.stop, { userId });
}

/** Including proposed ones, since a yes would switch them on. */
async function openAlerts(ctx: QueryCtx, userId: string) {
  return (await alertsOf(ctx, userId)).filter(({ state }) => state !== "off");
}
