import * as z from "zod";
import { AppError } from "../lib/errors";
import { parseJson } from "../lib/text/json";
import { noteCall, type Provider } from "../lib/outside/notes";

/** What one HTTP exchange with a provider came to. A timeout or a broken connection leaves its effect unknown. */
export type Exchange = Answer | { kind: "timeout" } | { kind: "unreachable" };
type Answer = { kind: "answer"; status: number; body: unknown };

/**
 * One request to a provider, with a deadline in real time.
 * @param read What makes the body's text a value; it throws where it cannot. Without it the text is JSON.
 * @returns The status and the body (`undefined` when it cannot be read). Never throws for the network's sake.
 */
export async function exchange(
  url: string,
  init: RequestInit,
  timeoutMs: number,
  read: (text: string) => unknown = parseJson,
): Promise<Exchange> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, { ...init, signal });
    const text = await response.text();
    return { kind: "answer", status: response.status, body: parsedBody(text, read) };
  } catch {
    // What an aborted request throws differs between runtimes and their versions.
    return { kind: signal.aborted ? "timeout" : "unreachable" };
  }
}

/** The same, counted as a call of the provider. */
export async function askProvider(
  provider: Provider,
  url: string,
  init: RequestInit,
  timeoutMs: number,
  read?: (text: string) => unknown,
): Promise<Exchange> {
  const result = await exchange(url, init, timeoutMs, read);
  const answered = result.kind === "answer" && result.body !== undefined;
  noteCall(provider, !answered || isOutage(provider, result.status));
  return result;
}

/**
 * Whether a status tells of the provider's trouble, or of this service's with it, rather than of one request. Users'
 * own bots are refused for their owners' reasons.
 */
export function isOutage(provider: Provider, status: number): boolean {
  const refusesUs = status === 401 || status === 402 || status === 403;
  return isTransient(status) || (refusesUs && provider !== "messenger");
}

/** A JSON POST, ready for `exchange`. */
export function postJson(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
}

/** What a provider has answered, with whatever status. @throws AppError `upstream`, naming it, where it has not. */
export function answered(upstream: string, result: Exchange): Answer {
  if (result.kind === "timeout") throw timeoutFailure(upstream);
  if (result.kind === "unreachable") throw unreachableFailure(upstream);
  return result;
}

/** Whether a status says that what was asked has been done. */
export function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status <= 299;
}

/** The body of a successful answer, in its shape. @throws AppError `upstream`, naming who sent no such answer. */
export function bodyOf<Shape extends z.ZodType>(
  upstream: string,
  result: Exchange,
  shape: Shape,
): z.output<Shape> {
  const answer = answered(upstream, result);
  if (!isSuccess(answer)) throw statusFailure(upstream, answer.status);
  return inShape(upstream, answer.body, shape);
}

/**
 * The rows of an answer that have their shape. One odd row says nothing about the others and is left out; where more than
 * half are odd, the whole answer is something else.
 */
export function rowsOf<Row extends z.ZodType>(row: Row) {
  return z.array(z.unknown()).transform((rows, context) => {
    const fitting = rows.flatMap((one): z.output<Row>[] => {
      const parsed = row.safeParse(one);
      return parsed.success ? [parsed.data] : [];
    });
    if (fitting.length * 2 >= rows.length) return fitting;
    context.addIssue({ code: "custom", message: "most rows are odd" });
    return z.NEVER;
  });
}

/** @throws AppError `upstream`, naming who sent something else. */
export function inShape<Shape extends z.ZodType>(
  upstream: string,
  body: unknown,
  shape: Shape,
): z.output<Shape> {
  const parsed = shape.safeParse(body);
  if (!parsed.success) throw unusableFailure(upstream);
  return parsed.data;
}

/** The upstream failure for a status that is no success: says who and what kind, never the upstream's own words. */
export function statusFailure(upstream: string, status: number): AppError {
  const reasons: Record<number, string> = {
    401: "refused this service's key",
    402: "reports that this service's credits are used up",
    403: "refused this service's key",
    429: "is limiting this service's requests",
  };
  return new AppError("upstream", `${upstream} ${reasons[status] ?? `answered with status ${status}`}`);
}

export function timeoutFailure(upstream: string): AppError {
  return new AppError("upstream", `${upstream} did not answer in time`);
}

export function unreachableFailure(upstream: string): AppError {
  return new AppError("upstream", `${upstream} could not be reached`);
}

export function unusableFailure(upstream: string): AppError {
  return new AppError("upstream", `${upstream} sent an unusable answer`);
}

/** Whether a status says "not now", so that the same request may succeed later. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

/** The platform reports an expired `AbortSignal.timeout` as AbortError, other runtimes as TimeoutError. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");
}

function parsedBody(text: string, read: (text: string) => unknown): unknown {
  try {
    return read(text);
  } catch {
    return undefined;
  }
}
