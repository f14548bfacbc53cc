import * as z from "zod/mini";
import { FROZEN, PAUSED } from "../../convex/lib/refusals";
import { parseJson } from "../json";
import { isObject, type Body } from "./text";

/** One request to the service. */
export type ServiceCall = {
  /** The service's address without a trailing slash. */
  serviceUrl: string;
  method: "GET" | "POST";
  path: string;
  input: Readonly<Record<string, unknown>>;
  idempotencyKey: string | null;
  /** Whether it moves money: then the same terms are the same order. */
  isOrder: boolean;
  timeoutMs: number;
  /** Fires when the client has cancelled the call. */
  signal: AbortSignal;
};

/** A call without an answer to show; its message is for the person in the chat. */
export class ServiceError extends Error {
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
/** Connection failures before anything was sent. */
const NEVER_SENT = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];
const CHECK_ADDRESS = "Set NOELCLAW_CONVEX_URL to the service's address, if that is another.";
/** Node reads the proxy's address by itself only when it is told to. */
const USE_PROXY =
  "This machine names a proxy in HTTPS_PROXY, which this program does not use by itself: start it with Node 24 (or 22.21) and NODE_USE_ENV_PROXY=1 in its environment.";
const PROXIES = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/**
 * Calls the service and returns the body of its answer.
 * @throws ServiceError with the service's message, or the reason why there is none; the signal's reason when it fires.
 */
export async function callService(call: ServiceCall): Promise<Body> {
  const late = AbortSignal.timeout(call.timeoutMs);
  try {
    const response = await fetch(buildAddress(call), {
      ...buildRequest(call),
      // Body and key are only for this service.
      redirect: "manual",
      signal: AbortSignal.any([late, call.signal]),
    });
    const isRepeat = response.headers.get("idempotent-replayed") === "true";
    return readBody(response, await response.text(), isRepeat);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    call.signal.throwIfAborted();
    const seconds = Math.round(call.timeoutMs / 1_000);
    if (late.aborted) throw new ServiceError(`The service did not answer within ${seconds} seconds.`, true);
    const code = causeOf.safeParse(error).data?.cause.code;
    const reason = code === undefined ? "" : ` (${code})`;
    const isBehindProxy =
      PROXIES.some((name) => (process.env[name] ?? "") !== "") && process.env.NODE_USE_ENV_PROXY !== "1";
    throw new ServiceError(
      `The service at ${call.serviceUrl} could not be reached or broke the connection off${reason}. ${isBehindProxy ? USE_PROXY : CHECK_ADDRESS}`,
      code === undefined || !NEVER_SENT.includes(code),
    );
  }
}

const causeOf = z.object({ cause: z.object({ code: z.string() }) });
const failureShape = z.object({
  error: z.string().check(z.minLength(1)),
  nothingMoved: z.optional(z.boolean()),
  approvalTxHash: z.optional(z.string()),
});

function readBody({ status, headers }: Response, text: string, isRepeat: boolean): Body {
  const body = parseJson(text);
  if (status >= 200 && status < 300) {
    if (isObject(body)) return body;
    throw new ServiceError(`The service answered with something that is not JSON. ${CHECK_ADDRESS}`, true);
  }
  const failure = failureShape.safeParse(body);
  const wait = waitIn(headers.get("retry-after"));
  const isDone = status >= 500 || status === 408;
  if (!failure.success) throw new ServiceError(`${wordsFor(status)}${wait}`, !isRepeat && isDone);
  const { approvalTxHash, nothingMoved } = failure.data;
  const error = failure.data.error.slice(0, MOST_ERROR_CHARS);
  // A readable failure of the service may also have come after the signature, and a 408 from a proxy before it.
  const isRefusal = [FROZEN, PAUSED].some((words) => error.startsWith(words));
  const isKnown = isRepeat || isRefusal || nothingMoved === true || approvalTxHash !== undefined;
  throw new ServiceError(error + wait, !isKnown && isDone, approvalTxHash !== undefined);
}

/** What a status without the service's own words means: something before the service has answered. */
function wordsFor(status: number): string {
  if (status < 400) return `The service's address leads elsewhere (${status}). ${CHECK_ADDRESS}`;
  if (status === 413) return "The input is too large (413): send less of it";
  if (status === 429) return "The service gets too many requests (429)";
  if (status === 401 || status === 403 || status === 407 || status === 451)
    return `Something before the service refuses this machine's requests (${status}): a firewall or a proxy`;
  if (status === 408) return "The request took too long on its way (408): try again";
  if (status >= 500) return `The service is not available at the moment (${status}): try again in a minute`;
  return `There is no such service at its address (${status}). ${CHECK_ADDRESS}`;
}

/** When to try again: `Retry-After` has seconds or a date. */
function waitIn(retryAfter: string | null): string {
  if (retryAfter === null) return "";
  const isCount = /^\s*\d+\s*$/.test(retryAfter);
  const seconds = isCount ? Number(retryAfter) : Math.ceil((Date.parse(retryAfter) - Date.now()) / 1_000);
  if (!(seconds > 0)) return "";
  if (seconds < 300) return ` (try again in ${seconds} s)`;
  const minutes = Math.ceil(seconds / 60);
  return ` (try again in ${minutes < 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`})`;
}

function buildAddress({ serviceUrl, method, path, input }: ServiceCall): string {
  if (method === "POST") return serviceUrl + path;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined || value === null) continue;
    query.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return query.size === 0 ? serviceUrl + path : `${serviceUrl}${path}?${query}`;
}

function buildRequest({ method, input, idempotencyKey, isOrder }: ServiceCall): RequestInit {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (isOrder) headers["Tool-Call"] = "true";
  // A caller's own key that no header can carry is sent in the body, which counts equally.
  if (idempotencyKey !== null && /^[\x20-\x7e]+$/.test(idempotencyKey)) {
    headers["Idempotency-Key"] = idempotencyKey;
  }
  if (method === "GET") return { method, headers };
  headers["Content-Type"] = "application/json";
  return { method, headers, body: JSON.stringify(input) };
}
