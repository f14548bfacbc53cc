import { vi } from "vitest";
import type { Standins } from "../../scripts/standins";

/** A call that leaves the application. */
export type Outgoing = {
  url: string;
  /** Empty if nothing, or no text, is sent. */
  body: string;
  signal: AbortSignal | null | undefined;
};

/** Lets the test answer calls to the outside; it may also `pass` them on, with another body if it gives one. @returns Stops that. */
export function intercept(
  answer: (call: Outgoing, pass: (body?: string) => Promise<Response>) => Promise<Response>,
): () => void {
  const inner = globalThis.fetch;
  vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
    const body = typeof init?.body === "string" ? init.body : "";
    const url = input instanceof Request ? input.url : String(input);
    return answer({ url, body, signal: init?.signal }, (other) =>
      inner(input, other === undefined ? init : { ...init, body: other }),
    );
  });
  return () => vi.stubGlobal("fetch", inner);
}

/** Does something before the first chain call of this method leaves. */
export function beforeFirst(method: string, work: () => Promise<unknown>): void {
  const end = intercept(async ({ body }, pass) => {
    if (body.includes(method)) {
      end();
      await work();
    }
    return pass();
  });
}

/** @returns How many calls have left by then; with a method of the chain, how many of that method. */
export function counting(method = ""): () => number {
  let calls = 0;
  intercept((call, pass) => {
    if (call.body.includes(method)) calls++;
    return pass();
  });
  return () => calls;
}

/** The chain reports another id. @returns Stops that. */
export function onChain(id: number): () => void {
  return intercept(async (_call, pass) => {
    const response = await pass();
    return new Response((await response.text()).replaceAll('"0x2105"', `"0x${id.toString(16)}"`), response);
  });
}

/** Never answers. */
export const silence = (): Promise<Response> => new Promise<Response>(() => undefined);

/** Does not answer until the caller gives up. */
export const hang = ({ signal }: Outgoing): Promise<Response> =>
  new Promise((_resolve, reject) => {
    signal?.addEventListener("abort", () => reject(new DOMException("The time is over", "TimeoutError")));
  });

/** Answers from these addresses, changed on their way. */
export function altered(address: RegExp, change: (body: unknown) => unknown): void {
  intercept(async ({ url }, pass) => {
    const response = await pass();
    return address.test(url) ? Response.json(change(await response.json()), response) : response;
  });
}

/** The same for an answer's text. @returns Stops that. */
export function spoiled(address: RegExp, change: (text: string) => string): () => void {
  return intercept(async ({ url }, pass) => {
    const response = await pass();
    return address.test(url) ? new Response(change(await response.text()), response) : response;
  });
}

/** No source gives a live price of a major until the stand-ins are cleared: the exchange has its candles still. */
export function noPrices({ standins }: { standins: Standins }): void {
  standins.fail("coinbase", { mode: "status", status: 503, path: "/ticker" });
  standins.fail("coingecko", { mode: "status", status: 503 });
}
