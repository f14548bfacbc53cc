import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { createUserId } from "../identity/model";
import { getSiteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import { TOOLS_PATH } from "../lib/version";
import { readKeyHash } from "../platform/http/endpoint";
import { userId as userIdShape } from "../platform/http/input";
import { parseBodyInput, readRequestBody } from "../platform/http/request";
import {
  respond,
  respondWithFailure,
  type Answering,
  type ResolveAccount,
  type Method,
} from "../platform/http/router";
import { callTool, isBlank, type Input, type ToolResult } from "./calls";
import { describeTool, isForReadOnlyKeys, tools, type ListedTool, type Tool } from "./list";
import { buildRequest, readAnswer, type ServiceRequest } from "./requests";
import { isObject } from "./text";

/**
 * `POST /mcp`: the tools for AI clients that take an address. Each call goes through its endpoint's own door in process, so
 * no check is copied. No answer is a 401: without OAuth it sends clients into a search that ends nowhere.
 */

/** Loads the endpoint of a path. */
type Load = (method: Method, path: string) => Promise<Answering>;

/** One message, and the connection that it came by. */
type Message = {
  ctx: ActionCtx;
  request: Request;
  requestId: string;
  resolveAccount: ResolveAccount;
  load: Load;
  /** The id in the header or the address. */
  connectionId: string | undefined;
};

export function createToolEndpoint(load: Load): Answering {
  return {
    methods: ["POST"],
    path: TOOLS_PATH,
    handle: async (ctx, request, requestId, resolveAccount) => {
      const { text } = await readRequestBody(request);
      const body = readMessage(text);
      const connectionId = readNamedId(request);
      const message: Message = { ctx, request, requestId, resolveAccount, load, connectionId };
      const { serveMessage } = await import("./server");
      const answered = await serveMessage(
        toReadable(request, body),
        body,
        { list: () => listTools(message), call: (name, given) => runTool(message, name, given) },
        { streams: readsStreamsAlone(request), knowsId: connectionId !== undefined },
      );
      const { "content-type": type = "application/json", ...headers } = Object.fromEntries(answered.headers);
      const content = (await answered.text()) || null;
      return respond(answered.status, type, content, requestId, headers);
    },
  };
}

/**
 * A message. Some clients send `null` for params, arguments and _meta that they leave out.
 * @throws AppError `invalid_request` for what is no JSON, or a list of messages.
 */
function readMessage(text: string): Record<string, unknown> {
  const withoutNull = (object: Record<string, unknown>) =>
    Object.fromEntries(
      Object.entries(object).filter(
        ([name, value]) => value !== null || !["params", "arguments", "_meta"].includes(name),
      ),
    );
  const { params, ...rest } = withoutNull(parseBodyInput(text.replace(/^\uFEFF/, "")));
  return {
    ...rest,
    ...(params === undefined ? {} : { params: isObject(params) ? withoutNull(params) : params }),
  };
}

/** A request with headers as the protocol wants them: proxies of AI companies send one form of `Accept`, or another type. */
function toReadable(request: Request, body: object): Request {
  const headers = new Headers(request.headers);
  headers.set("accept", "application/json, text/event-stream");
  headers.set("content-type", "application/json");
  return new Request(request.url, { method: "POST", headers, body: JSON.stringify(body) });
}

function readsStreamsAlone({ headers }: Request): boolean {
  const accept = headers.get("accept") ?? "*/*";
  return accept.includes("text/event-stream") && !/application\/(?:json|\*)|\*\/\*/.test(accept);
}

/** Some clients can set headers, others have nothing but an address. A placeholder that was not filled in is no id. */
function readNamedId(request: Request): string | undefined {
  const inAddress = new URL(request.url).searchParams.get("userId");
  return [request.headers.get("x-user-id"), inAddress].find((connectionId) => !isBlank(connectionId))?.trim();
}

/** Whether a token or a key was sent: a client without one may send the scheme alone. */
function hasCredential({ headers }: Request): boolean {
  return /^\S+\s+\S/.test(headers.get("authorization") ?? "");
}

/** The account behind the connection or a tool's own `userId`. Without a credential no table is read. */
function resolveCaller({ ctx, request }: Message, name: string | undefined) {
  if (name === undefined && !hasCredential(request)) return null;
  const credentials = { ...readKeyHash(request.headers), ...(name === undefined ? {} : { name }) };
  return ctx.runQuery(internal.identity.access.resolveToolCaller, { ...credentials, now: Date.now() });
}

/** The tools that the caller may use. The first call reports a credential that is not valid. */
async function listTools(message: Message): Promise<ListedTool[]> {
  const { SCHEMAS } = await import("./schemas");
  const caller = hasCredential(message.request)
    ? await Promise.resolve(resolveCaller(message, message.connectionId)).catch(() => null)
    : null;
  const knowsId = message.connectionId !== undefined || caller !== null;
  return tools
    .filter((tool) => caller?.isReadOnly !== true || isForReadOnlyKeys(tool))
    .map((tool) => describeTool(tool, SCHEMAS))
    .map((tool) =>
      knowsId ? withoutId(tool) : tool.name === "connect_wallet" ? withOptionalId(tool) : tool,
    );
}

/** A tool without its `userId`, where the connection names the id: no model sees it. */
function withoutId(tool: ListedTool): ListedTool {
  const { userId: _, ...properties } = tool.inputSchema.properties ?? {};
  return withOptionalId({ ...tool, inputSchema: { ...tool.inputSchema, properties } });
}

function withOptionalId(tool: ListedTool): ListedTool {
  const required = tool.inputSchema.required?.filter((name) => name !== "userId") ?? [];
  return { ...tool, inputSchema: { ...tool.inputSchema, required } };
}

/** Calls a tool. `undefined`: there is none of that name. */
async function runTool(message: Message, name: string, given: Input): Promise<ToolResult | undefined> {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) return undefined;
  const needsNewId =
    name === "connect_wallet" && message.connectionId === undefined && isBlank(given.userId ?? null);
  if (!needsNewId || hasCredential(message.request))
    return callTool(tool, given, (request) => sendRequest(message, tool, request));
  const userId = createUserId();
  const result = await callTool(tool, { ...given, userId }, (request) => sendRequest(message, tool, request));
  return result.isError === true ? result : withAddress(result, userId);
}

/** Adds a newly drawn id and its address to a result: no other answer shows them. */
function withAddress({ content, structuredContent }: ToolResult, userId: string): ToolResult {
  const toolsUrl = `${getSiteUrl()}${TOOLS_PATH}?userId=${userId}`;
  const text = `This person has a new userId, and whoever knows it controls the wallet until somebody owns it. They put this address into their client in the place of the present one, and keep it like a password: ${toolsUrl} . Then they open ownerUrl, if there is one, and tap Own: from then on orders wait for their tap.`;
  return {
    content: [{ type: "text", text }, ...content],
    structuredContent: { ...structuredContent, userId, toolsUrl },
  };
}

/** Sends a tool's request to its endpoint, with the account that the connection shows. */
async function sendRequest(message: Message, tool: Tool, call: ServiceRequest) {
  const { requestId } = message;
  const response = await askEndpoint(message, tool, call).catch((error: unknown) =>
    respondWithFailure(error, requestId),
  );
  return readAnswer(response, (status) => `The service failed (${status}): try again in a minute`);
}

async function askEndpoint(message: Message, tool: Tool, call: ServiceRequest): Promise<Response> {
  const { ctx, request, requestId, resolveAccount, load, connectionId } = message;
  const isUnnamed = isBlank(call.input.userId ?? null);
  const name = connectionId ?? (isUnnamed ? undefined : userIdShape.safeParse(call.input.userId).data);
  if (connectionId !== undefined && !isUnnamed && String(call.input.userId).trim() !== connectionId)
    throw new AppError("invalid_request", "This connection names another userId already: leave userId out");
  const caller = await resolveCaller(message, name);
  if (caller?.isReadOnly === true && !isForReadOnlyKeys(tool))
    throw new AppError(
      "forbidden",
      `This key only reads: ${tool.name} needs one with the scope trade or withdraw`,
    );
  const { SCHEMAS } = await import("./schemas");
  const takesId = Object.hasOwn(SCHEMAS[tool.name]?.inputSchema.properties ?? {}, "userId");
  const id = connectionId ?? (isUnnamed ? caller?.name : name);
  const input = takesId && id !== undefined ? { ...call.input, userId: id } : call.input;
  const { url, init } = buildRequest(new URL(request.url).origin, { ...call, input });
  const inner = new Request(url, init);
  for (const header of ["authorization", "x-forwarded-for"]) {
    const value = request.headers.get(header);
    if (value !== null) inner.headers.set(header, value);
  }
  const endpoint = await load(tool.method, tool.path);
  // The endpoint may read an id that is no text: then the connection's account does not apply.
  const isOther = takesId && id === undefined && !isUnnamed;
  if (caller === null || caller.credential === "unclaimed" || isOther)
    return endpoint.handle(ctx, inner, requestId, resolveAccount);
  const { userId, credential } = caller;
  return endpoint.handle(ctx, inner, requestId, resolveAccount, { userId, credential });
}
