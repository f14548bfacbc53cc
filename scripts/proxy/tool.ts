import * as z from "zod/mini";

/** One tool as data: its endpoint, its description for clients and models, and the text of its answer. */
export type Tool = {
  name: string;
  title: string;
  /** For the model: what it does, its units, and what to watch out for. */
  description: string;
  endpoint: Endpoint;
  hints: Hints;
  repeats: Repeats;
  /**
   * Whether clients also get the answer as data, for values that a program would use: hashes, ids, exact amounts. If
   * the text contains everything, data would only repeat it, and a model pays for both.
   */
  structured: boolean;
  /** How long one request may take. */
  timeoutMs: number;
  /** The answer as text for a chat. @throws UnexpectedAnswer */
  text: (answer: unknown, input: Input) => string;
  /** The structured answer to a request for a private key, if the tool's answers have a field for the message. */
  declined?: (input: Input) => Record<string, unknown>;
};

/** The tool's input, unchecked. */
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
 * How a request with an unknown outcome may be repeated: `freely`; `keyed`, with the first one's idempotency key;
 * `ordered`, the same with a key made of the order's terms; or `unlessDelivered`: freely, but not with a `userId`,
 * which makes the service send a message.
 */
type Repeats = "freely" | "keyed" | "ordered" | "unlessDelivered";

/** The service answers within 28 seconds, whatever it has to ask or sign. */
export const SLOW_MS = 29_000;
/** For stored answers of the service, which asks nobody. */
export const QUICK_MS = 15_000;

/** Changes nothing; the service asks others for it (`live`) or not. */
export const reads = (live: "live" | "stored"): Hints => ({
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: live === "live",
});

/** Declares a tool. `view` is the part of the answer that its text needs. */
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
