import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import { deadlines } from "../../lib/outside/deadlines";
import { AppError, failureOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { providerAction } from "../../lib/outside/providerCalls";
import { readMined } from "../../providers/chain/transactions";
import { serviceAddress } from "../../wallets/custody/signatures";
import { carry } from "../../wallets/orders/desk";
import { anchorData } from "./chain";
import type { ChainHead } from "./events";

/** Signs and sends the day's anchor, if one is due. After a failure it is tried again an hour later. */
export const send = providerAction({}, async (ctx) => {
  try {
    const address = serviceAddress("anchor");
    if (address === null) return;
    const head: ChainHead | null = await ctx.runQuery(internal.signals.record.anchors.due, {
      address,
      now: Date.now(),
    });
    if (head === null) return;
    const mined = await readMined(address);
    const opened = { address, head, data: anchorData(head), mined };
    const orderId: Id<"orders"> | null = await ctx.runMutation(internal.signals.record.anchors.store, opened);
    if (orderId === null) return;
    const { state, error } = await carry(ctx, orderId, deadlines.transaction);
    if (state === "failed") throw new AppError("upstream", error ?? `The anchor ${address} was not sent`);
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    log.error("signals.not anchored", { reason: failure.message });
  }
});
