import * as z from "zod/mini";

/** One tool as data: which endpoint it is, what clients and models are told of it, and how its answer reads. */
export type Tool = {
  name: string;
  title: string;
  /** For the model: what it does, in which units, what to mind. */
  description: string;
  endpoint: Endpoint;
  hints: Hints;
  repeats: Repeats;
  /**
   * Whether the answer also goes to the client as data, for what a program would take from it: hashes, ids, exact
   * amounts. Where the text says it all, that would only say it twice, and a model pays for each.
   */
  structured: boolean;
  /** How long one request may take. */
  timeoutMs: number;
  /** The answer to such input as a person reads it in a chat. @throws UnexpectedAnswer */
  text: (answer: unknown, input: Input) => string;
  /** The structured answer to a request for a private key, where the tool's answers have room for the message. */
  declined?: (input: Input) => Record<string, unknown>;
};

/** What the tool was called with: it has been held against nothing. */
export type Input = Record<string, unknown>;

/** An answer of another shape; the message says what is wrong with it. */
export class UnexpectedAnswer extends Error {}

type Endpoint = { method: "GET" | "POST"; path: `/${string}` };

/** What a client may expect of a call. */
export type Hints = {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
};

/**
 * How a request whose fate is unknown may be repeated: `freely`; `keyed`, with the idempotency key of the first one, and
 * `ordered` likewise, with one that is made of the order's terms; or `unlessDelivered`: freely, but not with a `userId`,
 * which makes the service send a message.
 */
type Repeats = "freely" | "keyed" | "ordered" | "unlessDelivered";

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

/** Declares a tool. `view` is what its text needs of the answer. */
export function tool<View extends z.ZodMiniType>(
  definition: Omit<Tool, "text"> & { view: View; text: (answer: z.output<View>, input: Input) => string },
): Tool {
  const { view, text, ...rest } = definition;
  const read = (answer: unknown): z.output<View> => {
    const result = view.safeParse(answer);
    if (result.success) return result.data;
    throw new UnexpectedAnswer(result.error.issues.map(problemOf).join(", "));
  };
  return { ...rest, text: (answer, input) => text(read(answer), input) };
}

/** `token.price must be number`. */
function problemOf(issue: z.core.$ZodIssue): string {
  const where = issue.path.length === 0 ? "it" : issue.path.join(".");
  return `${where} must be ${issue.code === "invalid_type" ? issue.expected : "another"}`;
}
