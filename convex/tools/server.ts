import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
  type ListToolsResult,
} from "@modelcontextprotocol/server";
import { NAME, TITLE, VERSION } from "../lib/version";
import type { ToolResult } from "./calls";
import { INSTRUCTIONS } from "./list";

/**
 * The official server of the Model Context Protocol over Streamable HTTP, in both eras of the protocol, without sessions.
 * It is large: only the handler of a message imports it.
 */

export type ToolHandlers = {
  list: () => Promise<ListToolsResult["tools"]>;
  /** @returns `undefined` for a tool that is not on the caller's list. */
  call: (name: string, given: Record<string, unknown>) => Promise<ToolResult | undefined>;
};

/** For connections that name the id. */
const KNOWN_ID = "This connection names the userId already: no tool takes one.";
const NO_ID =
  "Without a key, connect_wallet without a userId draws a new one, and says which address to connect to from then on.";

/**
 * Answers one message.
 * @param request With both forms in `Accept`, whatever the client sent.
 * @param options.streams Whether the client reads an event stream alone.
 */
export async function serveMessage(
  request: Request,
  message: unknown,
  answers: ToolHandlers,
  { streams, knowsId }: { streams: boolean; knowsId: boolean },
): Promise<Response> {
  const create = () => createServer(answers, knowsId);
  if (await isLegacyRequest(request, message)) {
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !streams });
    await create().connect(transport);
    return transport.handleRequest(request, { parsedBody: message });
  }
  const mode = streams ? ({ responseMode: "sse" } as const) : {};
  const { fetch: respondTo } = createMcpHandler(create, { legacy: "reject", ...mode });
  return respondTo(request, { parsedBody: message });
}

function createServer({ list, call }: ToolHandlers, knowsId: boolean): Server {
  const server = new Server(
    { name: NAME, version: VERSION, title: TITLE },
    { capabilities: { tools: {} }, instructions: `${INSTRUCTIONS}\n${knowsId ? KNOWN_ID : NO_ID}` },
  );
  server.setRequestHandler("tools/list", async () => ({ tools: await list() }));
  server.setRequestHandler("tools/call", async ({ params }) => {
    const result = await call(params.name, params.arguments ?? {});
    if (result !== undefined) return result;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool named ${params.name}`);
  });
  return server;
}
