import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, type CallToolResult } from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll } from "vitest";
import * as z from "zod";
import { bundle } from "../../scripts/proxy/bundle";
import { ConnectionLost, listen } from "../../scripts/sockets";

/**
 * The proxy as `npm run build` makes it, in a folder without packages, and the official client speaking to it in the
 * protocol's newest form. `process.node.test.ts` speaks the earlier one.
 */

type Built = Awaited<ReturnType<typeof build>>;

async function build() {
  const folder = await mkdtemp(join(tmpdir(), "proxy-"));
  const file = join(folder, "proxy.mjs");
  const { about, serviceUrl } = await bundle(file);
  return { file, about, serviceUrl, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** The Node that runs the proxy: `PROXY_NODE` names another one than that of the tests. */
export const NODE = process.env.PROXY_NODE ?? process.execPath;

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
    command: NODE,
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

/** The same facts as data. */
export const dataOf = ({ structuredContent }: CallToolResult): Record<string, unknown> =>
  z.record(z.string(), z.unknown()).parse(structuredContent ?? {});

/** A transfer, and the service's answer to it. */
export const ORDER = { userId: "u", token: "USDC", toAddress: `0x${"5".repeat(40)}`, amount: "25000000" };
const { userId: _, ...terms } = ORDER;
export const SENT = { success: true, txHash: `0x${"ab".repeat(32)}`, status: "confirmed", ...terms };

/** What the stand-in for the service was sent; the signal fires when the caller has gone. */
type Received = { method: string; path: string; headers: Headers; body: string; signal: AbortSignal };

export type Answer = () => Response | Promise<Response>;

type FakeService = {
  url: string;
  received: Received[];
  /** Answers all that follows, and forgets what came before. */
  answers: (answer: Answer) => void;
  stop: () => Promise<void>;
};

/** A stand-in for the service that does what a test tells it to, and remembers what it was sent. */
export async function fakeService(): Promise<FakeService> {
  const received: Received[] = [];
  let answer: Answer = json(500, { error: "The test told no answer" });
  const { url, close } = await listen(0, "PORT", async (request) => {
    const { method, headers, signal } = request;
    const path = request.url.slice(new URL(request.url).origin.length);
    received.push({ method, path, headers, body: await request.text(), signal });
    return answer();
  });
  return {
    url,
    received,
    answers: (next) => {
      received.length = 0;
      answer = next;
    },
    stop: close,
  };
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  () =>
    Response.json(body, { status, headers });

export const hang: Answer = () => new Promise(() => undefined);

export const breakOff: Answer = () => Promise.reject(new ConnectionLost("fetch failed"));
