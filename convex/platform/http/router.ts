import { httpActionGeneric, type HttpRouter, type RoutableMethod } from "convex/server";
import { httpAction, type ActionCtx } from "../../_generated/server";
import {
  AppError,
  getErrorData,
  getErrorMessage,
  getOverload,
  getStack,
  STATUS,
  type ErrorData,
} from "../../lib/errors";
import type { Access, Credential } from "../limits/callers";
import { log } from "../../lib/log";

/**
 * Finds the endpoint of a request, and turns its answer or failure into a response. Convex evaluates this file for
 * every request, so a domain's endpoints are loaded only when one of them is called.
 */

const METHODS = ["GET", "POST"] as const;
export type Method = (typeof METHODS)[number];

/** A question about the `userId` of a request. */
export type AccountQuestion = {
  /** SHA-256 of the API key, if one was sent. */
  keyHash?: string;
  access?: Access;
  /** A token was sent, and is not valid. */
  isTokenWrong?: boolean;
};
/** The answer, from the `identity` room. */
export type ResolvedAccount = {
  /** The account that the id stands for. */
  userId: string;
  credential: Credential | null;
  /** Fields that are added to every JSON answer; empty if there is nothing to tell the caller. */
  notes: object;
};
/** @throws AppError `not_found` for an id that is no longer valid; `unauthorized`, `forbidden` for the caller's credential. */
export type ResolveAccount = (
  ctx: ActionCtx,
  userId: string,
  question: AccountQuestion,
) => Promise<ResolvedAccount>;

/** An owned account and its caller's credential, established before its endpoint is asked. */
export type KnownCaller = { userId: string; credential: Exclude<Credential, "unclaimed"> };

/** An endpoint of `platform/http/endpoint`, as far as the router knows it. */
export type Answering = {
  methods: readonly Method[];
  path: string;
  /** @param known For limits: such a caller counts by the account, and not by an address that many people share. */
  handle: (
    ctx: ActionCtx,
    request: Request,
    requestId: string,
    resolveAccount: ResolveAccount,
    known?: KnownCaller,
  ) => Promise<Response>;
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
  { resolveAccount, failurePage }: { resolveAccount: ResolveAccount; failurePage: FailurePage },
): void {
  /** The declared path. An unknown path may contain anything, even a secret, and is not logged. */
  const findDeclaredPath = (pathname: string): string | undefined =>
    Object.hasOwn(routes, pathname)
      ? pathname
      : Object.keys(routes).find((path) => matchPath(path, pathname) !== null);
  // Resolve the endpoint by the path itself: a prefix route also matches other and unknown paths.
  const handler = httpAction((ctx: ActionCtx, request) => {
    const path = findDeclaredPath(getPath(request));
    return answer(request, path ?? "unknown", failurePage, async (requestId) => {
      const byMethod = (path === undefined ? undefined : routes[path]) ?? {};
      const method = METHODS.find((one) => one === (request.method === "HEAD" ? "GET" : request.method));
      if (path === undefined || method === undefined || !(method in byMethod))
        throw buildRefusal(request, Object.keys(byMethod));
      return (await loadEndpoint(routes, method, path)).handle(ctx, request, requestId, resolveAccount);
    });
  });

  for (const [path, byMethod] of Object.entries(routes)) {
    const [prefix = "", field] = path.split("{");
    const place = field === undefined ? { path } : { pathPrefix: prefix };
    for (const method of METHODS) if (method in byMethod) router.route({ ...place, method, handler });
  }
  const preflight = httpActionGeneric(() =>
    Promise.resolve(new Response(null, { status: 204, headers: buildPreflightHeaders() })),
  );
  router.route({ pathPrefix: "/", method: "OPTIONS", handler: preflight });
  const methods: RoutableMethod[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
  for (const method of methods) router.route({ pathPrefix: "/", method, handler });
}

/** Loads the endpoint of a declared path. */
export async function loadEndpoint(routes: Routes, method: Method, path: string): Promise<Answering> {
  const loaded = (await routes[path]?.[method]?.()) ?? [];
  const found = loaded.find((one) => one.path === path && one.methods.includes(method));
  if (found === undefined) throw new Error(`${method} ${path} has a route and no endpoint`);
  return found;
}

/** The path without doubled slashes, which clients make of a base address that ends with one, and without a last one. */
export function getPath(request: Request): string {
  const path = new URL(request.url).pathname.replace(/\/{2,}/g, "/");
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** The fields in a path. A declared path may end with one, `/signals/{id}`, which matches one whole segment. `null`: no match. */
export function matchPath(path: string, pathname: string): Record<string, string> | null {
  const [prefix = "", field] = path.split(/[{}]/);
  if (field === undefined) return pathname === path ? {} : null;
  const segment = pathname.startsWith(prefix) ? pathname.slice(prefix.length) : "";
  if (segment === "" || segment.includes("/")) return null;
  try {
    return { [field]: decodeURIComponent(segment) };
  } catch {
    return null;
  }
}

/** Answers one request. Only here does a failure become `{ error }` with its status, or a page for a browser. */
async function answer(
  request: Request,
  path: string,
  failurePage: FailurePage,
  run: (requestId: string) => Promise<Response>,
): Promise<Response> {
  const requestId = crypto.randomUUID();
  const startedAt = performance.now();
  const response = await run(requestId).catch((error: unknown) =>
    respondWithFailure(error, requestId, isForReader(request) ? failurePage : undefined),
  );
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

/** A failure as a response: `{ error }` with its status, or a page. */
export async function respondWithFailure(
  error: unknown,
  requestId: string,
  page?: FailurePage,
): Promise<Response> {
  const failure = getErrorData(error) ?? getOverload(error);
  const { code, message, body, headers, retryAfterMs } = failure ?? INTERNAL;
  const status = STATUS[code];
  if (failure === null)
    log.error("http.unexpected", { requestId, error: getErrorMessage(error), stack: getStack(error) });
  else if (code === "overloaded") log.warn("http.overloaded", { requestId, message: getErrorMessage(error) });
  else if (status >= 500) log.warn("http.failed", { requestId, code, reason: message });
  const more: Record<string, string> = { ...headers };
  if (retryAfterMs !== undefined) more["Retry-After"] = String(Math.max(1, Math.ceil(retryAfterMs / 1000)));
  // Payment terms are read by programs, whatever they accept.
  if (page === undefined || code === "payment_required") {
    const bodyText = JSON.stringify({ error: message, ...body });
    return respond(status, "application/json", bodyText, requestId, more);
  }
  const failurePage = await page({ status, message });
  const ownHeaders = { ...failurePage.headers, ...PRIVATE, Vary: "Accept, Sec-Fetch-Mode", ...more };
  return respond(status, "text/html", failurePage.value, requestId, ownHeaders);
}

const INTERNAL: ErrorData = { code: "internal", message: "Internal error" };

/** Whether a browser opens the address. Libraries accept `text/html` by default, too; only browsers accept XHTML. */
function isBrowser({ headers }: Request): boolean {
  const isNavigation = headers.get("sec-fetch-mode")?.trim().toLowerCase() === "navigate";
  return isNavigation || /\bapplication\/xhtml\+xml\b/i.test(headers.get("accept") ?? "");
}

/** Whether a browser sends the fields of a form. */
export function isForm(request: Request): boolean {
  const type = request.headers.get("content-type") ?? "";
  return (
    request.method === "POST" && type.startsWith("application/x-www-form-urlencoded") && isBrowser(request)
  );
}

function isForReader(request: Request): boolean {
  return request.method === "POST" ? isForm(request) : isBrowser(request);
}

function buildRefusal(request: Request, allowed: readonly string[]): AppError {
  const path = getPath(request);
  if (allowed.length === 0)
    return new AppError("not_found", `There is no endpoint at ${path}: /docs lists them`);
  return new AppError(
    "method_not_allowed",
    `${request.method} is not allowed at ${path}: use ${allowed.join(" or ")}`,
    { headers: { Allow: [...allowed, "OPTIONS"].join(", ") } },
  );
}

const CORS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "X-Request-Id, Retry-After, Link, X-Payment-Response, Payment-Required, Payment-Response",
};

/** Answers are private by default; a cacheable one sets its own headers. */
const PRIVATE = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" };

/** Allows any method, so that a wrong one gets a readable 405. The star does not cover `Authorization`. */
function buildPreflightHeaders(): Record<string, string> {
  return {
    ...CORS,
    "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE",
    "Access-Control-Allow-Headers":
      "Authorization, Content-Type, X-Payment, Payment-Signature, Idempotency-Key, *",
    "Access-Control-Max-Age": "86400",
    "X-Request-Id": crypto.randomUUID(),
  };
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
