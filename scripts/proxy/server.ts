import { PassThrough, type Readable } from "node:stream";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { ProtocolError, ProtocolErrorCode, Server, type ListToolsResult } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { callTool } from "./calls";
import { parseJson } from "../json";
import type { Called } from "./tools";

/** The official server on stdin and stdout, in both eras of the protocol. */

/** What the bundle knows beforehand. */
export type BuiltIn = {
  name: string;
  version: string;
  title: string;
  serviceUrl: string;
  instructions: string;
  listing: ListToolsResult;
  calls: readonly Called[];
  /** The decimals of tokens, by their symbols. */
  decimals: Readonly<Record<string, number>>;
};

export function serve(builtIn: BuiltIn, serviceUrl: string): void {
  const { name, version, title, instructions, listing, calls } = builtIn;
  const transport = new StdioServerTransport(withoutNulls(process.stdin));
  serveStdio(
    () => {
      const server = new Server({ name, version, title }, { capabilities: { tools: {} }, instructions });
      server.setRequestHandler("tools/list", () => listing);
      server.setRequestHandler("tools/call", async ({ params }, { mcpReq: { signal } }) => {
        const tool = calls.find((one) => one.name === params.name);
        if (tool === undefined)
          throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool named ${params.name}`);
        const call = callTool(tool, params.arguments ?? {}, { serviceUrl, signal });
        underWay.add(call);
        return call.finally(() => underWay.delete(call));
      });
      return server;
    },
    { transport },
  );
}

/** Calls that are not answered yet. */
const underWay = new Set<Promise<unknown>>();
/** How long they may take when the client has closed its end. */
const GRACE_MS = 5_000;

/** Some clients write `null` for params, arguments and _meta that they leave out. */
function withoutNulls(input: Readable): Readable {
  const output = new PassThrough();
  createInterface({ input })
    .on("line", (line) => output.write(`${/:\s*null/.test(line) ? mended(line) : line}\n`))
    .on("close", () => void lastAnswers().then(() => output.end()));
  return output;
}

/** Nothing that was asked stays without an answer, if it comes soon. */
async function lastAnswers(): Promise<void> {
  await sleep(50);
  await Promise.race([Promise.allSettled(underWay), sleep(GRACE_MS, undefined, { ref: false })]);
}

function mended(line: string): string {
  const message = parseJson(line);
  if (message === undefined) return line;
  return JSON.stringify(message, (name, value: unknown) => {
    const isEnvelope = name === "params" || name === "arguments" || name === "_meta";
    // Within arguments null is the person's.
    return isEnvelope && value === null ? undefined : value;
  });
}
