import { PassThrough, type Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ProgressNotification,
} from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { callTool } from "../../convex/tools/calls";
import { describeTool, INSTRUCTIONS, stdioTools } from "../../convex/tools/list";
import { parseJson } from "../json";
import type { BuiltIn } from "./kit";
import { callService } from "./service";

/** The official server on stdin and stdout, in both eras of the protocol. */

export function serve(builtIn: BuiltIn, serviceUrl: string): void {
  const { name, version, title, schemas } = builtIn;
  const tools = stdioTools.map((tool) => describeTool(tool, schemas));
  const transport = new StdioServerTransport(readable(process.stdin));
  serveStdio(
    () => {
      const server = new Server(
        { name, version, title },
        { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
      );
      server.setRequestHandler("tools/list", () => ({ tools }));
      server.setRequestHandler("tools/call", async ({ params }, { mcpReq: { signal, notify, _meta } }) => {
        const tool = stdioTools.find((one) => one.name === params.name);
        if (tool === undefined)
          throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool named ${params.name}`);
        const call = callTool(tool, params.arguments ?? {}, (request) =>
          callService(request, { serviceUrl, timeoutMs: TIMEOUT_MS, signal }),
        );
        underWay.add(call);
        const { progressToken } = _meta ?? {};
        const stop = progressToken === undefined ? () => {} : tellProgress(tool.title, progressToken, notify);
        return call.finally(() => {
          stop();
          underWay.delete(call);
        });
      });
      return server;
    },
    { transport },
  );
}

/** The service answers within 28 seconds, whatever it has to ask or sign. */
const TIMEOUT_MS = 29_000;

/** Calls that are not answered yet. */
const underWay = new Set<Promise<unknown>>();
/** How long they may take when the client has closed its end. */
const GRACE_MS = 5_000;

/** How often a client that asks for it is told that its call goes on. */
const PROGRESS_MS = 2_000;
const MOST_SECONDS = 28;

/** Tells how long a call has taken, until it is stopped: the service answers within 28 seconds. */
function tellProgress(
  title: string,
  progressToken: string | number,
  notify: (notification: ProgressNotification) => Promise<void>,
): () => void {
  const began = Date.now();
  const timer = setInterval(() => {
    const progress = Math.round((Date.now() - began) / 1_000);
    const total = Math.max(MOST_SECONDS, progress);
    const params = { progressToken, progress, total, message: `${title}: at work` };
    // A client that has gone needs no word.
    notify({ method: "notifications/progress", params }).catch(() => {});
  }, PROGRESS_MS);
  return () => clearInterval(timer);
}

/**
 * The messages, each in a line that the SDK can read. A line ends with a line feed alone: a text may hold other
 * separators (U+2028). Some clients write a byte order mark, several messages as a list, or `null` for params, arguments
 * and _meta that they leave out.
 */
function readable(input: Readable): Readable {
  const output = new PassThrough();
  const pass = (line: string) =>
    void (line.trim() !== "" && output.write(`${messagesIn(line).join("\n")}\n`));
  const read = async () => {
    let rest = "";
    for await (const chunk of input.setEncoding("utf8")) {
      const [first = "", ...more] = String(chunk).split("\n");
      rest += first;
      for (const next of more) {
        pass(rest);
        rest = next;
      }
    }
    pass(rest);
  };
  const end = () => void lastAnswers().then(() => output.end());
  read().then(end, end);
  return output;
}

/** Line by line; JSON-RPC allows a list of messages, as the protocol of March 2025 does. */
function messagesIn(line: string): string[] {
  const text = line.replace(/^[\uFEFF\s]+/, "");
  const list = text.startsWith("[") ? parseJson(text) : undefined;
  const messages = Array.isArray(list) ? list.map((one: unknown) => JSON.stringify(one)) : [text];
  return messages.map((one) => (/:\s*null/.test(one) ? mendInput(one) : one));
}

/** Nothing that was asked stays without an answer, if it comes soon. */
async function lastAnswers(): Promise<void> {
  await sleep(50);
  await Promise.race([Promise.allSettled(underWay), sleep(GRACE_MS, undefined, { ref: false })]);
}

function mendInput(line: string): string {
  const message = parseJson(line);
  if (message === undefined) return line;
  return JSON.stringify(message, (name, value: unknown) => {
    const isEnvelope = name === "params" || name === "arguments" || name === "_meta";
    // Within arguments null is the person's.
    return isEnvelope && value === null ? undefined : value;
  });
}
