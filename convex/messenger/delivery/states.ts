import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { MINUTE, SECOND } from "../../lib/time";
import { vSendOutcome } from "../../providers/sendOutcome";

/**
 * The state machine of one card's delivery. Pure.
 *
 * The messenger has no idempotency key, so a part whose outcome is unknown (a timeout, a broken connection, a server
 * error, an attempt that was cut off before it stored the outcome) is sent once more and never a third time.
 *
 * A picture is sent with the first part. If it cannot be drawn or the messenger refuses it, the card is sent as text.
 * Where the message to replace, or the topic, is gone, the card is a message of its own in the chat.
 */

export type Row = Pick<
  Doc<"messages">,
  "parts" | "partsSent" | "picture" | "replaces" | "threadId" | "state" | "dueAt" | "doubts" | "postponements"
>;
/** What changes of a row; `undefined` removes a field. */
export type Change = Partial<Omit<Row, "picture" | "replaces" | "threadId">> &
  Partial<Pick<Doc<"messages">, "error" | "sentAt" | "chatId">> & {
    [Gone in "picture" | "replaces" | "threadId"]?: undefined;
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
  /** The messenger does not answer: nothing was sent, so waiting longer costs nothing. */
  v.object({ kind: v.literal("away") }),
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
  return { state: "sending", doubts: row.doubts + (isCutOff ? 1 : 0), dueAt: now };
}

/** The card's next state after the outcome of its next part. */
export function afterStep(row: Row, step: Step, now: number): Change {
  switch (step.kind) {
    case "sent": {
      const moved = { partsSent: row.partsSent + 1, doubts: 0, dueAt: now };
      return moved.partsSent < row.parts.length ? moved : { ...moved, state: "sent", sentAt: now };
    }
    case "wait":
      return postpone(row, step.retryAfterMs, step.reason, now);
    case "uncertain":
      if (row.doubts >= 1) return { state: "failed", error: step.reason };
      return { ...postpone(row, backoff(row), step.reason, now), doubts: row.doubts + 1 };
    case "migrated":
      return { chatId: step.chatId, ...postpone(row, 0, "The chat has moved", now) };
    case "refused":
      return afterRefusal(row, step, now);
    case "closed":
      return { state: step.state, error: step.reason };
    case "away":
      return postpone(row, backoff(row), "The messenger cannot be reached", now);
    case "undrawn":
      return withoutPicture(row);
  }
}

/** What the messenger may have refused about the first part is left out, one thing after the other. */
function afterRefusal(row: Row, { status, reason }: { status: number; reason: string }, now: number): Change {
  const again = () => postpone(row, 0, reason, now);
  if (status === 403) return { state: "failed", error: reason };
  if (row.threadId !== undefined && /thread|topic/i.test(reason)) return { threadId: undefined, ...again() };
  if (row.partsSent === 0 && row.picture !== undefined) return { ...withoutPicture(row), ...again() };
  if (row.partsSent === 0 && row.replaces !== undefined) return { replaces: undefined, ...again() };
  return { state: "failed", error: reason };
}

/** The card as text; a picture's missing caption is not a part of it. */
function withoutPicture({ parts }: Row): Change {
  return { picture: undefined, parts: parts[0] === "" ? parts.slice(1) : parts };
}

function postpone(row: Row, delayMs: number, reason: string, now: number): Change {
  if (row.postponements >= MAX_POSTPONEMENTS) return { state: "failed", error: reason };
  return { state: "queued", dueAt: now + delayMs, postponements: row.postponements + 1, error: reason };
}

/** 30 s, 1 min, 2 min, … one hour. */
function backoff({ postponements }: Row): number {
  return Math.min(30 * SECOND * 2 ** postponements, 60 * MINUTE);
}
