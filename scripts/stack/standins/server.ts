/** Serves the stand-ins over HTTP, for local use. A connection that is to fail has its socket destroyed. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Standins } from "./index";
import { foreignness } from "../sameMachine";
import { ConnectionLost, json } from "./http";

export type ServedStandins = { url: string; close(): Promise<void> };

/**
 * @param options.port 0 for any free one.
 * @throws Error naming the address when the port is busy.
 */
export async function serveStandins(
  standins: Pick<Standins, "handle">,
  options: { host: string; port: number },
): Promise<ServedStandins> {
  const { host, port } = options;
  const origin = (actual: number) => `http://${host.includes(":") ? `[${host}]` : host}:${actual}`;
  const server = createServer((incoming, outgoing) => {
    void exchange(standins, incoming, outgoing, origin(port));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        error.code === "EADDRINUSE"
          ? new Error(`The stand-ins cannot listen on ${host}:${port}: the port is in use`, { cause: error })
          : error,
      );
    });
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const actual = typeof address === "object" && address !== null ? address.port : port;
  return {
    url: origin(actual),
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

async function exchange(
  standins: Pick<Standins, "handle">,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  origin: string,
): Promise<void> {
  const caller = new AbortController();
  outgoing.on("close", () => {
    caller.abort();
  });
  try {
    const foreign = foreignness(incoming.headers);
    if (foreign !== null) {
      await send(json({ error: foreign }, 403), outgoing);
      return;
    }
    const request = await requestOf(incoming, origin, caller.signal);
    const answer = await standins.handle(request);
    await send(answer, outgoing);
  } catch (error) {
    if (error instanceof ConnectionLost || caller.signal.aborted || outgoing.headersSent) {
      outgoing.destroy();
      return;
    }
    console.error("A stand-in failed:", error);
    await send(json({ error: "The stand-in failed" }, 500), outgoing);
  }
}

async function requestOf(incoming: IncomingMessage, origin: string, signal: AbortSignal): Promise<Request> {
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) if (chunk instanceof Uint8Array) chunks.push(chunk);
  const method = incoming.method ?? "GET";
  const bodiless = method === "GET" || method === "HEAD";
  return new Request(new URL(incoming.url ?? "/", origin), {
    method,
    headers,
    signal,
    ...(bodiless ? {} : { body: Buffer.concat(chunks) }),
  });
}

async function send(answer: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
  const reader = answer.body?.getReader();
  for (;;) {
    const part = await reader?.read();
    if (part?.value === undefined) break;
    // Waiting for the write keeps what was sent before a broken end apart from the end itself.
    await new Promise<void>((resolve, reject) => {
      outgoing.write(part.value, (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }
  outgoing.end();
}
