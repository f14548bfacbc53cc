import { v, type Infer } from "convex/values";

/** The outcome of one message. Only `uncertain` leaves open whether it arrived. */
export const vSendOutcome = v.union(
  /** `fileId`: the messenger's id of the picture, for the same bot's further messages. */
  v.object({ kind: v.literal("sent"), fileId: v.optional(v.string()) }),
  v.object({ kind: v.literal("wait"), retryAfterMs: v.number(), reason: v.string() }),
  v.object({ kind: v.literal("migrated"), chatId: v.string() }),
  v.object({ kind: v.literal("refused"), status: v.number(), reason: v.string() }),
  v.object({ kind: v.literal("uncertain"), reason: v.string() }),
);
export type SendOutcome = Infer<typeof vSendOutcome>;
