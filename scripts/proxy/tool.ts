import * as z from "zod";

/** One tool as data: which endpoint it is, what clients and models are told of it, and how its answer reads. */
export type Tool = {
  name: string;
  title: string;
  /** For the model: what it does, in which units, what to mind. */
  description: string;
  endpoint: Endpoint;
  hints: Hints;
  repeats: Repeats;
  /** How long one request may take. */
  timeoutMs: number;
  /** The answer as a person reads it in a chat. @throws ZodError for an answer of another shape. */
  text: (answer: unknown) => string;
  /** The structured answer to a request for a private key, where the tool's answers have room for the message. */
  declined?: (input: Record<string, unknown>) => Record<string, unknown>;
};

type Endpoint = { method: "GET" | "POST"; path: `/${string}` };

/** What a client may expect of a call; all four are always told. */
export type Hints = {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
};

/**
 * How a request whose fate is unknown may be repeated: `freely`; `keyed`, with the idempotency key of the first one;
 * or `unlessDelivered`: freely, but not with a `userId`, which makes the service send a message.
 */
export type Repeats = "freely" | "keyed" | "unlessDelivered";

/** The service answers within 28 seconds, whatever it has to ask or sign. */
export const SLOW_MS = 29_000;
/** For what the service has stored: it asks nobody. */
export const QUICK_MS = 15_000;

/** Changes nothing; asks others than the service itself (`live`) or does not. */
export const reads = (live: "live" | "stored"): Hints => ({
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: live === "live",
});

/**
 * Declares a tool. `view` is what its text needs of the answer; the whole answer has been held against the
 * endpoint's own schema before.
 */
export function tool<View extends z.ZodType>(
  definition: Omit<Tool, "text"> & { view: View; text: (answer: z.output<View>) => string },
): Tool {
  const { view, text, ...rest } = definition;
  return { ...rest, text: (answer) => text(view.parse(answer)) };
}
