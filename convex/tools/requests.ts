import * as z from "zod/mini";
import { FROZEN, PAUSED } from "../lib/refusals";
import type { Tool } from "./list";
import { isObject, type Body } from "./text";

/** Requests to tools' endpoints, and what their answers mean, whichever way they go: over the network or in process. */

/** A call without an answer to show; its message is for the person in the chat. */
export class CallFailure extends Error {
  constructor(
    message: string,
    /** Whether the service may still have executed the call. */
    readonly inDoubt: boolean,
    /** Whether something of it is on the chain all the same. */
    readonly hasMoved = false,
  ) {
    super(message);
  }
}

/** The service's own errors are shorter; a longer one would fill the assistant's context. */
const MOST_ERROR_CHARS = 2_000;

const failureShape = z.object({
  error: z.string().check(z.minLength(1)),
  nothingMoved: z.optional(z.boolean()),
  approvalTxHash: z.optional(z.string()),
});

/**
 * The body of an answer.
 * @param explain What a status means where the answer is not the service's own.
 * @throws CallFailure with the service's message.
 */
export async function readAnswer(response: Response, explain: (status: number) => string): Promise<Body> {
  const { status, headers } = response;
  const body = parseJson(await response.text());
  if (status >= 200 && status < 300) {
    if (isObject(body)) return body;
    throw new CallFailure(explain(status), true);
  }
  const isRepeat = headers.get("idempotent-replayed") === "true";
  const failure = failureShape.safeParse(body);
  const wait = formatWait(headers.get("retry-after"));
  const isDone = status >= 500 || status === 408;
  if (!failure.success) throw new CallFailure(`${explain(status)}${wait}`, !isRepeat && isDone);
  const { approvalTxHash, nothingMoved } = failure.data;
  const error = failure.data.error.slice(0, MOST_ERROR_CHARS);
  // A readable failure of the service may also have come after the signature, and a 408 from a proxy before it.
  const isRefusal = [FROZEN, PAUSED].some((words) => error.startsWith(words));
  const isKnown = isRepeat || isRefusal || nothingMoved === true || approvalTxHash !== undefined;
  throw new CallFailure(error + wait, !isKnown && isDone, approvalTxHash !== undefined);
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** When to try again: `Retry-After` has seconds or a date. */
function formatWait(retryAfter: string | null): string {
  if (retryAfter === null) return "";
  const isCount = /^\s*\d+\s*$/.test(retryAfter);
  const seconds = isCount ? Number(retryAfter) : Math.ceil((Date.parse(retryAfter) - Date.now()) / 1_000);
  if (!(seconds > 0)) return "";
  if (seconds < 300) return ` (try again in ${seconds} s)`;
  const minutes = Math.ceil(seconds / 60);
  return ` (try again in ${minutes < 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`})`;
}

/** A request to a tool's endpoint. */
export type ServiceRequest = Pick<Tool, "method" | "path"> & {
  input: Readonly<Body>;
  idempotencyKey: string | null;
  /** Whether it moves money: then the same terms are the same order. */
  isOrder: boolean;
};

/** A request as `fetch` takes it. @param base The service's address without a trailing slash. */
export function buildRequest(
  base: string,
  { method, path, input, idempotencyKey, isOrder }: ServiceRequest,
): { url: string; init: { method: string; headers: Record<string, string>; body?: string } } {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (isOrder) headers["Tool-Call"] = "true";
  // A caller's own key that no header can carry is sent in the body, which counts equally.
  if (idempotencyKey !== null && /^[\x20-\x7e]+$/.test(idempotencyKey))
    headers["Idempotency-Key"] = idempotencyKey;
  if (method === "POST") {
    headers["Content-Type"] = "application/json";
    return { url: base + path, init: { method, headers, body: JSON.stringify(input) } };
  }
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined || value === null) continue;
    query.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return { url: query.size === 0 ? base + path : `${base}${path}?${query}`, init: { method, headers } };
}
