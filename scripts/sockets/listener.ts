import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { real } from "../real";

export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;
export type Listener = { url: string; close: () => Promise<void> };

/** The port is taken. The message is one line for the operator. */
export class PortInUseError extends Error {
  constructor(port: number, variable: string) {
    super(`Port ${port} is in use: stop what is using it, or set ${variable} to another port.`);
  }
}

const HOST = "127.0.0.1";
const MAX_BODY_BYTES = 20 * 1024 * 1024;
/** How long open requests get to end when the server closes. */
const GRACE_MS = 1_000;

/**
 * Serves on the local machine only. Port 0 takes a free one.
 * @param variable The environment variable that sets the port, for the error.
 */
export async function listen(port: number, variable: string, handle: Handler): Promise<Listener> {
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      console.error(`${request.method} ${request.url} failed`, error);
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(portError(error, port, variable)));
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

/** The error for a port that could not be opened. */
function portError(error: unknown, port: number, variable: string): Error {
  if (isTaken(error)) return new PortInUseError(port, variable);
  return error instanceof Error ? error : new Error(String(error));
}

function isTaken(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ("code" in error && error.code === "EADDRINUSE") || isTaken(error.cause);
}

/** The whole body, or null when it is larger than the platform takes. */
export async function bodyOf(request: IncomingMessage): Promise<Buffer<ArrayBuffer> | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    size += chunk.byteLength;
    // Read to its end all the same: a client that is still sending would not see the answer.
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return size <= MAX_BODY_BYTES ? Buffer.concat(chunks) : null;
}

/**
 * Who sent a request, as Convex's backend takes it: the first entry of the first `X-Forwarded-For`, whatever it is, else
 * the connection's other end. Source: `ExtractRequestMetadata` in its `crates/common/src/http/mod.rs`.
 */
export function addressOf({ headersDistinct, socket }: IncomingMessage): string | null {
  const [forwarded] = headersDistinct["x-forwarded-for"] ?? [];
  // It reads a header as text only where that is plain ASCII.
  if (forwarded === undefined || !/^[\t\x20-\x7e]*$/.test(forwarded)) return socket.remoteAddress ?? null;
  return forwarded.split(",", 1).join("").trim();
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
