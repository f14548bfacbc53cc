import { Agent, request } from "node:http";
import { Readable } from "node:stream";

/**
 * `fetch` to a server on this machine, over `node:http`. Node's own `fetch` keeps its deadlines by the global timers:
 * whoever replaces those to hasten or to stop the application would hasten or stop its connections too. Redirects are
 * not followed.
 */
export async function loopbackFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const asked = new Request(input, init);
  const body = asked.body === null ? undefined : Buffer.from(await asked.arrayBuffer());
  return new Promise((resolve, reject) => {
    const { method, signal, headers } = asked;
    if (signal.aborted) return reject(reasonOf(signal));
    const sent = request(asked.url, { agent, method, headers: Object.fromEntries(headers) }, (got) => {
      const { statusCode: status = 502, statusMessage: statusText = "" } = got;
      const hasBody = status !== 204 && status !== 205 && status !== 304;
      if (!hasBody) got.resume();
      resolve(
        new Response(hasBody ? bytesOf(got) : null, { status, statusText, headers: pairsOf(got.rawHeaders) }),
      );
    });
    const abort = () => void sent.destroy(reasonOf(signal));
    signal.addEventListener("abort", abort, { once: true });
    // Of the request, which has to be held until then: without it, its signal never hears of the caller's end.
    sent.once("close", () => asked.signal.removeEventListener("abort", abort));
    sent.once("error", (cause) =>
      reject(signal.aborted ? reasonOf(signal) : new TypeError("fetch failed", { cause })),
    );
    sent.end(body);
  });
}

const agent = new Agent({ keepAlive: true });

function bytesOf(got: Readable): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      got.on("data", (chunk: Buffer) => controller.enqueue(new Uint8Array(chunk)));
      got.once("end", () => controller.close());
      got.once("error", (cause) => controller.error(new TypeError("terminated", { cause })));
    },
    cancel: () => void got.destroy(),
  });
}

function pairsOf(raw: readonly string[]): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, index) => [
    raw[2 * index] ?? "",
    raw[2 * index + 1] ?? "",
  ]);
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new DOMException("This operation was aborted", "AbortError");
}
