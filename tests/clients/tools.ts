import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import * as z from "zod";

/** The official clients of the tool protocol, each with the built proxy as its server. */

/** @returns What the client did. @throws Error when anything is not as it should be. */
type Try = (proxy: string, serviceUrl: string) => Promise<string>;

const TOOLS = 19;
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
  list: () => Promise<unknown>,
  call: (name: string, input: Record<string, string>) => Promise<unknown>,
): Promise<string> {
  const { tools } = listed.parse(await list());
  if (tools.length !== TOOLS) throw new Error(`It was shown ${tools.length} tools`);
  for (const [name, input, expected] of ASKED) {
    const { isError, content } = called.parse(await call(name, { ...input }));
    const text = content.map((one) => one.text).join("\n");
    if (isError === true || !expected.test(text)) throw new Error(`${name}: ${text}`);
  }
  return `${TOOLS} tools listed, ${ASKED.length} called`;
}

const INSPECTOR = fileURLToPath(
  new URL("node_modules/@modelcontextprotocol/inspector-cli/build/cli.js", import.meta.url),
);

export const toolClients: Record<string, Try> = {
  "@modelcontextprotocol/sdk 1.32.2": async (proxy, serviceUrl) => {
    const client = new Client({ name: "matrix", version: "1.0.0" });
    await client.connect(new StdioClientTransport(processOf(proxy, serviceUrl)));
    try {
      return await asked(
        () => client.listTools(),
        (name, input) => client.callTool({ name, arguments: input }),
      );
    } finally {
      await client.close();
    }
  },
  [`@modelcontextprotocol/client 2.4.0, ${MODERN}`]: async (proxy, serviceUrl) => {
    const client = new ModernClient(
      { name: "matrix", version: "1.0.0" },
      { versionNegotiation: { mode: { pin: MODERN } } },
    );
    await client.connect(new ModernTransport(processOf(proxy, serviceUrl)));
    try {
      return await asked(
        () => client.listTools(),
        (name, input) => client.callTool({ name, arguments: input }),
      );
    } finally {
      await client.close();
    }
  },
  "@modelcontextprotocol/inspector-cli 0.16.8": async (proxy, serviceUrl) => {
    const inspect = async (...words: string[]): Promise<unknown> => {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [INSPECTOR, "--cli", process.execPath, proxy, ...words],
        { env: { ...process.env, NOELCLAW_CONVEX_URL: serviceUrl } },
      );
      return JSON.parse(stdout);
    };
    return asked(
      () => inspect("--method", "tools/list"),
      (name, input) =>
        inspect(
          ...["--method", "tools/call", "--tool-name", name],
          ...Object.entries(input).flatMap(([field, value]) => ["--tool-arg", `${field}=${value}`]),
        ),
    );
  },
};

function processOf(proxy: string, serviceUrl: string) {
  const env = { ...getDefaultEnvironment(), NOELCLAW_CONVEX_URL: serviceUrl };
  return { command: process.execPath, args: [proxy], env };
}
