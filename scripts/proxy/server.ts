import { PassThrough, type Readable } from "node:stream";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ListToolsResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { callTool } from "./calls";
import { INSTRUCTIONS, tools } from "./tools";

/** The official server on stdin and stdout, in both eras of the protocol. */

/** What the bundle knows beforehand. */
export type BuiltIn = { name: string; version: string; serviceUrl: string; listing: ListToolsResult };

const INTERVAL_SECONDS = 2;

export function serve({ name, version, listing }: BuiltIn, serviceUrl: string, readOnly: boolean): void {
  const shown = listing.tools.filter(({ annotations }) => !readOnly || annotations?.readOnlyHint === true);
  const transport = new StdioServerTransport(withoutNulls(process.stdin));
  serveStdio(
    () => {
      const info = { name, version, title: "Market research, signals and wallets" };
      const server = new Server(info, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
      server.setRequestHandler("tools/list", () => ({ tools: shown }));
      server.setRequestHandler("tools/call", async ({ params }, context) => {
        const tool = tools.find((one) => one.name === params.name);
        const { inputSchema } = shown.find((one) => one.name === params.name) ?? {};
        if (tool === undefined || inputSchema === undefined)
          throw new ProtocolError(
            ProtocolErrorCode.InvalidParams,
            `There is no tool named ${params.name}${readOnly ? " here: this is the read-only list" : ""}`,
          );
        const texts = Object.entries(inputSchema.properties ?? {}).flatMap(([field, schema]) =>
          isText(schema) ? [field] : [],
        );
        const { signal } = context.mcpReq;
        const call = callTool(tool, texts, params.arguments ?? {}, { serviceUrl, signal });
        underWay.add(call);
        return withProgress(context, call).finally(() => underWay.delete(call));
      });
      return server;
    },
    { transport },
  );
}

function isText(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && "type" in schema && schema.type === "string";
}

/** Tells the client every two seconds, if it has asked for it, that `work` is still running. */
async function withProgress<Result>({ mcpReq }: ServerContext, work: Promise<Result>): Promise<Result> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return work;
  let progress = 0;
  const tell = () => {
    const message = progress === 0 ? "Asking the service" : `Waiting for the service, ${progress} s so far`;
    void mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, message } });
    progress += INTERVAL_SECONDS;
  };
  tell();
  const timer = setInterval(tell, INTERVAL_SECONDS * 1_000);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
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
  try {
    return JSON.stringify(JSON.parse(line), function (this: unknown, name, value: unknown) {
      const isEnvelope = name === "params" || name === "arguments" || name === "_meta";
      // Within arguments null is the person's.
      return isEnvelope && value === null ? undefined : value;
    });
  } catch {
    return line;
  }
}
