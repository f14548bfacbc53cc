import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { MINUTE, SECOND } from "../../lib/time";
import { vSendOutcome } from "../../providers/sendOutcome";

/**
 * The state machine of one card's delivery. Pure.
 *
 * The messenger has no idempotency key, so a part whose outcome is unknown (a timeout, a broken connection, a server
 * error, an attempt that was cut off before it stored the outcome) may be sent once more but never a third time.
 * Waiting costs nothing: the second sending waits until the messenger answers a harmless probe.
 *
 * A picture is sent with the first part. If it cannot be drawn or the messenger refuses it, the card is sent as text.
 * If the message to replace is gone, the card is sent as a message of its own.
 */

type Row = Pick<
  Doc<"messages">,
  | "parts"
  | "partCount"
  | "partsSent"
  | "uncaptioned"
  | "picture"
  | "replaces"
  | "sentId"
  | "state"
  | "dueAt"
  | "doubts"
  | "postponements"
  | "plain"
  | "chatId"
>;
export type Change = Partial<
  Omit<Row, "picture" | "replaces"> & Pick<Doc<"messages">, "error" | "sentAt">
> & {
  picture?: undefined;
  replaces?: undefined;
};

/** The outcome of an attempt at the next part. */
export const vStep = v.union(
  ...vSendOutcome.members,
  /** There is no route. */
  v.object({
    kind: v.literal("closed"),
    state: v.union(v.literal("skipped"), v.literal("failed")),
    reason: v.string(),
  }),
  /** The messenger did not answer the probe: nothing was sent, so waiting longer costs nothing. */
  v.object({ kind: v.literal("unreachable") }),
  /** There is no picture: the card is sent as text, in the same attempt. */
  v.object({ kind: v.literal("undrawn") }),
);
export type Step = Infer<typeof vStep>;

const MAX_POSTPONEMENTS = 10;

/** Begins an attempt at a card; `null` if it is settled. */
export function beginTry(row: Row, now: number): Change | null {
  const isCutOff = row.state === "sending";
  if (!isCutOff && row.state !== "queued") return null;
  // The last attempt never reported back: its part may have arrived.
  if (isCutOff && row.doubts >= 1) return { state: "failed", error: "The delivery was interrupted twice" };
  return {
    state: "sending",
    doubts: row.doubts + (isCutOff ? 1 : 0),
    dueAt: now,
  };
}

/** The card's next state after the outcome of its next part. */
export function afterStep(row: Row, step: Step, now: number): Change {
  switch (step.kind) {
    case "sent": {
      const partsSent = row.partsSent + 1;
      const sentId = row.partsSent === 0 && step.messageId !== null ? { sentId: step.messageId } : {};
      const moved = { partsSent, doubts: 0, dueAt: now, ...sentId };
      return partsSent < countOf(row) ? moved : { ...moved, state: "sent", sentAt: now };
    }
    case "wait":
      return postpone(row, step.retryAfterMs, step.reason, now);
    case "uncertain":
      if (row.doubts >= 1) return { state: "failed", error: step.reason };
      return { ...postpone(row, backoff(row), step.reason, now), doubts: row.doubts + 1 };
    case "migrated":
      return { chatId: step.chatId, ...postpone(row, 0, "The chat has moved", now) };
    case "unparsable":
      if (row.plain === true) return { state: "failed", error: step.reason };
      return { plain: true, ...postpone(row, 0, step.reason, now) };
    case "refused":
      if (step.status === 403 || row.partsSent > 0) return { state: "failed", error: step.reason };
      // The messenger may have refused the picture, or the replacement.
      if (row.picture !== undefined) return { ...withoutPicture(row), ...postpone(row, 0, step.reason, now) };
      if (row.replaces !== undefined) {
        return { replaces: undefined, ...postpone(row, 0, step.reason, now) };
      }
      return { state: "failed", error: step.reason };
    case "closed":
      return { state: step.state, error: step.reason };
    case "unreachable":
      return postpone(row, backoff(row), "The messenger cannot be reached", now);
    case "undrawn":
      return withoutPicture(row);
  }
}

/** Whether the next part is a picture's caption. */
export function goesWithPicture({
  picture,
  partsSent,
}: { [Field in "picture"]?: Row[Field] | undefined } & Pick<Row, "partsSent">): boolean {
  return picture !== undefined && partsSent === 0;
}

/** The card as text; a missing caption is not a part of it. */
function withoutPicture(row: Row): Change {
  const uncaptioned = row.uncaptioned ?? row.parts?.[0] === "";
  return { picture: undefined, partCount: countOf(row) - (uncaptioned ? 1 : 0) };
}

/** The number of parts of a card. */
export function countOf({ partCount, parts = [] }: Pick<Row, "partCount" | "parts">): number {
  return partCount ?? parts.length;
}

function postpone(row: Row, delayMs: number, reason: string, now: number): Change {
  if (row.postponements >= MAX_POSTPONEMENTS) return { state: "failed", error: reason };
  return { state: "queued", dueAt: now + delayMs, postponements: row.postponements + 1, error: reason };
}

/** 30 s, 1 min, 2 min, … one hour. */
function backoff({ postponements }: Row): number {
  return Math.min(30 * SECOND * 2 ** postponements, 60 * MINUTE);
}
