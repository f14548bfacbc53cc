/** Part of the stand-ins for local use: faults of the connection and of the answer. */

import { ConnectionLost } from "./http";
import type { Fault } from "./control";

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
