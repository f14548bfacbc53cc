import { literals } from "./literals";
import { formatCount } from "./text/strings";
import { HOUR, MINUTE, SECOND } from "./time";
import { ConvexError, type Value } from "convex/values";

/** Every failure that reaches a caller, and its HTTP status. */
export const STATUS = {
  invalid_request: 400,
  unauthorized: 401,
  payment_required: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  rate_limited: 429,
  internal: 500,
  not_configured: 500,
  upstream: 502,
  paused: 503,
  overloaded: 503,
} as const;

export type ErrorCode = keyof typeof STATUS;

/** A code on its way between functions. */
export const vErrorCode = literals(...Object.keys(STATUS).filter(isErrorCode));

/** The answer to a repeated `Idempotency-Key` with another request (`conflict`). */
export const KEY_USED = "This idempotency key was used for another request: send a new key for a new request";

export type ErrorData = {
  code: ErrorCode;
  /** Shown to the caller: names the mistake, never a secret, a stack or an upstream body. */
  message: string;
  /** When to try again, in ms. */
  retryAfterMs?: number;
  /** Further fields of the error's body, beside `error`. */
  body?: Record<string, Value>;
  /** Further headers of the answer. */
  headers?: Record<string, string>;
};

/**
 * An expected failure. It can be thrown anywhere; only `platform/http/endpoint.ts` turns it into a status and `{ error }`.
 * Across `ctx.run*` only `data` survives, so read it with `getErrorData`, never with `instanceof`.
 */
export class AppError extends ConvexError<ErrorData> {
  override name = "AppError";

  constructor(code: ErrorCode, message: string, extra: Omit<ErrorData, "code" | "message"> = {}) {
    super({ code, message, ...extra });
    this.message = message;
  }
}

/** The error data of an `AppError` on either side of a function boundary; `null` for anything unexpected. */
export function getErrorData(error: unknown): ErrorData | null {
  if (!(error instanceof ConvexError)) return null;
  // A nested function's data may arrive serialised, depending on the runtime.
  const data: unknown = typeof error.data === "string" ? parseJson(error.data) : error.data;
  return isErrorData(data) ? data : null;
}

/** Only `AppError` throws a `ConvexError` with one of these codes. */
function isErrorData(data: unknown): data is ErrorData {
  if (typeof data !== "object" || data === null || !("code" in data) || !("message" in data)) return false;
  return typeof data.code === "string" && isErrorCode(data.code) && typeof data.message === "string";
}

/** How long callers should wait before they ask a busy service again, in ms. */
const BUSY_MS = 3_000;

/**
 * The platform's own messages for "not now": a mutation that lost against others in every attempt, or a deployment
 * whose places or queues are full. They are plain errors with a code and a message. Sources: get-convex/convex-backend
 * (`crates/errors`), and the codes at which Convex's own client backs off (`browser/sync/web_socket_manager`).
 */
const BUSY = new RegExp(
  [
    "OptimisticConcurrencyControlFailure",
    "changed while (?:it|this mutation) was being run",
    "TooManyConcurrentRequests|Too many concurrent requests",
    "ExpiredInQueue|CommitterFullError|ExecuteFullError|SubscriptionsWorkerFullError|SystemTimeoutError",
    "TooManyWritesInTimePeriod|Too many (?:writes|insert / update / delete operations)",
  ].join("|"),
);

/** The failure for a request that the platform had no capacity for; `null` for other errors. */
export function getOverload(error: unknown): ErrorData | null {
  const message = error instanceof Error ? error.message : "";
  if (!BUSY.test(message)) return null;
  return { code: "overloaded", message: "The service is busy: try again shortly", retryAfterMs: BUSY_MS };
}

/** The message for a row or a log line. An unexpected failure gives only its class name: its message may quote user input. */
export function getErrorMessage(error: unknown): string {
  const failure = getErrorData(error);
  if (failure !== null) return failure.message;
  return error instanceof Error ? error.name : "an unexpected failure";
}

/** The stack of an unexpected failure without its message, which may hold user input or secrets. */
export function getStack(error: unknown): string | undefined {
  const frames =
    error instanceof Error ? error.stack?.split("\n").filter((line) => /^\s*at /.test(line)) : [];
  return frames
    ?.slice(0, MOST_FRAMES)
    .map((line) => line.trim())
    .join(" < ");
}

const MOST_FRAMES = 8;

/** Whether a stored word is an error code. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(STATUS, code);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The refusal of a caller at a limit. @param limit A sentence without its full stop, such as "Today's budget is used up". */
export function limitExceeded(limit: string, retryAfterMs: number): AppError {
  const message = `${limit}. Try again in ${formatDuration(retryAfterMs)}`;
  return new AppError("rate_limited", message, { retryAfterMs });
}

/** A time, rounded up: `1 second`, `25 minutes`, `3 hours`. */
export function formatDuration(ms: number): string {
  if (ms >= 2 * HOUR) return formatCount(Math.ceil(ms / HOUR), "hour");
  if (ms >= 2 * MINUTE) return formatCount(Math.ceil(ms / MINUTE), "minute");
  return formatCount(Math.max(1, Math.ceil(ms / SECOND)), "second");
}

/** An answer, or `null` where it fails with an `AppError`: whoever asks works without it. */
export async function orNull<Value>(answer: Promise<Value>): Promise<Value | null> {
  try {
    return await answer;
  } catch (error) {
    if (getErrorData(error) === null) throw error;
    return null;
  }
}
