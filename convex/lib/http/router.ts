import { httpActionGeneric, type HttpRouter, type RoutableMethod } from "convex/server";
import { httpAction, type ActionCtx } from "../../_generated/server";
import { AppError, failureOf, messageOf, overloadOf, stackOf, STATUS } from "../errors";
import type { Access, Credential } from "../limits/callers";
import { log } from "../log";

/**
 * Finds the endpoint for a request's path, and makes the response from its answer or failure. The platform evaluates
 * this file for every request, so a domain's endpoints are loaded only when one of them is called.
 */

const METHODS = ["GET", "POST"] as const;
export type Method = (typeof METHODS)[number];

/** A question about the `userId` of a request. */
export type IdQuestion = {
  /** SHA-256 of the API key, if one was sent. */
  keyHash?: string;
  access?: Access;
  /** A token was sent, and is not valid. */
  isTokenWrong?: boolean;
};
/** The answer, from a room above this folder. */
export type Known = {
  /** The account that the id stands for. */
  userId: string;
  credential: Credential | null;
  /** Fields that every JSON answer has in addition, if there is something to say to its caller. */
  notes: (by: Credential | undefined) => Readonly<Record<string, unknown>>;
};
/** @throws AppError `not_found` for an id that is no longer valid; `unauthorized`, `forbidden` for the caller's credential. */
export type KnowId = (ctx: ActionCtx, userId: string, question: IdQuestion) => Promise<Known>;

/** An endpoint of `lib/http/endpoint`, as far as the router knows it. */
export type Answering = {
  methods: readonly Method[];
  path: string;
  handle: (ctx: ActionCtx, request: Request, requestId: string, know?: KnowId) => Promise<Response>;
};

/** Loads a domain's endpoints. */
type Loader = () => Promise<readonly Answering[]>;

/** Loaders by path and method. */
export type Routes = Readonly<Record<string, Readonly<Partial<Record<Method, Loader>>>>>;

/** A failure as a page, for a browser. */
export type Failing = { status: number; message: string };
type FailurePage = (failing: Failing) => Promise<{ value: string; headers: Record<string, string> }>;

/** Mounts the routes, the preflight of every path, and the answers for unknown paths and methods. */
export function mount(
  router: HttpRouter,
  routes: Routes,
  { knownId, failurePage }: { knownId?: KnowId; failurePage?: FailurePage } = {},
): void {
  const templates = Object.keys(routes).filter((path) => templateOf(path) !== null);
  /** The path as declared. An unknown path may contain anything, even a secret, and is not logged. */
  const known = (request: Request): string | undefined => {
    const pathname = pathOf(request);
    if (Object.hasOwn(routes, pathname)) return pathname;
    return templates.find((template) => fieldsIn(template, pathname) !== null);
  };
  const allowed = (request: Request) => {
    const path = known(request);
    return path === undefined ? undefined : methodsOf(routes[path]).map(({ method }) => method);
  };
  // By the address itself, whichever route matched: a prefix also matches other paths, and unknown ones.
  const handler = httpAction((ctx: ActionCtx, request) => {
    const path = known(request);
    return answer(request, path ?? "unknown", failurePage, async (requestId) => {
      const one = methodsOf(path === undefined ? {} : routes[path]).find(
        ({ method }) => method === (request.method === "HEAD" ? "GET" : request.method),
      );
      if (path === undefined || one === undefined) return refuse(request, requestId, allowed(request));
      return endpointAt(await one.load(), path, one.method).handle(ctx, request, requestId, knownId);
    });
  });

  for (const [path, byMethod] of Object.entries(routes)) {
    const template = templateOf(path);
    const place = template === null ? { path } : { pathPrefix: template.prefix };
    for (const { method } of methodsOf(byMethod)) router.route({ ...place, method, handler });
  }

  const preflight = httpActionGeneric(() =>
    Promise.resolve(new Response(null, { status: 204, headers: preflightHeaders() })),
  );
  router.route({ pathPrefix: "/", method: "OPTIONS", handler: preflight });

  const methods: RoutableMethod[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
  for (const method of methods) router.route({ pathPrefix: "/", method, handler });
}

function methodsOf(byMethod: Routes[string] = {}): { method: Method; load: Loader }[] {
  return METHODS.flatMap((method) => {
    const load = byMethod[method];
    return load === undefined ? [] : [{ method, load }];
  });
}

function endpointAt(endpoints: readonly Answering[], path: string, method: Method): Answering {
  const found = endpoints.find((one) => one.path === path && one.methods.includes(method));
  if (found === undefined) throw new Error(`${method} ${path} has a route and no endpoint`);
  return found;
}

/** The path without doubled slashes, which clients make of a base address that ends with one, and without a last one. */
export function pathOf(request: Request): string {
  const path = new URL(request.url).pathname.replace(/\/{2,}/g, "/");
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** Paths may end with a field: `/signals/{id}`. */
const TEMPLATE = /^(\/(?:[^{}]+\/)?)\{(\w+)\}$/;

/** The part before the field, and the field's name; `null` for a path without one. */
export function templateOf(path: string): { prefix: string; field: string } | null {
  const [, prefix, field] = TEMPLATE.exec(path) ?? [];
  return prefix === undefined || field === undefined ? null : { prefix, field };
}

/** The field's value in an address, by name; `null` if the address does not match. A field is one whole segment. */
export function fieldsIn(path: string, pathname: string): Record<string, string> | null {
  const template = templateOf(path);
  if (template === null) return pathname === path ? {} : null;
  const { prefix, field } = template;
  const segment = pathname.startsWith(prefix) ? pathname.slice(prefix.length) : "";
  if (segment === "" || segment.includes("/")) return null;
  try {
    return { [field]: decodeURIComponent(segment) };
  } catch {
    return null;
  }
}

/** Answers one request: only here does a failure become `{ error }` with its status. */
async function answer(
  request: Request,
  path: string,
  failurePage: FailurePage | undefined,
  run: (requestId: string) => Response | Promise<Response>,
): Promise<Response> {
  const requestId = crypto.randomUUID();
  const startedAt = performance.now();
  let response: Response;
  try {
    response = await run(requestId);
  } catch (error) {
    response = failureResponse(error, requestId);
  }
  if (failurePage !== undefined && isForReader(request, response))
    response = await asPage(response, requestId, failurePage);
  log.info("http", {
    requestId,
    method: request.method,
    path,
    status: response.status,
    ms: Math.round(performance.now() - startedAt),
  });
  // HEAD: a GET without its body.
  return request.method === "HEAD" ? new Response(null, response) : response;
}

/** Whether a browser asks, which names HTML first. */
function isBrowser({ headers }: Request): boolean {
  return /^\s*text\/html\b/i.test(headers.get("accept") ?? "");
}

/** Whether a browser sends the fields of a form. */
export function isForm(request: Request): boolean {
  const type = request.headers.get("content-type") ?? "";
  return (
    request.method === "POST" && type.startsWith("application/x-www-form-urlencoded") && isBrowser(request)
  );
}

/** Payment terms are for programs, whatever they accept. */
function isForReader(request: Request, { status }: Response): boolean {
  const reads = request.method === "POST" ? isForm(request) : isBrowser(request);
  return status >= 400 && status !== 402 && reads;
}

async function asPage(failed: Response, requestId: string, page: FailurePage): Promise<Response> {
  const { status } = failed;
  const body: unknown = await failed.json();
  const error: unknown = typeof body === "object" && body !== null ? Reflect.get(body, "error") : undefined;
  const message = typeof error === "string" ? error : "";
  const { value, headers } = await page({ status, message });
  const more = ["Retry-After", "Allow"].flatMap((name) => {
    const kept = failed.headers.get(name);
    return kept === null ? [] : [[name, kept] as const];
  });
  const own = { ...headers, ...PRIVATE, Vary: "Accept", ...Object.fromEntries<string>(more) };
  return respond(status, "text/html", value, requestId, own);
}

function failureResponse(error: unknown, requestId: string): Response {
  const failure = failureOf(error) ?? overloadOf(error);
  if (failure === null) {
    log.error("http.unexpected", { requestId, message: messageOf(error), stack: stackOf(error) });
    return json(500, { error: "Internal error" }, requestId);
  }
  if (failure.code === "overloaded") log.warn("http.overloaded", { requestId, message: messageOf(error) });
  const headers: Record<string, string> = { ...failure.headers };
  if (failure.retryAfterMs !== undefined) {
    headers["Retry-After"] = String(Math.max(1, Math.ceil(failure.retryAfterMs / 1000)));
  }
  return json(STATUS[failure.code], { error: failure.message, ...failure.body }, requestId, headers);
}

function refuse(request: Request, requestId: string, allowed: readonly Method[] | undefined): Response {
  const path = pathOf(request);
  if (allowed === undefined) throw new AppError("not_found", `There is no endpoint at ${path}`);
  const error = `${request.method} is not allowed at ${path}: use ${allowed.join(" or ")}`;
  return json(405, { error }, requestId, { Allow: [...allowed, "OPTIONS"].join(", ") });
}

const CORS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "X-Request-Id, Retry-After, X-Payment-Response, Payment-Required, Payment-Response",
};

/** Most answers are private. An answer that may be cached says so itself. */
const PRIVATE = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" };

/** Any method, so that a wrong one is a readable 405; the star does not cover `Authorization`. */
function preflightHeaders(): Record<string, string> {
  return {
    ...CORS,
    "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE",
    "Access-Control-Allow-Headers":
      "Authorization, Content-Type, X-Payment, Payment-Signature, Idempotency-Key, *",
    "Access-Control-Max-Age": "86400",
    "X-Request-Id": crypto.randomUUID(),
  };
}

function json(
  status: number,
  body: unknown,
  requestId: string,
  headers: Record<string, string> = {},
): Response {
  return respond(status, "application/json", JSON.stringify(body), requestId, headers);
}

export function respond(
  status: number,
  media: string,
  body: string | Uint8Array<ArrayBuffer> | null,
  requestId: string,
  headers: Record<string, string>,
): Response {
  const type = media.startsWith("text/") ? `${media}; charset=utf-8` : media;
  return new Response(body, {
    status,
    headers: { "Content-Type": type, ...CORS, ...PRIVATE, "X-Request-Id": requestId, ...headers },
  });
}
