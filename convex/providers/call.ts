import * as z from "zod";
import { AppError } from "../lib/errors";
import { decodeText } from "../lib/text/markup";
import { parseTolerantly } from "../lib/text/json";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { sha256Hex } from "../lib/crypto";
import { noteCall, runAfterwards, type Provider, type Refusing } from "../platform/outside/calls";
import { HOUR } from "../lib/time";
import { parseRefusal, type Refusal } from "./rejections";

/** The result of one HTTP exchange with a provider. After a timeout or a broken connection its effect is unknown. */
export type Exchange = Answer | NoAnswer;
export type Answer = { kind: "answer"; status: number; body: unknown; refusal: Refusal };

type NoAnswer = { kind: "timeout" } | { kind: "unreachable" };

/** One HTTP request, not counted. @returns The answer's text, or why there is none. Never throws for network failures. */
export async function exchange(
  url: string | URL | Request,
  init: RequestInit & { signal: AbortSignal },
): Promise<{ kind: "answer"; status: number; headers: Headers; text: string } | NoAnswer> {
  try {
    // A key is sent to the provider's address and to no other.
    const response = await fetch(url, { redirect: "error", ...init });
    const { status, headers } = response;
    return { kind: "answer", status, headers, text: await readText(response) };
  } catch {
    // The error of an aborted request differs between runtimes and their versions.
    return { kind: init.signal.aborted ? "timeout" : "unreachable" };
  }
}

/**
 * One request to a provider, counted, with a deadline in real time. A signal in `init` takes the deadline's place: a call
 * that its caller ends says nothing about the provider.
 * @param read Parses the body's text; throws if it cannot. Default: JSON.
 * @param isFailed Whether an answer means that the provider does not work.
 * @returns The status and the body (`undefined` if it cannot be read).
 */
export async function askProvider(
  provider: Provider,
  url: string,
  init: RequestInit,
  timeoutMs: number,
  read: (text: string) => unknown = parseTolerantly,
  isFailed = ({ status, body, refusal }: Answer) => body === undefined || isOutage(provider, status, refusal),
): Promise<Exchange> {
  const result = await exchange(url, { ...init, signal: init.signal ?? AbortSignal.timeout(timeoutMs) });
  if (result.kind !== "answer") {
    if (init.signal?.aborted !== true) noteCall(provider, true);
    return result;
  }
  const { status, text } = result;
  const refusal = isSuccess(result) ? null : parseRefusal(status, text);
  const answer: Answer = { kind: "answer", status, body: tryRead(text, read), refusal };
  noteCall(provider, isFailed(answer), getRefusing(status, refusal));
  return answer;
}

/**
 * One request to a provider that bills by credits: an empty account is not asked again for an hour.
 * @param account.asksAgain Asks all the same, as the operator's own question does.
 */
export async function askBilledProvider(
  ctx: ActionCtx,
  { provider, key, asksAgain }: { provider: Provider; key: string; asksAgain?: boolean },
  ask: () => Promise<Exchange>,
): Promise<Exchange> {
  const at = `empty:${provider}:${sha256Hex(key)}`;
  const keep = (body: string) =>
    runAfterwards(() => ctx.runMutation(internal.platform.cache.storeAnswer, { key: at, body }));
  const kept = await ctx.runQuery(internal.platform.cache.readAnswerAt, { key: at });
  const wasEmpty = kept !== null && kept.body !== "" && Date.now() - kept.fetchedAt < HOUR;
  if (wasEmpty && asksAgain !== true) {
    noteCall(provider, true, "account");
    return { kind: "answer", status: 402, body: undefined, refusal: "account" };
  }
  const result = await ask();
  const isEmpty = result.kind === "answer" && result.refusal === "account";
  if (isEmpty) await keep(EMPTY);
  else if (wasEmpty && result.kind === "answer") await keep("");
  return result;
}

const EMPTY = "empty";

/** The most that is read of an answer, in bytes. */
const LONGEST_ANSWER = 8 * 1024 * 1024;

/** The body of an answer, in its charset; "" if it is longer than any answer. */
async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > LONGEST_ANSWER) {
      await reader.cancel();
      return "";
    }
    chunks.push(value);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return decodeText(bytes, response.headers.get("content-type") ?? "").text;
}

function tryRead(text: string, read: (text: string) => unknown): unknown {
  try {
    return read(text);
  } catch {
    return undefined;
  }
}

/** The providers that bill by credits: from others, an insufficient balance is the caller's. */
const BILLED: readonly Provider[] = ["llm", "sentiment", "agentApi"];

/**
 * Whether a status means that the provider, or this service's account with it, has a problem, rather than one request.
 * Users' own bots are refused for their owners' reasons.
 */
export function isOutage(provider: Provider, status: number, refusal: Refusal = null): boolean {
  if (refusal === "filter" || refusal === "length") return false;
  const isEmpty = refusal === "account" && BILLED.includes(provider);
  const refusesUs = isEmpty || refusal === "address" || status === 401 || status === 402 || status === 403;
  return isTransient(status) || (refusesUs && provider !== "messenger");
}

/** A provider's refusal of this service; `undefined` for the refusal of a single question. */
export function getRefusing(status: number, refusal: Refusal = null): Refusing | undefined {
  if (refusal === "account" || refusal === "address") return refusal;
  return refusal === null && (status === 401 || status === 403) ? "key" : undefined;
}

/** A JSON POST, ready for `askProvider`. */
export function buildJsonPost(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
}

/** The provider's answer, with any status. @throws AppError `upstream`, naming the provider, if there is none. */
export function requireAnswer(upstream: string, result: Exchange): Answer {
  if (result.kind !== "answer") throw noAnswerError(upstream, result.kind);
  return result;
}

export function isSuccess({ status }: { status: number }): boolean {
  return status >= 200 && status <= 299;
}

/** The body of a successful answer, in its shape. @throws AppError `upstream`, naming the provider, for any other answer. */
export function parseBody<Shape extends z.ZodType>(
  upstream: string,
  result: Exchange,
  shape: Shape,
): z.output<Shape> {
  const answer = requireAnswer(upstream, result);
  if (!isSuccess(answer)) throw toStatusError(upstream, answer.status, answer.refusal);
  return parseShape(upstream, answer.body, shape);
}

/**
 * The rows of an answer that have their shape. A few malformed rows say nothing about the others and are left out; if
 * more than half are malformed, the answer is something else.
 */
export function rowsShape<Row extends z.ZodType>(row: Row) {
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
export function parseShape<Shape extends z.ZodType>(
  upstream: string,
  body: unknown,
  shape: Shape,
): z.output<Shape> {
  const parsed = shape.safeParse(body);
  if (!parsed.success) throw unusableAnswerError(upstream);
  return parsed.data;
}

/** The failure for an unsuccessful status: names the provider and the kind of failure, never the provider's own words. */
export function toStatusError(upstream: string, status: number, refusal: Refusal = null): AppError {
  const reasons: Record<number, string> = {
    401: "refused this service's key",
    402: "reports that this service's credits are used up",
    403: "refused this service's key",
    429: "is limiting this service's requests",
  };
  const reason = refusal === null ? reasons[status] : REFUSALS[refusal];
  return new AppError("upstream", `${upstream} ${reason ?? `answered with status ${status}`}`);
}

const REFUSALS = {
  account: "reports that this service's credits are used up",
  address: "blocked this service's address",
  filter: "declined to answer: its filter refuses this question",
  length: "cannot read a question of this length: ask a shorter one",
} as const;

export function noAnswerError(upstream: string, why: "timeout" | "unreachable"): AppError {
  const reason = why === "timeout" ? "did not answer in time" : "could not be reached";
  return new AppError("upstream", `${upstream} ${reason}`);
}

export function unusableAnswerError(upstream: string): AppError {
  return new AppError("upstream", `${upstream} sent an unusable answer`);
}

/** Whether a status means "not now", so that the same request may succeed later. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}
