import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Application } from "./application";
import { failureOf } from "./failures";
import { bearerToken, type Issuer } from "./issuer";
import { addressOf, bodyOf, sendJson, type Handler } from "./listener";

const MAX_BODY_BYTES = 20 * 1024 * 1024;
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const WITHOUT_BODY = ["GET", "HEAD", "OPTIONS"];

/** Headers that belong to one connection, not to the message. */
const HOP_BY_HOP = new Set([
  "connection",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
  "content-length",
]);

/** Serves the application's HTTP actions as a deployment's site does. */
export function siteHandler(ready: Promise<Application>, issuer: Issuer): Handler {
  return async (request, response) => {
    const { method = "GET", url = "/" } = request;
    if (!METHODS.includes(method) || !url.startsWith("/")) {
      response.writeHead(METHODS.includes(method) ? 400 : 405).end();
      return;
    }
    const body = await bodyOf(request, MAX_BODY_BYTES);
    if (body === null) {
      sendJson(response, 413, { code: "RequestTooLarge", message: "The request body is larger than 20 MiB" });
      return;
    }
    const application = await ready;
    const token = bearerToken(request.headers.authorization);
    const init: RequestInit = { method, headers: headersOf(request) };
    if (!WITHOUT_BODY.includes(method) && body.byteLength > 0) init.body = body;
    let answer: Response;
    try {
      answer = await application.fetch(url, init, {
        ip: addressOf(request),
        userAgent: request.headers["user-agent"] ?? null,
        // A header that is no token of the local issuer may be a key of the application's own: its to judge.
        identity: token === null ? null : await issuer.verify(token),
      });
    } catch (error) {
      sendFailure(response, error);
      return;
    }
    await send(response, answer, method === "HEAD");
  };
}

function headersOf(request: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(request.headersDistinct)) {
    if (HOP_BY_HOP.has(name)) continue;
    for (const value of values ?? []) headers.append(name, value);
  }
  return headers;
}

async function send(response: ServerResponse, answer: Response, headOnly: boolean): Promise<void> {
  response.writeHead(answer.status, sentHeaders(answer.headers));
  if (answer.body === null || headOnly) {
    await answer.body?.cancel();
    response.end();
    return;
  }
  // A body that breaks off, or a client that goes away, ends the response; there is no status left to change.
  await sendBody(answer.body.getReader(), response).catch(() => response.destroy());
}

/** By hand: a pipeline makes and aborts a signal for every answer, which costs more than the answer. */
async function sendBody(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  response: ServerResponse,
): Promise<void> {
  try {
    while (!response.destroyed) {
      const { done, value } = await reader.read();
      if (done) return void response.end();
      if (!response.write(value)) await drained(response);
    }
  } finally {
    await reader.cancel();
  }
}

/** Resolves when more may be written, or when nobody is left to write to. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      response.off("drain", over).off("close", over);
      resolve();
    };
    response.once("drain", over).once("close", over);
  });
}

/** As a list of names and values in turn, which Node takes as it is; each cookie is a header of its own. */
function sentHeaders(headers: Headers): string[] {
  const list: string[] = [];
  headers.forEach((value, name) => {
    if (!HOP_BY_HOP.has(name)) list.push(name, value);
  });
  return list;
}

/** What the platform answers when an HTTP action throws. */
function sendFailure(response: ServerResponse, error: unknown): void {
  const trace = error instanceof Error ? error.stack : undefined;
  const { message, ...data } = failureOf(error);
  console.error("An HTTP action failed", error);
  sendJson(response, 500, { code: `[Request ID: ${randomUUID()}] Server Error: ${message}`, trace, ...data });
}
