import { internal } from "../../_generated/api";
import { AppError, failureOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { providerAction } from "../../lib/outside/providerCalls";
import { prepareTransaction } from "../../providers/chain/preparation";
import { serviceAddress } from "../../wallets/custody/signatures";
import { gasLimit } from "../../wallets/transactions/terms/plan";
import { handOut, signForService } from "../../wallets/transactions/progress/signatures";
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
    const call = { to: address, data: anchorData(head), value: 0n };
    const preparation = await prepareTransaction(address, call, null);
    if (preparation.gas.kind === "reverts") throw new AppError("upstream", preparation.gas.name);
    const gas = gasLimit(preparation.gas.gas);
    if (preparation.native < gas * preparation.fees.maxFeePerGas + 2n * preparation.l1Fee) {
      throw new AppError("internal", `The anchor ${address} cannot pay the network fee`);
    }
    const signed = await signForService(ctx, "anchor", { address, preparation, gas, call });
    const kept = { address, head, signed };
    const transactionId = await ctx.runMutation(internal.signals.record.anchors.store, kept);
    if (transactionId === null) return;
    await handOut(ctx, { _id: transactionId, ...signed });
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    log.error("signals.not anchored", { reason: failure.message });
  }
});
