/** Part of the stand-ins for local use: faults of the connection and of the answer. */

import { CHARACTERS_PER_TOKEN, ConnectionLost, json, type Call } from "./http";
import type { Fault, Standin } from "./control";

const HANG_MS = 10 * 60_000;

/** Resolves after `ms`. @throws The signal's reason as soon as the caller gives up, as `fetch` does. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
  signal.throwIfAborted();
}

const REASONS: Record<number, string> = {
  400: "Bad Request",
  401: "Unauthorized",
  402: "Payment Required",
  403: "Forbidden",
  404: "Not Found",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
};

/** A request is refused, with the fault's body or in the provider's own words. */
export function refusal(
  { error }: Standin,
  { status, retryAfter, body }: Extract<Fault, { mode: "status" }>,
  { path }: Call,
): Response {
  const reason = REASONS[status] ?? `Error ${status}`;
  const headers = retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) };
  return json(body === undefined ? error(status, reason, { path, retryAfter }) : body, status, headers);
}

/** A model's text, cut where its tokens end, or half-way by a fault. */
export function withinTokens(whole: string, tokens: number, fault: Fault | undefined) {
  const room = Math.max(0, tokens) * CHARACTERS_PER_TOKEN;
  const length = fault?.mode === "truncated" ? Math.min(room, Math.ceil(whole.length / 2)) : room;
  return { text: whole.slice(0, length), isCut: whole.length > length };
}

/** Faults that come before the request takes effect. */
export async function delay(fault: Fault | undefined, signal: AbortSignal): Promise<void> {
  if (fault?.mode === "slow") await pause(fault.ms, signal);
  if (fault?.mode === "hang") {
    await pause(fault.ms ?? HANG_MS, signal);
    throw new ConnectionLost("fetch failed");
  }
}

/** Faults of an answer that was already right. */
export async function spoil(fault: Fault | undefined, answer: Response): Promise<Response> {
  switch (fault?.mode) {
    case "garbage":
      return new Response("upstream connect error or disconnect/reset before headers", {
        headers: { "Content-Type": "application/json" },
      });
    case "html":
      return new Response("<!doctype html><html><body><h1>Please stand by</h1></body></html>", {
        headers: { "Content-Type": "text/html; charset=utf-8" },
      });
    case "half":
      return brokenOff(answer);
    case "drop":
      throw new ConnectionLost("fetch failed");
    default:
      return answer;
  }
}

async function brokenOff(answer: Response): Promise<Response> {
  const whole = new Uint8Array(await answer.arrayBuffer());
  let sent = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (sent) {
        controller.error(new ConnectionLost("terminated"));
        return;
      }
      sent = true;
      controller.enqueue(whole.slice(0, Math.ceil(whole.length / 2)));
    },
  });
  return new Response(body, { status: answer.status, headers: answer.headers });
}
