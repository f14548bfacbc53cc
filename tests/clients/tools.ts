import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttpTransport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as z from "zod";
import { stdioTools, tools as allTools } from "../../convex/tools/list";

/** The official clients of the tool protocol, each with the built proxy as its server, and at the service's address. */

/** @returns What the client did. @throws Error when anything is not as it should be. */
type Try = (proxy: string, serviceUrl: string) => Promise<string>;

const MODERN = "2026-07-28";

const listed = z.object({ tools: z.array(z.object({ name: z.string() })) });
const called = z.object({
  isError: z.boolean().optional(),
  content: z.array(z.object({ text: z.string() })),
});

/** The questions of every client: a read, and a wallet that is made. */
const ASKED = [
  ["get_market_data", {}, /BTC|Bitcoin/i],
  ["connect_wallet", { userId: "alice" }, /0x[0-9a-fA-F]{40}/],
  ["get_research_status", { userId: "alice" }, /./],
] as const;

async function asked(
  expectedTools: readonly unknown[],
  list: () => Promise<unknown>,
  call: (name: string, input: Record<string, string>) => Promise<unknown>,
): Promise<string> {
  const { tools } = listed.parse(await list());
  if (tools.length !== expectedTools.length) throw new Error(`It was shown ${tools.length} tools`);
  for (const [name, input, expected] of ASKED) {
    const { isError, content } = called.parse(await call(name, { ...input }));
    const text = content.map((one) => one.text).join("\n");
    if (isError === true || !expected.test(text)) throw new Error(`${name}: ${text}`);
  }
  return `${tools.length} tools listed, ${ASKED.length} called`;
}

const INSPECTOR = fileURLToPath(
  new URL("node_modules/@modelcontextprotocol/inspector-cli/build/cli.js", import.meta.url),
);

/** What the official clients have in common. */
type Connected = {
  listTools: () => Promise<unknown>;
  callTool: (call: { name: string; arguments: Record<string, string> }) => Promise<unknown>;
  close: () => Promise<void>;
};

/** Asks a connected client, and closes it. */
async function askConnected(client: Connected, expectedTools: readonly unknown[]): Promise<string> {
  try {
    return await asked(
      expectedTools,
      () => client.listTools(),
      (name, input) => client.callTool({ name, arguments: input }),
    );
  } finally {
    await client.close();
  }
}

const addressOf = (serviceUrl: string) => new URL(`${serviceUrl}/mcp`);
const ABOUT = { name: "matrix", version: "1.0.0" };

/** The inspector by its words for a server. */
async function inspect(server: readonly string[], env: NodeJS.ProcessEnv, expectedTools: readonly unknown[]) {
  const run = async (...words: string[]): Promise<unknown> => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [INSPECTOR, "--cli", ...server, ...words],
      { env },
    );
    return JSON.parse(stdout);
  };
  return asked(
    expectedTools,
    () => run("--method", "tools/list"),
    (name, input) =>
      run(
        ...["--method", "tools/call", "--tool-name", name],
        ...Object.entries(input).flatMap(([field, value]) => ["--tool-arg", `${field}=${value}`]),
      ),
  );
}

export const toolClients: Record<string, Try> = {
  "@modelcontextprotocol/sdk 1.32.2": async (proxy, serviceUrl) => {
    const client = new Client(ABOUT);
    await client.connect(new StdioClientTransport(processOf(proxy, serviceUrl)));
    return askConnected(client, stdioTools);
  },
  "@modelcontextprotocol/sdk 1.32.2, the address": async (_, serviceUrl) => {
    const client = new Client(ABOUT);
    await client.connect(new StreamableHTTPClientTransport(addressOf(serviceUrl)));
    return askConnected(client, allTools);
  },
  [`@modelcontextprotocol/client 2.4.0, ${MODERN}`]: async (proxy, serviceUrl) => {
    const client = new ModernClient(ABOUT, { versionNegotiation: { mode: { pin: MODERN } } });
    await client.connect(new ModernTransport(processOf(proxy, serviceUrl)));
    return askConnected(client, stdioTools);
  },
  [`@modelcontextprotocol/client 2.4.0, ${MODERN}, the address`]: async (_, serviceUrl) => {
    const client = new ModernClient(ABOUT, { versionNegotiation: { mode: { pin: MODERN } } });
    await client.connect(new ModernHttpTransport(addressOf(serviceUrl)));
    return askConnected(client, allTools);
  },
  "@modelcontextprotocol/inspector-cli 0.16.8": (proxy, serviceUrl) =>
    inspect([process.execPath, proxy], { ...process.env, NOELCLAW_CONVEX_URL: serviceUrl }, stdioTools),
  "@modelcontextprotocol/inspector-cli 0.16.8, the address": (_, serviceUrl) =>
    inspect([addressOf(serviceUrl).href, "--transport", "http"], process.env, allTools),
};

function processOf(proxy: string, serviceUrl: string) {
  const env = { ...getDefaultEnvironment(), NOELCLAW_CONVEX_URL: serviceUrl };
  return { command: process.execPath, args: [proxy], env };
}
