import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import * as z from "zod";
import { forkScript } from "../forked";
import { bundle } from "../proxy/bundle";
import type { Progress } from "./progress";
import { figure, median, quantile, type Table } from "./table";

/** How long an assistant waits for the stdio proxy to start, and tool calls against the same HTTP calls, in turn. */
export const question = "How soon is the stdio proxy there, and what does it add to a call?";

const CALLS = 300;
const WARM_UP = 50;
const STARTS = 15;
const START_MS = 120_000;

/** Served from what is stored, so that the calls themselves are short; and one that changes a row. */
const subjects = [
  { tool: "get_market_data", path: "/mcp/market", input: undefined },
  { tool: "stop_research", path: "/mcp/research/stop", input: { userId: "bench-user" } },
] as const;

type Connected = { client: Client; pid: number };

export async function run(progress: Progress): Promise<Table> {
  const folder = await mkdtemp(join(tmpdir(), "proxy-"));
  const file = join(folder, "proxy.mjs");
  const server = forkScript(new URL("server.ts", import.meta.url), ["application"]);
  try {
    await bundle(file);
    const url = await urlOf(server);
    const starts: Start[] = [];
    progress(`${STARTS} starts`);
    for (let start = 0; start < STARTS; start++) starts.push(await started(file, url));
    const { client, pid } = await connect(file, url);
    const fresh = await residentMb(pid);
    const rows: string[][] = [];
    for (const subject of subjects) {
      progress(`${CALLS} calls of ${subject.tool}`);
      rows.push(...(await compared(subject, client, url)));
    }
    const used = await residentMb(pid);
    const bytes = Buffer.byteLength(JSON.stringify(await toolCall(client, subjects[0])));
    await client.close();
    return {
      inputs: [
        `${CALLS} calls each, an HTTP call and a tool call in turn, after ${WARM_UP} of warm-up; one at a time.`,
        "The local stack, the proxy and the client in a process each; latencies in ms.",
      ],
      columns: ["", "p50", "p95", "p99"],
      rows,
      notes: [
        told(
          "Bare Node, start to end",
          starts.map(({ bare }) => bare),
        ),
        told(
          "The proxy, start to connected",
          starts.map(({ connected }) => connected),
        ),
        told(
          "The proxy, start to the first get_market_data",
          starts.map(({ answered }) => answered),
        ),
        `An answer of get_market_data has ${figure(bytes)} bytes.`,
        `Resident memory of the proxy: ${figure(fresh)} MB when connected, ${figure(used)} MB after ${figure(2 * (CALLS + WARM_UP))} calls.`,
      ],
    };
  } finally {
    server.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

async function connect(file: string, url: string): Promise<Connected> {
  const env = { ...getDefaultEnvironment(), NOELCLAW_CONVEX_URL: url };
  const transport = new StdioClientTransport({ command: process.execPath, args: [file], env });
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(transport);
  if (transport.pid === null) throw new Error("The proxy has no process");
  return { client, pid: transport.pid };
}

/** Milliseconds from the start of a process. */
type Start = { bare: number; connected: number; answered: number };

/** One start of Node with nothing to do, for comparison, and one of the proxy. */
async function started(file: string, url: string): Promise<Start> {
  const bare = await timed(async () => {
    await once(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }), "close");
  });
  const startedAt = performance.now();
  const { client } = await connect(file, url);
  const connected = performance.now() - startedAt;
  await toolCall(client, subjects[0]);
  const answered = performance.now() - startedAt;
  await client.close();
  return { bare, connected, answered };
}

function told(what: string, ms: readonly number[]): string {
  return `${what}: ${figure(median(ms))} ms, median of ${ms.length}; ${figure(Math.min(...ms))} to ${figure(Math.max(...ms))} ms.`;
}

async function compared(
  subject: (typeof subjects)[number],
  client: Client,
  url: string,
): Promise<string[][]> {
  const direct: number[] = [];
  const proxied: number[] = [];
  const added: number[] = [];
  for (let round = -WARM_UP; round < CALLS; round++) {
    const http = await timed(() => httpCall(url, subject));
    const tool = await timed(() => toolCall(client, subject));
    if (round < 0) continue;
    direct.push(http);
    proxied.push(tool);
    added.push(tool - http);
  }
  const row = (name: string, ms: number[]) => [
    name,
    ...[0.5, 0.95, 0.99].map((part) => figure(quantile(ms, part), 1)),
  ];
  return [
    row(`${subject.path}, HTTP`, direct),
    row(`${subject.tool}, through the proxy`, proxied),
    row("  the tool call's share, pair by pair", added),
  ];
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function httpCall(url: string, { path, input }: (typeof subjects)[number]): Promise<void> {
  const init = input === undefined ? {} : { method: "POST", body: JSON.stringify(input) };
  const response = await fetch(url + path, init);
  await response.json();
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
}

async function toolCall(client: Client, { tool, input }: (typeof subjects)[number]) {
  const result = await client.callTool({
    name: tool,
    ...(input === undefined ? {} : { arguments: input }),
  });
  if (result.isError === true) throw new Error(`${tool} failed`);
  return result;
}

async function residentMb(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]);
  return Number(stdout) / 1_024;
}

/** The address the stack tells once it is up. */
async function urlOf(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("The stack is not up in time")), START_MS);
    server.once("message", (message) => {
      clearTimeout(timer);
      resolve(z.url().parse(message));
    });
    server.once("exit", (code) => {
      clearTimeout(timer);
      reject(new Error(`The stack ended with ${code}`));
    });
  });
}
