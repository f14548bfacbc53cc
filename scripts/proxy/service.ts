import * as z from "zod/mini";
import { buildRequest, CallFailure, readAnswer, type ServiceRequest } from "../../convex/tools/requests";
import type { Body } from "../../convex/tools/text";

/** Calls the service over the network. */

type Connection = {
  /** The service's address without a trailing slash. */
  serviceUrl: string;
  timeoutMs: number;
  /** Fires when the client has cancelled the call. */
  signal: AbortSignal;
};

/** Connection failures before anything was sent. */
const NEVER_SENT = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];
const CHECK_ADDRESS = "Set NOELCLAW_CONVEX_URL to the service's address, if that is another.";
/** Node reads the proxy's address by itself only when it is told to. */
const USE_PROXY =
  "This machine names a proxy in HTTPS_PROXY, which this program does not use by itself: start it with Node 24 (or 22.21) and NODE_USE_ENV_PROXY=1 in its environment.";
const PROXIES = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/**
 * Calls the service and returns the body of its answer.
 * @throws CallFailure with the service's message, or the reason why there is none; the signal's reason when it fires.
 */
export async function callService(
  request: ServiceRequest,
  { serviceUrl, timeoutMs, signal }: Connection,
): Promise<Body> {
  const late = AbortSignal.timeout(timeoutMs);
  try {
    const { url, init } = buildRequest(serviceUrl, request);
    const response = await fetch(url, {
      ...init,
      // Body and key are only for this service.
      redirect: "manual",
      signal: AbortSignal.any([late, signal]),
    });
    return await readAnswer(response, explainStatus);
  } catch (error) {
    if (error instanceof CallFailure) throw error;
    signal.throwIfAborted();
    const seconds = Math.round(timeoutMs / 1_000);
    if (late.aborted) throw new CallFailure(`The service did not answer within ${seconds} seconds.`, true);
    const code = causeOf.safeParse(error).data?.cause.code;
    const reason = code === undefined ? "" : ` (${code})`;
    const isBehindProxy =
      PROXIES.some((name) => (process.env[name] ?? "") !== "") && process.env.NODE_USE_ENV_PROXY !== "1";
    throw new CallFailure(
      `The service at ${serviceUrl} could not be reached or broke the connection off${reason}. ${isBehindProxy ? USE_PROXY : CHECK_ADDRESS}`,
      code === undefined || !NEVER_SENT.includes(code),
    );
  }
}

const causeOf = z.object({ cause: z.object({ code: z.string() }) });

/** What a status means where something before the service has answered. */
function explainStatus(status: number): string {
  if (status < 300) return `The service answered with something that is not JSON. ${CHECK_ADDRESS}`;
  if (status < 400) return `The service's address leads elsewhere (${status}). ${CHECK_ADDRESS}`;
  if (status === 413) return "The input is too large (413): send less of it";
  if (status === 429) return "The service gets too many requests (429)";
  if (status === 401 || status === 403 || status === 407 || status === 451)
    return `Something before the service refuses this machine's requests (${status}): a firewall or a proxy`;
  if (status === 408) return "The request took too long on its way (408): try again";
  if (status >= 500) return `The service is not available at the moment (${status}): try again in a minute`;
  return `There is no such service at its address (${status}). ${CHECK_ADDRESS}`;
}
