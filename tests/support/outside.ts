import { vi } from "vitest";

/** A call that leaves the application. */
export type Outgoing = {
  url: string;
  /** Empty where nothing, or no text, is sent. */
  body: string;
  signal: AbortSignal | null | undefined;
};

/**
 * Has calls to the outside answered by the test, which may also `pass` them on, with another body where it names one.
 * @returns What ends that.
 */
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

/** Does something before the first call of this method of the chain's leaves. */
export function beforeFirst(method: string, work: () => Promise<unknown>): void {
  const end = intercept(async ({ body }, pass) => {
    if (body.includes(method)) {
      end();
      await work();
    }
    return pass();
  });
}

/** @returns How many calls have left by then; with a method of the chain's, how many of that one. */
export function counting(method = ""): () => number {
  let calls = 0;
  intercept((call, pass) => {
    if (call.body.includes(method)) calls++;
    return pass();
  });
  return () => calls;
}

/** The chain says that it is another one. @returns What ends that. */
export function onChain(id: number): () => void {
  return intercept(async (_call, pass) => {
    const response = await pass();
    return new Response((await response.text()).replaceAll('"0x2105"', `"0x${id.toString(16)}"`), response);
  });
}

/** No answer, ever. */
export const silence = (): Promise<Response> => new Promise<Response>(() => undefined);

/** No answer, until who asked gives up. */
export const hang = ({ signal }: Outgoing): Promise<Response> =>
  new Promise((_resolve, reject) => {
    signal?.addEventListener("abort", () => reject(new DOMException("The time is over", "TimeoutError")));
  });
