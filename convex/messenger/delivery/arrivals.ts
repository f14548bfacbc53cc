import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import { deadlines } from "../../lib/outside/deadlines";
import { sleep } from "../../lib/time";

/** Waits a while for a card's delivery. @returns Whether it was sent; `null` while it is still on its way. */
export async function awaitDelivery(ctx: ActionCtx, messageId: Id<"messages">): Promise<boolean | null> {
  const signal = AbortSignal.timeout(deadlines.delivery);
  for (let pause = 50; !signal.aborted; pause = Math.min(pause * 1.5, 500)) {
    const sent = await ctx.runQuery(internal.messenger.notices.outcome, { messageId });
    if (sent !== null) return sent;
    await sleep(pause);
  }
  return null;
}
