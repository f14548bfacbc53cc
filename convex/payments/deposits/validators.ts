import { v } from "convex/values";

/** What is stored of the shapes of `payments/deposits/payloads`. Written by `npm run codegen`; a test holds both against one another. */

export const vDepositAnswer = v.object({
  credited: v.array(
    v.object({ txHash: v.string(), logIndex: v.number(), amountUsdc: v.string(), credits: v.number() }),
  ),
  pending: v.array(v.object({ txHash: v.string() })),
  ignored: v.array(v.object({ txHash: v.string(), reason: v.string() })),
  unsettled: v.boolean(),
});
