import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { headersOf, send } from "../../sockets/bridge";
import { failureOf, type Application } from "../application";
import { bearerToken, type Issuer } from "./issuer";
import { addressOf, bodyOf, sendJson, type Handler } from "../../sockets/listener";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const WITHOUT_BODY = ["GET", "HEAD", "OPTIONS"];

/** Serves the application's HTTP actions as a deployment's site does. */
export function siteHandler(ready: Promise<Application>, issuer: Issuer): Handler {
  return async (request, response) => {
    const { method = "GET", url = "/" } = request;
    if (!METHODS.includes(method) || !url.startsWith("/")) {
      response.writeHead(METHODS.includes(method) ? 400 : 405).end();
      return;
    }
    const body = await bodyOf(request);
    if (body === null) {
      sendJson(response, 413, { code: "RequestTooLarge", message: "The request body is larger than 20 MiB" });
      return;
    }
    const application = await ready;
    const token = bearerToken(request.headers.authorization);
    const client = new AbortController();
    response.once("close", () => client.abort());
    const init: RequestInit = { method, headers: headersOf(request), signal: client.signal };
    if (!WITHOUT_BODY.includes(method) && body.byteLength > 0) init.body = body;
    let answer: Response;
    try {
      answer = await application.fetch(url, init, {
        ip: addressOf(request),
        userAgent: request.headers["user-agent"] ?? null,
        // A header that is not a token of the local issuer may be an application key, which the application checks.
        identity: token === null ? null : await issuer.verify(token),
      });
    } catch (error) {
      if (!response.destroyed) sendFailure(response, error);
      return;
    }
    await send(answer, response);
  };
}

/** The platform's answer when an HTTP action throws. */
function sendFailure(response: ServerResponse, error: unknown): void {
  const trace = error instanceof Error ? error.stack : undefined;
  const { message, ...data } = failureOf(error);
  console.error("An HTTP action failed", error);
  sendJson(response, 500, { code: `[Request ID: ${randomUUID()}] Server Error: ${message}`, trace, ...data });
}
