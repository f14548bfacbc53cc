import { AsyncLocalStorage } from "node:async_hooks";
import * as z from "zod";

/** Exchanges between a question and its provider: watched, recorded, or replayed. */

const answerShape = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("answer"),
    status: z.number().int(),
    headers: z.record(z.string(), z.string()),
    body: z.string(),
  }),
  z.object({ kind: z.literal("timeout") }),
  z.object({ kind: z.literal("unreachable") }),
]);
const exchangeShape = z.object({
  request: z.object({ method: z.string(), url: z.string(), body: z.string().nullable() }),
  answer: answerShape,
});
export type Exchange = z.infer<typeof exchangeShape>;

/** One question's file: when it was asked (epoch ms), and every exchange in order. */
export const recordingShape = z.object({
  question: z.string(),
  at: z.number(),
  exchanges: z.array(exchangeShape),
});
export type Recording = z.infer<typeof recordingShape>;

/** Headers that say something about the answer; none that says something about the operator. */
const KEPT_HEADERS = ["content-type", "retry-after", "x-model-deprecated", "x-model-replacement"];

const current = new AsyncLocalStorage<Exchange[]>();

/** Runs a question, and collects its exchanges. Works after `watchFetch` was called. */
export async function watched<Value>(
  question: () => Promise<Value>,
): Promise<{ value: Value; exchanges: Exchange[] }> {
  const exchanges: Exchange[] = [];
  const value = await current.run(exchanges, question);
  return { value, exchanges };
}

/** The last answer to the current question so far, which explains a failure in the service's own words. */
export function lastAnswer(): Exchange["answer"] | null {
  return current.getStore()?.at(-1)?.answer ?? null;
}

/** Adds the exchanges of a part of the current question to the question's own, in the order of the requests. */
export function keepExchanges(exchanges: readonly Exchange[]): void {
  current.getStore()?.push(...exchanges);
}

/** From now on, every `fetch` of a question is recorded. */
export function watchFetch(): void {
  const before = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const exchanges = current.getStore();
    if (exchanges === undefined) return before(input, init);
    const request = requestOf(input, init);
    // Its place is reserved immediately, so that parallel requests keep their order.
    const place: Exchange = { request, answer: { kind: "unreachable" } };
    exchanges.push(place);
    try {
      const response = await before(input, init);
      const body = await response.text();
      const { status } = response;
      place.answer = { kind: "answer", status, headers: keptHeaders(response.headers), body };
      return new Response(body, { status, headers: response.headers });
    } catch (error) {
      const late = error instanceof Error && /^(?:Abort|Timeout)Error$/.test(error.name);
      place.answer = { kind: late ? "timeout" : "unreachable" };
      throw error;
    }
  };
}

/** From now on, every `fetch` is answered from the recordings, in order. */
export function replayFetch(exchanges: readonly Exchange[]): void {
  const left = [...exchanges];
  globalThis.fetch = (input, init) => {
    const answer = left.shift()?.answer ?? { kind: "unreachable" as const };
    current.getStore()?.push({ request: requestOf(input, init), answer });
    if (answer.kind === "timeout") return Promise.reject(new DOMException("Replayed", "TimeoutError"));
    if (answer.kind === "unreachable") return Promise.reject(new TypeError("fetch failed"));
    return Promise.resolve(new Response(answer.body, { status: answer.status, headers: answer.headers }));
  };
}

function requestOf(input: string | URL | Request, init: RequestInit | undefined): Exchange["request"] {
  const url = input instanceof Request ? input.url : String(input);
  return { method: init?.method ?? "GET", url, body: typeof init?.body === "string" ? init.body : null };
}

function keptHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    KEPT_HEADERS.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}
