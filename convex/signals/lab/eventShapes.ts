import * as z from "zod";
import { daily, link } from "../eventShapes";

/**
 * The chain of shadow events: made as that of the daily signals (`signals/eventChain`), and apart from it, so that the lab
 * neither lengthens the record of what was delivered nor waits for it. Once a day its last hash becomes an event of that
 * record, and is anchored with it. Pure.
 */

const time = z.iso.datetime();

/** In every event: which arm was asked what, and when. */
const slot = {
  arm: z.string(),
  token: z.enum(["BTC", "ETH", "SOL"]),
  /** The full hour it was asked for in. */
  hour: time,
};

/** As of a daily signal, without what stands beside those; calibrated by the arm's own outcomes before it. */
const issuedContent = daily.issued
  .omit({
    day: true,
    refusedDays: true,
    gapMinutes: true,
    timeframe: true,
    coin: true,
    momentum: true,
    reasoning: true,
  })
  .extend({ ...slot, model: z.string() });

const closedContent = daily.closed
  .omit({ day: true, model: true, promptVersion: true, refusedDays: true })
  .extend(slot);

/** An hour without a signal: the model proposed nothing usable, was out of reach, or the lab's share of the day's budget was spent. */
const missedContent = z.strictObject({ ...slot, reason: z.enum(["refused", "failed", "budget"]), at: time });

export const shadowEvent = z.discriminatedUnion("kind", [
  z.strictObject({ ...link, kind: z.literal("issued"), content: issuedContent }),
  z.strictObject({ ...link, kind: z.literal("closed"), content: closedContent }),
  z.strictObject({ ...link, kind: z.literal("missed"), content: missedContent }),
]);

export type ShadowIssued = z.output<typeof issuedContent>;
export type ShadowClosed = z.output<typeof closedContent>;
export type ShadowEvent = z.output<typeof shadowEvent>;
