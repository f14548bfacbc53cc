import { Agent, request } from "node:http";
import { Readable } from "node:stream";

/**
 * `fetch` to a server on this machine, over `node:http`. Node's own `fetch` keeps its deadlines by the global timers:
 * whoever replaces those to hasten or to stop the application would hasten or stop its connections too. Redirects are
 * not followed.
 */
export async function loopbackFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const { url, method, headers, body, signalOf } = plain(input, init) ?? (await asRequest(input, init));
  return new Promise((resolve, reject) => {
    const signal = signalOf();
    if (signal?.aborted === true) return reject(reasonOf(signal));
    const sent = request(url, { agent, method, headers: Object.fromEntries(headers) }, (got) => {
      const { statusCode: status = 502, statusMessage: statusText = "" } = got;
      const hasBody = status !== 204 && status !== 205 && status !== 304;
      if (!hasBody) got.resume();
      resolve(
        new Response(hasBody ? bytesOf(got) : null, { status, statusText, headers: pairsOf(got.rawHeaders) }),
      );
    });
    const abort = () => void sent.destroy(signal === null ? undefined : reasonOf(signal));
    signal?.addEventListener("abort", abort, { once: true });
    sent.once("close", () => signalOf()?.removeEventListener("abort", abort));
    sent.once("error", (cause) =>
      reject(signal?.aborted === true ? reasonOf(signal) : new TypeError("fetch failed", { cause })),
    );
    sent.end(body);
  });
}

type Asked = {
  url: string | URL;
  method: string;
  headers: Headers;
  body: string | Buffer | undefined;
  /** Has to be held until the end: a request's signal hears of nothing once nobody holds the request. */
  signalOf: () => AbortSignal | null;
};

/** What is asked in an address and a text, as most is, needs no `Request`, which costs more than the rest; else `null`. */
function plain(input: RequestInfo | URL, init: RequestInit = {}): Asked | null {
  const { method = "GET", body, signal = null } = init;
  if (input instanceof Request || (typeof body !== "string" && body !== undefined && body !== null))
    return null;
  const headers = new Headers(init.headers);
  if (typeof body === "string" && !headers.has("content-type"))
    headers.set("content-type", "text/plain;charset=UTF-8");
  return { url: input, method, headers, body: body ?? undefined, signalOf: () => signal };
}

async function asRequest(input: RequestInfo | URL, init?: RequestInit): Promise<Asked> {
  const asked = new Request(input, init);
  const { url, method, headers } = asked;
  const body = asked.body === null ? undefined : Buffer.from(await asked.arrayBuffer());
  return { url, method, headers, body, signalOf: () => asked.signal };
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
