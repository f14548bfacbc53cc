import { v, type Infer } from "convex/values";

/** The outcome of one message. Only `uncertain` leaves open whether it arrived. */
export const vSendOutcome = v.union(
  v.object({ kind: v.literal("sent") }),
  v.object({ kind: v.literal("wait"), retryAfterMs: v.number(), reason: v.string() }),
  v.object({ kind: v.literal("migrated"), chatId: v.string() }),
  v.object({ kind: v.literal("refused"), status: v.number(), reason: v.string() }),
  v.object({ kind: v.literal("uncertain"), reason: v.string() }),
);
export type SendOutcome = Infer<typeof vSendOutcome>;
