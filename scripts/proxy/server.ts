import type { InitializeResult, ListToolsResult } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod/mini";
import type { BuiltIn } from "./interface";
import { INVALID_PARAMS, METHOD_NOT_FOUND, RpcError, type Handler, type Request } from "./rpc";

/**
 * The Model Context Protocol for a server of tools, in both of its eras: a request whose `_meta` names its version is
 * self-contained (https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning), any other follows the
 * handshake of earlier versions. Code that the first answer does not need is loaded after it, while the client reads.
 */

const INSTRUCTIONS = [
  "Crypto market data, research, trading signals, whale alerts and wallets on Base.",
  "A userId is the only credential and a bearer secret: choose a long random one per person (a UUID), keep it, use the same one in every call, and never show it to others. Until it has an owner, losing it is losing what belongs to it.",
  "Amounts of tokens are whole numbers in the smallest unit, as strings: 1 USDC is 1000000, 1 ETH is 1000000000000000000.",
  "Ask the person before swap_tokens and send_token: they move real money and cannot be undone.",
  "Where a userId has an owner, an order or a messenger setting may wait for the owner's approval in their chat: nothing has moved then; once they have approved, call again with the same input.",
  "Private keys and seed phrases are never shown by any tool.",
].join("\n");

/** Those with a handshake, newest first. Tools without tasks look the same in all of them. */
const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"] as const;
const MODERN = "2026-07-28";
const SUPPORTED = [MODERN, ...LEGACY];

const UNSUPPORTED_VERSION = -32_022;

/** Fields of `_meta`. */
const VERSION_FIELD = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_FIELD = "io.modelcontextprotocol/clientCapabilities";
const SERVER_FIELD = "io.modelcontextprotocol/serverInfo";

/** The tools only change with the version of the proxy. */
const CACHEABLE = { ttlMs: 3_600_000, cacheScope: "public" };

const meta = z.looseObject({ [VERSION_FIELD]: z.optional(z.unknown()) });
const eraParams = z.object({ _meta: z.optional(meta) });
const modernParams = z.object({
  _meta: z.looseObject({ [VERSION_FIELD]: z.string(), [CAPABILITIES_FIELD]: z.looseObject({}) }),
});
const initializeParams = z.object({ protocolVersion: z.string() });

const callParams = z.object({
  name: z.string(),
  arguments: z.optional(z.record(z.string(), z.unknown())),
  _meta: z.optional(z.looseObject({ progressToken: z.optional(z.union([z.string(), z.number()])) })),
});

type Methods = Readonly<Record<string, (request: Request) => object | Promise<object>>>;

export function handlerOf(
  { name: program, version }: BuiltIn,
  serviceUrl: string,
  readOnly: boolean,
): Handler {
  const serverInfo = {
    name: program,
    title: "Market research, signals and wallets",
    version,
  };
  const offered = { capabilities: { tools: {} }, instructions: INSTRUCTIONS };
  const warmUp = () => void setImmediate(() => void import("./calls"));
  const initialize = (protocolVersion: string): InitializeResult => {
    warmUp();
    return {
      protocolVersion: LEGACY.find((one) => one === protocolVersion) ?? LEGACY[0],
      ...offered,
      serverInfo,
    };
  };
  const list = async (): Promise<ListToolsResult> => {
    const { listing } = await import("built:listing");
    if (!readOnly) return listing;
    return { tools: listing.tools.filter(({ annotations }) => annotations?.readOnlyHint === true) };
  };
  const call = async ({ params, signal, notify }: Request) => {
    const { name, arguments: input = {}, _meta } = parsed(callParams, params);
    if (readOnly && !(await list()).tools.some((one) => one.name === name)) {
      throw new RpcError(INVALID_PARAMS, `There is no tool named ${name} here: this is the read-only list`);
    }
    const { callTool } = await import("./calls");
    return callTool(name, input, { serviceUrl, signal, notify, progressToken: _meta?.progressToken });
  };
  const legacy: Methods = {
    initialize: ({ params }) => initialize(parsed(initializeParams, params).protocolVersion),
    ping: () => ({}),
    "tools/list": list,
    "tools/call": call,
  };
  const modern: Methods = {
    "server/discover": () => {
      warmUp();
      return { supportedVersions: SUPPORTED, ...offered, ...CACHEABLE };
    },
    "tools/list": async () => ({ ...(await list()), ...CACHEABLE }),
    "tools/call": call,
  };
  return async (method, request) => {
    if (!isModern(method, request)) return found(legacy, method)(request);
    refuseOtherVersions(request);
    const result = await found(modern, method)(request);
    return { resultType: "complete", ...result, _meta: { [SERVER_FIELD]: serverInfo } };
  };
}

function isModern(method: string, { params }: Request): boolean {
  return method === "server/discover" || parsed(eraParams, params)._meta?.[VERSION_FIELD] !== undefined;
}

/** @throws RpcError also if a field is missing that every request of this era has. */
function refuseOtherVersions({ params }: Request): void {
  const requested = parsed(modernParams, params)._meta[VERSION_FIELD];
  if (requested === MODERN) return;
  throw new RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", {
    supported: SUPPORTED,
    requested,
  });
}

function found(methods: Methods, method: string): Methods[string] {
  const own = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (own === undefined) throw new RpcError(METHOD_NOT_FOUND, `There is no method ${method}`);
  return own;
}

/** @throws RpcError naming the parameter that is wrong. */
function parsed<Shape extends z.ZodMiniType>(shape: Shape, params: unknown): z.output<Shape> {
  const result = shape.safeParse(params);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new RpcError(INVALID_PARAMS, `Invalid parameters: ${issue?.path.join(".")} is missing or wrong`);
}
