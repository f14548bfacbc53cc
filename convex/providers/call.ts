import * as z from "zod";
import { AppError } from "../lib/errors";
import { parseTolerantly } from "../lib/text/json";
import { noteCall, type Provider } from "../lib/outside/calls";

/** The result of one HTTP exchange with a provider. After a timeout or a broken connection its effect is unknown. */
export type Exchange = Answer | { kind: "timeout" } | { kind: "unreachable" };
type Answer = { kind: "answer"; status: number; body: unknown };

/**
 * One request to a provider, counted, with a deadline in real time.
 * @param read Parses the body's text; throws if it cannot. Default: JSON.
 * @param isFailed Whether an answer means that the provider does not work.
 * @returns The status and the body (`undefined` if it cannot be read). Never throws for network failures.
 */
export async function askProvider(
  provider: Provider,
  url: string,
  init: RequestInit,
  timeoutMs: number,
  read: (text: string) => unknown = parseTolerantly,
  isFailed = ({ status, body }: Answer) => body === undefined || isOutage(provider, status),
): Promise<Exchange> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, { ...init, signal });
    const body = readable(await response.text(), read);
    const answer: Answer = { kind: "answer", status: response.status, body };
    noteCall(provider, isFailed(answer));
    return answer;
  } catch {
    noteCall(provider, true);
    // The error of an aborted request differs between runtimes and their versions.
    return { kind: signal.aborted ? "timeout" : "unreachable" };
  }
}

function readable(text: string, read: (text: string) => unknown): unknown {
  try {
    return read(text);
  } catch {
    return undefined;
  }
}

/**
 * Whether a status means that the provider, or this service's account with it, has a problem, rather than one request.
 * Users' own bots are refused for their owners' reasons.
 */
export function isOutage(provider: Provider, status: number): boolean {
  const refusesUs = status === 401 || status === 402 || status === 403;
  return isTransient(status) || (refusesUs && provider !== "messenger");
}

/** A JSON POST, ready for `askProvider`. */
export function postJson(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
}

/** The provider's answer, with any status. @throws AppError `upstream`, naming the provider, if there is none. */
export function answered(upstream: string, result: Exchange): Answer {
  if (result.kind !== "answer") throw noAnswer(upstream, result.kind);
  return result;
}

export function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status <= 299;
}

/** The body of a successful answer, in its shape. @throws AppError `upstream`, naming the provider, for any other answer. */
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
 * The rows of an answer that have their shape. A few malformed rows say nothing about the others and are left out; if
 * more than half are malformed, the answer is something else.
 */
export function rowsOf<Row extends z.ZodType>(row: Row) {
  return z.array(z.unknown()).transform((rows, context) => {
    const fitting = rows.flatMap((one): z.output<Row>[] => {
      const parsed = row.safeParse(one);
      return parsed.success ? [parsed.data] : [];
    });
    if (fitting.length * 2 >= rows.length) return fitting;
    context.addIssue({ code: "custom", message: "most rows are malformed" });
    return z.NEVER;
  });
}

/** @throws AppError `upstream`, naming the provider, for an answer of another shape. */
export function inShape<Shape extends z.ZodType>(
  upstream: string,
  body: unknown,
  shape: Shape,
): z.output<Shape> {
  const parsed = shape.safeParse(body);
  if (!parsed.success) throw unusableFailure(upstream);
  return parsed.data;
}

/** The failure for an unsuccessful status: names the provider and the kind of failure, never the provider's own words. */
export function statusFailure(upstream: string, status: number): AppError {
  const reasons: Record<number, string> = {
    401: "refused this service's key",
    402: "reports that this service's credits are used up",
    403: "refused this service's key",
    429: "is limiting this service's requests",
  };
  return new AppError("upstream", `${upstream} ${reasons[status] ?? `answered with status ${status}`}`);
}

export function noAnswer(upstream: string, why: "timeout" | "unreachable"): AppError {
  const reason = why === "timeout" ? "did not answer in time" : "could not be reached";
  return new AppError("upstream", `${upstream} ${reason}`);
}

export function unusableFailure(upstream: string): AppError {
  return new AppError("upstream", `${upstream} sent an unusable answer`);
}

/** Whether a status means "not now", so that the same request may succeed later. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

/** The platform reports an expired `AbortSignal.timeout` as AbortError, other runtimes as TimeoutError. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");
}
