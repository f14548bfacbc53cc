import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, type CallToolResult } from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll } from "vitest";
import { bundle } from "../../scripts/proxy/bundle";

/**
 * The proxy as `npm run build` makes it, in a folder without packages, and the official client speaking to it in the
 * protocol's newest form. `process.node.test.ts` speaks the earlier one.
 */

type Built = Awaited<ReturnType<typeof build>>;

async function build() {
  const folder = await mkdtemp(join(tmpdir(), "proxy-"));
  const file = join(folder, "proxy.mjs");
  const { about, builtIn } = await bundle(file);
  return { file, about, builtIn, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** For calls that wait on a busy machine. */
const PATIENT = { timeout: 600_000 };

export type Connection = {
  client: Client;
  call: (name: string, input?: Record<string, unknown>) => Promise<CallToolResult>;
};

export async function connect(
  file: string,
  serviceUrl: string,
  nodeOptions: readonly string[] = [],
): Promise<Connection> {
  const env = { ...getDefaultEnvironment(), NOELCLAW_CONVEX_URL: serviceUrl };
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...nodeOptions, file],
    env,
  });
  const versionNegotiation = { mode: { pin: "2026-07-28" } } as const;
  const client = new Client({ name: "tests", version: "1.0.0" }, { versionNegotiation });
  await client.connect(transport, PATIENT);
  const call = (name: string, input: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: input }, PATIENT);
  return { client, call };
}

/** What `useProxy` started for the test file that is running. */
export let service: FakeService;
export let built: Built;
export let proxy: Connection;

/** To be called by a test file that speaks to the built proxy. @param addressOf The service's, as the proxy is told. */
export function useProxy(addressOf = ({ url }: FakeService) => url): void {
  beforeAll(async () => {
    service = await fakeService();
    built = await build();
    proxy = await connect(built.file, addressOf(service));
  });
  afterAll(async () => {
    await proxy.client.close();
    await service.stop();
    await built.remove();
  });
}

export function textOf(result: CallToolResult): string {
  return result.content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}

/** A transfer, and the service's answer to it. */
export const ORDER = { userId: "u", token: "USDC", toAddress: `0x${"5".repeat(40)}`, amount: "25000000" };
const { userId: _, ...terms } = ORDER;
export const SENT = { success: true, txHash: `0x${"ab".repeat(32)}`, status: "confirmed", ...terms };

/** What the stand-in for the service was sent. */
type Received = {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  closed: boolean;
};

export type Answer = (response: ServerResponse, request: Received) => void;

export type FakeService = {
  url: string;
  received: Received[];
  /** Answers the next requests in turn; the last one answers all that follow. */
  answers: (...answers: Answer[]) => void;
  stop: () => Promise<void>;
};

/** A stand-in for the service that does what a test tells it to, and remembers what it was sent. */
export async function fakeService(): Promise<FakeService> {
  const received: Received[] = [];
  let queue: Answer[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const body = Buffer.concat(chunks).toString();
      const one: Received = { method, path: url, headers, body, closed: false };
      response.on("close", () => (one.closed = !response.writableFinished));
      received.push(one);
      const answer = queue.length > 1 ? queue.shift() : queue[0];
      if (answer === undefined) throw new Error("The stand-in was told no answer");
      answer(response, one);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The stand-in has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    received,
    answers: (...answers) => {
      received.length = 0;
      queue = answers;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };

export const hang: Answer = () => {};

export const breakOff: Answer = (response) => response.destroy();
