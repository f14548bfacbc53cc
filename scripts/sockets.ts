import { Agent, createServer, request as send, type IncomingMessage } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { OperatorError } from "./command";
import { real } from "./real";

/** The stack's servers on this machine, and its requests to them. */

export type Handler = (request: Request, from: IncomingMessage) => Promise<Response>;
export type Listener = { url: string; close: () => Promise<void> };

/** A port is taken. */
export const portInUseError = (port: number, variable: string): OperatorError =>
  new OperatorError(`Port ${port} is in use: stop what is using it, or set ${variable} to another port.`);

/** The connection fails instead of an answer; `fetch` reports this as a TypeError. */
export class ConnectionLost extends TypeError {}

const HOST = "127.0.0.1";
const MAX_BODY_BYTES = 20 * 1024 * 1024;
/** The time for open requests to end when the server closes. */
const GRACE_MS = 1_000;

/**
 * Serves on the local machine only. Port 0 takes a free one.
 * @param variable The environment variable that sets the port, for the error.
 */
export async function listen(port: number, variable: string, handle: Handler): Promise<Listener> {
  const server = createServer((incoming, outgoing) => {
    const answerRequest = async (request: Request): Promise<Response> => {
      if (Number(incoming.headers["content-length"] ?? 0) > MAX_BODY_BYTES)
        return Response.json(
          { code: "RequestTooLarge", message: "The body is larger than 20 MiB" },
          { status: 413 },
        );
      try {
        return await handle(request, incoming);
      } catch (error) {
        const isOver = error instanceof ConnectionLost || request.signal.aborted;
        if (isOver) outgoing.destroy();
        else console.error(`${incoming.method} ${incoming.url} failed`, error);
        return new Response(null, { status: 500 });
      }
    };
    void getRequestListener(answerRequest, { overrideGlobalObjects: false })(incoming, outgoing);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => {
      reject("code" in error && error.code === "EADDRINUSE" ? portInUseError(port, variable) : error);
    });
    server.listen(port, HOST, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port");
  return {
    url: `http://${HOST}:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        const timer = real.setTimeout(() => server.closeAllConnections(), GRACE_MS);
        server.close(() => {
          real.clearTimeout(timer);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

/**
 * The sender's address as Convex's backend reads it: the first entry of `X-Forwarded-For`, unchecked, else the
 * connection's peer.
 */
export function getSenderAddress({ headers }: Request, { socket }: IncomingMessage): string | null {
  return headers.get("x-forwarded-for")?.split(",", 1).join("").trim() ?? socket.remoteAddress ?? null;
}

const LOCAL = new Set(["localhost", "127.0.0.1", "[::1]"]);
const isLocal = (url: string) => LOCAL.has(URL.parse(url)?.hostname ?? "");

/**
 * Why a request is not from this machine's own pages and programs; `null` if it is. A local port answers whatever the
 * machine's browser sends; a foreign page is named in `Origin`, or, if its own name resolves to this machine, in
 * `Host`.
 */
export function findForeignOrigin({ headers }: Request): string | null {
  const [host, origin] = [headers.get("host"), headers.get("origin")];
  if (host !== null && !isLocal(`http://${host}`)) return "Host names another machine";
  return origin !== null && !isLocal(origin) ? "Origin is a page from elsewhere" : null;
}

const agent = new Agent({ keepAlive: true });

/**
 * `fetch` to a server on this machine, over `node:http`. Node's own `fetch` uses the global timers for its deadlines,
 * so replacing those to accelerate or stop the application would affect its connections too. Redirects are not
 * followed.
 */
export async function fetchFromLoopback(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const { url, method, headers, body, ...asked } = plain(input, init) ?? (await asRequest(input, init));
  return new Promise((resolve, reject) => {
    const rejectWith = (cause: unknown) => {
      const ended = asked.signalOf();
      const reason: unknown = ended?.aborted === true ? ended.reason : null;
      reject(reason instanceof Error ? reason : new TypeError("fetch failed", { cause }));
    };
    if (asked.signalOf()?.aborted === true) return rejectWith(null);
    const sent = send(url, { agent, method, headers: Object.fromEntries(headers) }, (got) => {
      const { statusCode: status = 502, statusMessage: statusText = "" } = got;
      const pairs = Object.entries(got.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      );
      const isEmpty = status === 204 || status === 205 || status === 304;
      if (isEmpty) got.resume();
      resolve(new Response(isEmpty ? null : readBytes(got), { status, statusText, headers: pairs }));
    });
    const abort = () => void sent.destroy();
    asked.signalOf()?.addEventListener("abort", abort, { once: true });
    sent.once("close", () => asked.signalOf()?.removeEventListener("abort", abort));
    sent.once("error", rejectWith);
    sent.end(body);
  });
}

type Asked = {
  url: string | URL;
  method: string;
  headers: Headers;
  body: string | Buffer | undefined;
  /** Must be referenced until the end: the signal of a garbage-collected request never fires. */
  signalOf: () => AbortSignal | null;
};

/** The request for an address and a text, the usual case, without a `Request` object, which is slow; otherwise `null`. */
function plain(input: RequestInfo | URL, init: RequestInit = {}): Asked | null {
  const { method = "GET", body, signal = null } = init;
  if (input instanceof Request || (typeof body !== "string" && body !== undefined && body !== null))
    return null;
  return {
    url: input,
    method,
    headers: new Headers(init.headers),
    body: body ?? undefined,
    signalOf: () => signal,
  };
}

async function asRequest(input: RequestInfo | URL, init?: RequestInit): Promise<Asked> {
  const asked = new Request(input, init);
  const { url, method, headers } = asked;
  const body = asked.body === null ? undefined : Buffer.from(await asked.arrayBuffer());
  return { url, method, headers, body, signalOf: () => asked.signal };
}

function readBytes(got: IncomingMessage): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      got.on("data", (chunk: Buffer) => controller.enqueue(new Uint8Array(chunk)));
      got.once("end", () => controller.close());
      got.once("error", (cause) => controller.error(new TypeError("terminated", { cause })));
    },
    cancel: () => void got.destroy(),
  });
}
