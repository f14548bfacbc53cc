/** Part of the stand-ins for local use: the faults, and the choice of the failing request. */

import { STATUS_CODES } from "node:http";
import * as z from "zod";
import { ConnectionLost } from "../sockets";
import { sendJson, type Call } from "./http";
import { SOURCES } from "./sources";
import { faultShape, type Fault, type Standin } from "./standin";

export const PROVIDERS = ["llm", "agent", "sentiment", "messenger", "swap", ...SOURCES] as const;
export type Provider = (typeof PROVIDERS)[number];

const WRITERS: readonly Provider[] = ["llm", "sentiment", "agent"];

export type Faults = ReturnType<typeof createFaults>;

export function createFaults() {
  const queues = new Map<Provider, { fault: Fault; left: number }[]>();
  return {
    /** @throws TypeError for a fault that this provider cannot show. */
    add: (provider: Provider, fault: Fault): void => {
      const isForeign = fault.mode === "reply" && !WRITERS.includes(provider);
      if (isForeign || (fault.schema !== undefined && provider !== "llm"))
        throw new TypeError(`the ${provider} stand-in cannot show ${JSON.stringify(fault)}`);
      queues.set(provider, [...(queues.get(provider) ?? []), { fault, left: fault.times ?? Infinity }]);
    },
    clear: (provider?: Provider): void => {
      if (provider === undefined) queues.clear();
      else queues.delete(provider);
    },
    /** The fault for the next request, counted as used. */
    take: (provider: Provider, path: string, schema: string | undefined): Fault | undefined => {
      const found = queues
        .get(provider)
        ?.find(
          ({ fault, left }) =>
            left > 0 && (fault.schema ?? schema) === schema && path.includes(fault.path ?? ""),
        );
      if (found !== undefined) found.left--;
      return found?.fault;
    },
  };
}

const provider = z.enum(PROVIDERS);
const clearShape = z.strictObject({ provider: provider.optional(), clear: z.literal(true) });

/**
 * Carries out one control message: `{ provider, ...fault }`, `{ provider, clear: true }` or `{ clear: true }`.
 * @throws z.ZodError or TypeError for any other.
 */
export function control(faults: Faults, message: unknown): void {
  const clearing = clearShape.safeParse(message);
  if (clearing.success) return faults.clear(clearing.data.provider);
  const { provider: target, ...fault } = z.looseObject({ provider }).parse(message);
  faults.add(target, faultShape.parse(fault));
}

/** One request, with its fault. @throws ConnectionLost, and the signal's reason when the caller gives up. */
export async function answerWith(
  standin: Standin,
  call: Call,
  fault: Fault | undefined,
  signal: AbortSignal,
): Promise<Response> {
  if (fault?.mode === "status") return refusal(standin, fault);
  if (fault?.mode === "slow") await pause(fault.ms ?? LONGEST_MS, signal);
  const answer = await standin.handle(call, fault);
  if (fault?.mode === "garbage") {
    const text = fault.text ?? "upstream connect error or disconnect/reset before headers";
    return new Response(text, { headers: { "Content-Type": "application/json" } });
  }
  if (fault?.mode !== "drop") return answer;
  if (fault.half !== true) throw new ConnectionLost("fetch failed");
  return brokenOff(answer);
}

const LONGEST_MS = 2 ** 31 - 1;

function refusal({ error }: Standin, fault: Extract<Fault, { mode: "status" }>): Response {
  const { status, retryAfter, body } = fault;
  const usual = error(status, STATUS_CODES[status] ?? `Error ${status}`, retryAfter);
  const headers = retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) };
  return sendJson(body === undefined ? usual : body, status, headers);
}

/** Resolves after `ms`. @throws The signal's reason as soon as the caller gives up, as `fetch` does. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  clearTimeout(timer);
  signal.throwIfAborted();
}

/** Half of the answer's body, then a lost connection. */
async function brokenOff(answer: Response): Promise<Response> {
  const whole = new Uint8Array(await answer.arrayBuffer());
  const parts = [whole.slice(0, Math.ceil(whole.length / 2))];
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const part = parts.pop();
      if (part === undefined) controller.error(new ConnectionLost("terminated"));
      else controller.enqueue(part);
    },
  });
  // Sent as it comes, not when it is whole.
  const headers = { "Content-Type": "application/json", "Transfer-Encoding": "chunked" };
  return new Response(body, { status: answer.status, headers });
}
