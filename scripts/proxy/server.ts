import type { InitializeResult, ListToolsResult } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod/mini";
import type { BuiltIn } from "./interface";
import { INVALID_PARAMS, RpcError, type Methods, type Request } from "./rpc";

/**
 * The Model Context Protocol as far as a server of tools speaks it. What the first answer does not need is loaded
 * behind it: while the client reads that, the rest gets ready.
 */

const INSTRUCTIONS = [
  "Crypto market data, research, trading signals, whale alerts and wallets on Base.",
  "A userId is the only credential and a bearer secret: choose a long random one per person (a UUID), keep it, use the same one in every call, and never show it to others. Losing it is losing what belongs to it.",
  "Amounts of tokens are whole numbers in the smallest unit, as strings: 1 USDC is 1000000, 1 ETH is 1000000000000000000.",
  "Ask the person before swap_tokens and send_token: they move real money and cannot be undone.",
  "Private keys and seed phrases are never shown by any tool.",
].join("\n");

/** Newest first. Tools without tasks look the same in all of them. */
const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"] as const;

const initializeParams = z.object({ protocolVersion: z.string() });

const callParams = z.object({
  name: z.string(),
  arguments: z.optional(z.record(z.string(), z.unknown())),
  _meta: z.optional(z.looseObject({ progressToken: z.optional(z.union([z.string(), z.number()])) })),
});

export function methodsOf({ version }: BuiltIn, serviceUrl: string): Methods {
  const initialize = (protocolVersion: string): InitializeResult => {
    setImmediate(() => void import("./calls"));
    return {
      protocolVersion: VERSIONS.find((one) => one === protocolVersion) ?? VERSIONS[0],
      capabilities: { tools: {} },
      serverInfo: {
        name: "market-research-signals-wallets",
        title: "Market research, signals and wallets",
        version,
      },
      instructions: INSTRUCTIONS,
    };
  };
  const list = async (): Promise<ListToolsResult> => (await import("built:listing")).listing;
  const call = async ({ params, signal, notify }: Request) => {
    const { name, arguments: input = {}, _meta } = parsed(callParams, params);
    const { callTool } = await import("./calls");
    return callTool(name, input, { serviceUrl, signal, notify, progressToken: _meta?.progressToken });
  };
  return new Map<string, (request: Request) => object | Promise<object>>([
    ["initialize", ({ params }) => initialize(parsed(initializeParams, params).protocolVersion)],
    ["ping", () => ({})],
    ["tools/list", list],
    ["tools/call", call],
  ]);
}

/** @throws RpcError naming the parameter that is wrong. */
function parsed<Shape extends z.ZodMiniType>(shape: Shape, params: unknown): z.output<Shape> {
  const result = shape.safeParse(params);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new RpcError(INVALID_PARAMS, `Invalid parameters: ${issue?.path.join(".")} is missing or wrong`);
}
