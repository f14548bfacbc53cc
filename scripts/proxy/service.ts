import * as z from "zod/mini";
import { FROZEN, PAUSED } from "../../convex/lib/security/refusals";

/** One request to the service, repeated at most once. */
export type ServiceCall = {
  /** The service's address without a trailing slash. */
  serviceUrl: string;
  method: "GET" | "POST";
  path: string;
  input: Readonly<Record<string, unknown>>;
  /** Sent with every attempt. */
  idempotencyKey: string | null;
  /** Whether a second attempt is harmless. */
  repeatable: boolean;
  /** For one attempt. */
  timeoutMs: number;
  /** Fires when the client has cancelled the call. */
  signal: AbortSignal;
};

export type Body = Record<string, unknown>;

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
/** Gateways refuse callers without a user agent. */
const USER_AGENT = "market-research-signals-wallets";
const CHECK_ADDRESS = "Set NOELCLAW_CONVEX_URL to the service's address, if that is another.";

/**
 * Calls the service and returns the body of its answer, and whether an earlier request with the same key did it.
 * @throws ServiceError with the service's message, or the reason why there is none; the signal's reason when it fires.
 */
export async function callService(call: ServiceCall): Promise<{ body: Body; isRepeat: boolean }> {
  try {
    return await attempt(call);
  } catch (first) {
    if (!(first instanceof ServiceError) || !first.passing || !call.repeatable) throw first;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    call.signal.throwIfAborted();
    try {
      return await attempt(call);
    } catch (second) {
      if (!(second instanceof ServiceError)) throw second;
      const inDoubt = !second.isRepeat && (first.inDoubt || second.inDoubt);
      throw new ServiceError(second.message, inDoubt, false);
    }
  }
}

async function attempt(call: ServiceCall): Promise<{ body: Body; isRepeat: boolean }> {
  const late = AbortSignal.timeout(call.timeoutMs);
  try {
    const response = await fetch(addressOf(call), {
      ...requestOf(call),
      // Body and key are only for this service.
      redirect: "manual",
      signal: AbortSignal.any([late, call.signal]),
    });
    const isRepeat = response.headers.get("idempotent-replayed") === "true";
    return { body: bodyOf(response, await response.text(), isRepeat), isRepeat };
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    call.signal.throwIfAborted();
    if (late.aborted) {
      const seconds = Math.round(call.timeoutMs / 1_000);
      throw new ServiceError(`The service did not answer within ${seconds} seconds.`, true, false);
    }
    const code = causeOf.safeParse(error).data?.cause.code;
    const reason = code === undefined ? "" : ` (${code})`;
    throw new ServiceError(
      `The service at ${call.serviceUrl} could not be reached or broke the connection off${reason}. ${CHECK_ADDRESS}`,
      code === undefined || !NEVER_SENT.includes(code),
      true,
    );
  }
}

const causeOf = z.object({ cause: z.object({ code: z.string() }) });
const failureShape = z.object({ error: z.string().check(z.minLength(1)) });
const object = z.record(z.string(), z.unknown());

function bodyOf({ status, headers }: Response, text: string, isRepeat: boolean): Body {
  const body = jsonOf(text);
  const whole = object.safeParse(body);
  if (status >= 200 && status < 300) {
    if (whole.success) return whole.data;
    throw new ServiceError(
      `The service answered with something that is not JSON. ${CHECK_ADDRESS}`,
      true,
      false,
    );
  }
  const failure = failureShape.safeParse(body);
  if (failure.success) {
    const retryAfter = headers.get("retry-after");
    const wait = retryAfter === null ? "" : ` (try again in ${retryAfter} s)`;
    const error = failure.data.error.slice(0, MOST_ERROR_CHARS);
    // A readable failure of the service may also have come after the signature, and a 408 from a proxy before it.
    const isRefusal = [FROZEN, PAUSED].some((words) => error.startsWith(words));
    const open = !isRepeat && !isRefusal && (status >= 500 || status === 408);
    throw new ServiceError(error + wait, open, open && PASSING.includes(status), isRepeat);
  }
  throw new ServiceError(
    `The service answered ${status} without a readable message. ${CHECK_ADDRESS}`,
    true,
    PASSING.includes(status),
  );
}

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

function requestOf({ method, input, idempotencyKey }: ServiceCall): RequestInit {
  const headers: Record<string, string> = { Accept: "application/json", "User-Agent": USER_AGENT };
  // A caller's own key that no header can carry is sent in the body, which counts equally.
  if (idempotencyKey !== null && /^[\x20-\x7e]+$/.test(idempotencyKey)) {
    headers["Idempotency-Key"] = idempotencyKey;
  }
  if (method === "GET") return { method, headers };
  headers["Content-Type"] = "application/json";
  return { method, headers, body: JSON.stringify(input) };
}

/** A setting that the proxy cannot start with. */
export class SettingsError extends Error {}

/**
 * The service's address: `NOELCLAW_CONVEX_URL` if it is set, otherwise the built-in one; without trailing slashes.
 * @throws SettingsError naming what is wrong with the setting.
 */
export function serviceUrlOf(setting: string | undefined, builtIn: string): string {
  const given = setting?.trim() ?? "";
  const address = given === "" ? builtIn : given;
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null) refuse("is not an address such as https://example.convex.site");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    refuse("must be an address that begins with http:// or https://");
  }
  if (url.username !== "" || url.password !== "") refuse("must not hold a user name or password");
  if (url.search !== "" || url.hash !== "") refuse("must be an address without ? and #");
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

function refuse(problem: string): never {
  throw new SettingsError(`NOELCLAW_CONVEX_URL ${problem}`);
}
