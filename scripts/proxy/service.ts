import type { IncomingMessage, RequestOptions } from "node:http";
import * as z from "zod/mini";
import { FROZEN, PAUSED } from "../../convex/lib/security/refusals";

/** One request to the service, repeated at most once. */
export type ServiceCall = {
  /** The service's address without a trailing slash. */
  serviceUrl: string;
  method: "GET" | "POST";
  path: string;
  input: Record<string, unknown>;
  /** Sent with every attempt. */
  idempotencyKey: string | null;
  /** Whether a second attempt is harmless. */
  repeatable: boolean;
  /** For one attempt. */
  timeoutMs: number;
  /** Fires when the client has cancelled the call. */
  signal: AbortSignal;
};

/** `isRepeat`: an earlier request with the same key has already done it. */
type Answered = { body: unknown; isRepeat: boolean };

/** A call without an answer to show; its message is for the person in the chat. */
export class ServiceError extends Error {
  constructor(
    message: string,
    /** Whether the service may still have executed the call. */
    readonly inDoubt: boolean,
    /** Whether another attempt may succeed. */
    readonly passing: boolean,
    /** Whether this is the outcome of an earlier request with the same key. */
    readonly isRepeat = false,
  ) {
    super(message);
  }
}

/** The service's own errors are shorter; a longer one would fill the assistant's context. */
const MOST_ERROR_CHARS = 2_000;
const PAUSE_MS = 250;
/** Statuses of a service or gateway that is restarting, overloaded, or has a failing upstream. */
const PASSING = [502, 503];
/** Connection failures before anything was sent. */
const NEVER_SENT = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];
/** How long a connection is kept for the next call; servers close idle ones after 5 s or later. */
const IDLE_MS = 4_000;

/**
 * Calls the service and returns the body of its answer.
 * @throws ServiceError with the service's message, or the reason why there is none; the signal's reason when it fires.
 */
export async function callService(call: ServiceCall): Promise<Answered> {
  try {
    return await attempt(call);
  } catch (first) {
    if (!(first instanceof ServiceError) || !first.passing || !call.repeatable) throw first;
    await pause(call.signal);
    try {
      return await attempt(call);
    } catch (second) {
      if (!(second instanceof ServiceError)) throw second;
      const inDoubt = !second.isRepeat && (first.inDoubt || second.inDoubt);
      throw new ServiceError(second.message, inDoubt, false);
    }
  }
}

async function attempt(call: ServiceCall): Promise<Answered> {
  // Timer and listener are removed with the attempt; AbortSignal.timeout would keep their memory for the whole time.
  const ending = new AbortController();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    ending.abort();
  }, call.timeoutMs);
  const cancel = () => ending.abort();
  call.signal.addEventListener("abort", cancel, { once: true });
  try {
    call.signal.throwIfAborted();
    const response = await exchange(call, ending.signal);
    return { body: bodyOf(response), isRepeat: response.replayed };
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    call.signal.throwIfAborted();
    throw late ? lateness(call) : disconnection(call, error);
  } finally {
    clearTimeout(timer);
    call.signal.removeEventListener("abort", cancel);
  }
}

type Response = { status: number; text: string; retryAfter: string | undefined; replayed: boolean };

/** One request and its answer. Redirects are not followed: body and key are only for this service. */
async function exchange(call: ServiceCall, signal: AbortSignal): Promise<Response> {
  const { request, agent } = await transportOf(call.serviceUrl);
  const { body, ...options } = requestOf(call);
  return new Promise((resolve, reject) => {
    const receive = (response: IncomingMessage) => {
      const parts: string[] = [];
      response
        .setEncoding("utf8")
        .on("data", (part: string) => parts.push(part))
        .once("error", reject)
        .once("end", () => {
          const { statusCode = 0, headers } = response;
          const replayed = headers["idempotent-replayed"] === "true";
          resolve({ status: statusCode, text: parts.join(""), retryAfter: headers["retry-after"], replayed });
        });
    };
    request(addressOf(call), { ...options, agent, signal }, receive)
      .once("error", reject)
      .end(body);
  });
}

type Transport = Awaited<ReturnType<typeof openTransport>>;

const transports = new Map<string, Promise<Transport>>();

/** The transport for this address. `fetch` would work too, but takes some milliseconds more per call. */
function transportOf(serviceUrl: string): Promise<Transport> {
  const transport = transports.get(serviceUrl) ?? openTransport(serviceUrl);
  transports.set(serviceUrl, transport);
  return transport;
}

async function openTransport(serviceUrl: string) {
  const { request, Agent } = serviceUrl.startsWith("https:")
    ? await import("node:https")
    : await import("node:http");
  return { request, agent: new Agent({ keepAlive: true, timeout: IDLE_MS }) };
}

function lateness({ timeoutMs }: ServiceCall): ServiceError {
  const seconds = Math.round(timeoutMs / 1_000);
  return new ServiceError(`The service did not answer within ${seconds} seconds.`, true, false);
}

function disconnection({ serviceUrl }: ServiceCall, error: unknown): ServiceError {
  const code = codeOf(error);
  const reason = code === null ? "" : ` (${code})`;
  const message = `The service at ${serviceUrl} could not be reached or broke the connection off${reason}. ${CHECK_ADDRESS}`;
  return new ServiceError(message, code === null || !NEVER_SENT.includes(code), true);
}

function bodyOf({ status, text, retryAfter, replayed }: Response): unknown {
  const body = jsonOf(text);
  if (status >= 200 && status < 300) {
    if (body !== undefined) return body;
    throw new ServiceError(
      `The service answered with something that is not JSON. ${CHECK_ADDRESS}`,
      true,
      false,
    );
  }
  const parsed = failureShape.safeParse(body);
  if (parsed.success) {
    const wait = retryAfter === undefined ? "" : ` (try again in ${retryAfter} s)`;
    const error = parsed.data.error.slice(0, MOST_ERROR_CHARS);
    // A readable failure of the service may also have come after the signature, and a 408 from a proxy before it.
    const open = !replayed && !isRefusal(error) && (status >= 500 || status === 408);
    throw new ServiceError(error + wait, open, open && PASSING.includes(status), replayed);
  }
  throw new ServiceError(
    `The service answered ${status} without a readable message. ${CHECK_ADDRESS}`,
    true,
    PASSING.includes(status),
  );
}

/** The service's messages for orders that were refused before anything was signed. */
function isRefusal(error: string): boolean {
  return [FROZEN, PAUSED].some((words) => error.startsWith(words));
}

const CHECK_ADDRESS = "Set NOELCLAW_CONVEX_URL to the service's address, if that is another.";

const failureShape = z.object({ error: z.string().check(z.minLength(1)) });

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function addressOf({ serviceUrl, method, path, input }: ServiceCall): string {
  if (method === "POST") return serviceUrl + path;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined || value === null) continue;
    query.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return query.size === 0 ? serviceUrl + path : `${serviceUrl}${path}?${query}`;
}

function requestOf({ method, input, idempotencyKey }: ServiceCall): RequestOptions & { body?: string } {
  const headers: Record<string, string> = { Accept: "application/json", "User-Agent": USER_AGENT };
  // A caller's own key that no header can carry is sent in the body, which counts equally.
  if (idempotencyKey !== null && /^[\x20-\x7e]+$/.test(idempotencyKey)) {
    headers["Idempotency-Key"] = idempotencyKey;
  }
  if (method === "GET") return { method, headers };
  headers["Content-Type"] = "application/json";
  return { method, headers, body: JSON.stringify(input) };
}

/** Gateways refuse callers without a user agent. */
const USER_AGENT = "market-research-signals-wallets";

const failureCode = z.object({ code: z.string() });

/** The connection's error code. */
function codeOf(error: unknown): string | null {
  const parsed = failureCode.safeParse(error);
  return parsed.success ? parsed.data.code : null;
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      const reason: unknown = signal.reason;
      reject(reason instanceof Error ? reason : new Error("The call was called off"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, PAUSE_MS);
    signal.addEventListener("abort", stop, { once: true });
  });
}
