import { randomUUID } from "node:crypto";
import type { UserIdentity } from "convex/server";
import { convexToJson, jsonToConvex } from "convex/values";
import { calculateJwkThumbprint, importJWK, jwtVerify, SignJWT } from "jose";
import * as z from "zod";
import { parseJson } from "../json";
import { real } from "../real";
import { getSenderAddress, findForeignOrigin, type Handler } from "../sockets";
import { toFailure, type Application, type FunctionKind } from "./application";
import type { Keys } from "./keys";

/** The interfaces of a deployment: the application's HTTP actions, Convex's function API, and the tokens of its users. */

const ISSUER = "http://127.0.0.1:3210";
const AUDIENCE = "local";

/** Signs in users of the local stack, like a deployment's identity provider. */
export type Issuer = {
  /** A JWT for this user, valid for 30 days. */
  issue: (subject: string) => Promise<string>;
  /** The user of a token; null unless it is a valid token of this issuer. */
  verify: (token: string) => Promise<UserIdentity | null>;
};

const payloadShape = z.looseObject({ sub: z.string().min(1), iss: z.string() });
const claimsShape = z.record(z.string(), z.json());

export async function createIssuer({ issuerKey }: Pick<Keys, "issuerKey">): Promise<Issuer> {
  const { d, ...publicJwk } = issuerKey;
  const [privateKey, publicKey, kid] = await Promise.all([
    importJWK({ ...publicJwk, d }, "ES256"),
    importJWK(publicJwk, "ES256"),
    calculateJwkThumbprint(publicJwk),
  ]);
  return {
    issue: (subject) =>
      new SignJWT()
        .setProtectedHeader({ alg: "ES256", typ: "JWT", kid })
        .setSubject(subject)
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setIssuedAt()
        .setExpirationTime("30 days")
        .sign(privateKey),
    verify: async (token) => {
      const expected = { issuer: ISSUER, audience: AUDIENCE, algorithms: ["ES256"] };
      const options = { ...expected, currentDate: new real.Date() };
      const verified = await jwtVerify(token, publicKey, options).catch(() => null);
      if (verified === null) return null;
      const {
        sub: subject,
        iss: issuer,
        aud: _,
        exp: __,
        iat: ___,
        ...claims
      } = payloadShape.parse(verified.payload);
      return { ...claimsShape.parse(claims), subject, issuer, tokenIdentifier: `${issuer}|${subject}` };
    },
  };
}

const getBearer = ({ headers }: Request) =>
  /^Bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1] ?? null;

/** Serves the application's HTTP actions as a deployment's site does. */
export function createSiteHandler(ready: Promise<Application>, issuer: Issuer): Handler {
  return async (request, from) => {
    const { method, headers, url } = request;
    const bytes = await request.arrayBuffer();
    const body = bytes.byteLength === 0 ? {} : { body: bytes };
    const token = getBearer(request);
    const caller = {
      ip: getSenderAddress(request, from),
      userAgent: headers.get("user-agent"),
      // A header without a token of the local issuer may be an application key, which the application checks.
      identity: token === null ? null : await issuer.verify(token),
    };
    const application = await ready;
    try {
      const path = url.slice(new URL(url).origin.length);
      return await application.fetch(path, { method, headers, ...body }, caller);
    } catch (error) {
      // The platform's answer when an HTTP action throws.
      console.error("An HTTP action failed", error);
      const { message, ...data } = toFailure(error);
      const code = `[Request ID: ${randomUUID()}] Server Error: ${message}`;
      return Response.json({ code, ...data }, { status: 500 });
    }
  };
}

/** The status Convex's clients expect for a function that failed. */
const FUNCTION_FAILED = 560;
const CORS = { "access-control-allow-origin": "*" };

const argsShape = z.record(z.string(), z.json());
/** A call of Convex's clients: the arguments in a list of one, or, in hand-written calls, directly. */
const callShape = z.object({
  path: z.string(),
  args: z.union([z.tuple([argsShape]).transform(([args]) => args), argsShape]).default({}),
});

const KINDS: Readonly<Record<string, FunctionKind>> = {
  "/api/query": "query",
  "/api/mutation": "mutation",
  "/api/action": "action",
};

/** Serves Convex's function API over HTTP, for public functions, so that its own HTTP client works. */
export function createFunctionApiHandler(ready: Promise<Application>, issuer: Issuer): Handler {
  return async (request, from) => {
    const answer = (status: number, body: unknown) => Response.json(body, { status, headers: CORS });
    const refuse = (status: number, code: string, message: string) => answer(status, { code, message });
    const foreignOrigin = findForeignOrigin(request);
    if (foreignOrigin !== null) return refuse(403, "Foreign", foreignOrigin);
    const path = new URL(request.url).pathname;
    if (request.method === "OPTIONS") {
      const allowed = {
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": "*, Authorization",
      };
      return new Response(null, { status: 204, headers: { ...CORS, ...allowed } });
    }
    const kind = KINDS[path];
    if (request.method !== "POST" || kind === undefined)
      return refuse(404, "NotFound", "There is nothing at this path");
    const parsed = callShape.safeParse(parseJson(await request.text()));
    if (!parsed.success) return refuse(400, "BadJsonBody", "The body must be { path, args, format }");
    const token = getBearer(request);
    const identity = token === null ? null : await issuer.verify(token);
    if (request.headers.has("authorization") && identity === null)
      return refuse(401, "InvalidAuthHeader", "The token is not one of the local issuer");
    const caller = {
      ip: getSenderAddress(request, from),
      userAgent: request.headers.get("user-agent"),
      identity,
    };
    const { path: name, args } = parsed.data;
    try {
      const application = await ready;
      const described = await application.describe(name);
      if (described?.isPublic !== true) throw new Error(`Could not find public function for '${name}'.`);
      if (described.kind !== kind) throw new Error(`'${name}' is a ${described.kind}, not a ${kind}.`);
      const given = Object.entries(args).map(([key, json]) => [key, jsonToConvex(json)] as const);
      const value = await application.run(kind, name, Object.fromEntries(given), caller);
      return answer(200, { status: "success", value: convexToJson(value), logLines: [] });
    } catch (error) {
      const { message, data } = toFailure(error);
      const errorMessage = `[Request ID: ${randomUUID()}] Server Error\n${message}`;
      const ofConvex = data === undefined ? {} : { errorData: data };
      return answer(FUNCTION_FAILED, { status: "error", errorMessage, ...ofConvex, logLines: [] });
    }
  };
}

const orderShape = z.object({ subject: z.string().min(1).max(256) });

/**
 * `POST /_token` on the stand-ins' port signs a user in, and `POST /_call` runs a function, internal ones too, as
 * the CLI's `run` does at a deployment. Only for commands: requests of web pages on this machine have an origin and are
 * refused.
 * @returns `null` for any other request.
 */
export async function answerCommand(
  request: Request,
  issuer: Issuer,
  ready: Promise<Application> | null,
): Promise<Response | null> {
  const { method, url, headers } = request;
  const command = `${method} ${new URL(url).pathname}`;
  if (command !== "POST /_token" && command !== "POST /_call") return null;
  const refuse = (status: number, error: string) => Response.json({ error }, { status });
  if (headers.has("origin") || findForeignOrigin(request) !== null)
    return refuse(403, "Only for commands on this machine");
  const body = parseJson(await request.text());
  if (command === "POST /_token") {
    const order = orderShape.safeParse(body);
    if (!order.success) return refuse(400, "The body must be { subject }");
    return Response.json({ token: await issuer.issue(order.data.subject) });
  }
  const call = callShape.safeParse(body);
  if (!call.success || ready === null) return refuse(400, "The body must be { path, args }");
  const { path, args } = call.data;
  try {
    const application = await ready;
    const described = await application.describe(path);
    if (described === null || described === undefined) return refuse(404, `There is no function ${path}`);
    const given = Object.entries(args).map(([key, json]) => [key, jsonToConvex(json)] as const);
    const value = await application.run(described.kind, path, Object.fromEntries(given), COMMAND);
    return Response.json({ value: convexToJson(value) });
  } catch (error) {
    return refuse(400, toFailure(error).message);
  }
}

/** The caller of a command. */
const COMMAND = { ip: "127.0.0.1", userAgent: null, identity: null };
