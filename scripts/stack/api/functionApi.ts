import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { version } from "convex";
import { convexToJson, jsonToConvex } from "convex/values";
import * as z from "zod";
import {
  failureOf,
  type Application,
  type Caller,
  type FunctionArgs,
  type FunctionKind,
} from "../application";
import { bearerToken, type Issuer } from "./issuer";
import { parseJson } from "../../json";
import { addressOf, bodyOf, sendJson, type Handler } from "../../sockets/listener";
import { foreignness } from "../../sockets/sameMachine";

/** The status Convex's clients expect for a function that failed. */
const FUNCTION_FAILED = 560;

const argsShape = z.record(z.string(), z.json());
/** A call of Convex's clients: the arguments in a list of one, or, in hand-written calls, directly. */
const callShape = z.object({
  path: z.string(),
  args: z.union([z.tuple([argsShape]).transform(([args]) => args), argsShape]).default({}),
});

/** Serves Convex's function API over HTTP, for public functions, so that its own HTTP client works. */
export function functionApiHandler(ready: Promise<Application>, issuer: Issuer): Handler {
  return async (request, response) => {
    const foreign = foreignness(request.headers);
    if (foreign !== null) {
      sendJson(response, 403, { code: "Foreign", message: foreign });
      return;
    }
    response.setHeader("access-control-allow-origin", "*");
    const kind = kindAt(request.url);
    if (request.method === "OPTIONS") {
      const headers = {
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": "*, Authorization",
      };
      response.writeHead(204, headers).end();
    } else if (request.method === "GET" && request.url === "/version") {
      response.writeHead(200, { "content-type": "text/plain" }).end(version);
    } else if (request.method === "POST" && kind !== null) {
      await call(request, response, kind, await ready, issuer);
    } else {
      sendJson(response, 404, { code: "NotFound", message: "There is nothing at this path" });
    }
  };
}

function kindAt(url: string | undefined): FunctionKind | null {
  switch (url) {
    case "/api/query":
      return "query";
    case "/api/mutation":
      return "mutation";
    case "/api/action":
      return "action";
    default:
      return null;
  }
}

async function call(
  request: IncomingMessage,
  response: ServerResponse,
  kind: FunctionKind,
  application: Application,
  issuer: Issuer,
): Promise<void> {
  const body = await bodyOf(request);
  const parsed = callShape.safeParse(parseJson(body?.toString("utf8") ?? ""));
  if (!parsed.success) {
    sendJson(response, 400, { code: "BadJsonBody", message: "The body must be { path, args, format }" });
    return;
  }
  const { authorization } = request.headers;
  const token = bearerToken(authorization);
  const identity = token === null ? null : await issuer.verify(token);
  if (authorization !== undefined && identity === null) {
    sendJson(response, 401, {
      code: "InvalidAuthHeader",
      message: "The token is not one of the local issuer",
    });
    return;
  }
  const caller: Caller = {
    ip: addressOf(request),
    userAgent: request.headers["user-agent"] ?? null,
    identity,
  };
  try {
    const args = Object.fromEntries(
      Object.entries(parsed.data.args).map(([name, json]) => [name, jsonToConvex(json)]),
    );
    const value = await runPublic(application, kind, parsed.data.path, args, caller);
    sendJson(response, 200, { status: "success", value: convexToJson(value), logLines: [] });
  } catch (error) {
    const { message, data } = failureOf(error);
    sendJson(response, FUNCTION_FAILED, {
      status: "error",
      errorMessage: `[Request ID: ${randomUUID()}] Server Error\n${message}`,
      ...(data === undefined ? {} : { errorData: data }),
      logLines: [],
    });
  }
}

async function runPublic(
  application: Application,
  kind: FunctionKind,
  name: string,
  args: FunctionArgs,
  caller: Caller,
) {
  const described = await application.describe(name);
  if (described === null || !described.isPublic)
    throw new Error(`Could not find public function for '${name}'.`);
  if (described.kind !== kind) throw new Error(`'${name}' is a ${described.kind}, not a ${kind}.`);
  return application.run(kind, name, args, caller);
}
