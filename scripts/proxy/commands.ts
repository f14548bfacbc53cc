import { realpath } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import * as z from "zod/mini";
import type { BuiltIn } from "./server";
import { callService, ServiceError, serviceUrlOf, SettingsError } from "./service";

/** The commands for people, in contrast to calls by a client. */

const HELP = `Offers crypto market data, research, signals and wallets to AI clients as tools (MCP over stdio).

Usage: NAME              speaks to a client on stdin and stdout
       NAME --read-only  the same, with the tools alone that change nothing
       NAME install --client claude|claude-code|cursor|vscode|windsurf [--read-only]
                         prints what to add to which file of the client
       NAME check        tells whether the service can be reached, and what is wrong
       NAME --version

NOELCLAW_CONVEX_URL is the service's address, where it is another than SERVICE`;

/** The clients' files, and the key of their lists of servers. */
const CLIENTS: Readonly<Record<string, { file: string; key: string }>> = {
  claude: { file: "claude_desktop_config.json (Settings, Developer, Edit Config)", key: "mcpServers" },
  "claude-code": { file: ".mcp.json of the project", key: "mcpServers" },
  cursor: { file: "~/.cursor/mcp.json", key: "mcpServers" },
  vscode: { file: ".vscode/mcp.json of the project", key: "servers" },
  windsurf: { file: "~/.codeium/windsurf/mcp_config.json", key: "mcpServers" },
};

class UsageError extends Error {}

/** @returns The process's exit code. */
export async function command(words: readonly string[], builtIn: BuiltIn): Promise<number> {
  const [first = "", ...rest] = words;
  try {
    if (first === "--help" || first === "-h" || first === "help")
      console.log(HELP.replaceAll("NAME", builtIn.name).replace("SERVICE", builtIn.serviceUrl));
    else if (first === "--version" || first === "-v") console.log(builtIn.version);
    else if (first === "install") console.log(await snippet(rest, builtIn));
    else if (first === "check" && rest.length === 0) return await check(builtIn);
    else throw new UsageError(`${words.join(" ")} is not a command`);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof SettingsError)) throw error;
    console.error(`${error.message}. See ${builtIn.name} --help`);
    return 2;
  }
}

/** What a person adds to a client's file. */
async function snippet(words: readonly string[], builtIn: BuiltIn): Promise<string> {
  const { client: name, "read-only": readOnly } = optionsIn(words);
  const client = Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : undefined;
  if (client === undefined) throw new UsageError(`--client is one of ${Object.keys(CLIENTS).join(", ")}`);
  const address = serviceUrlOf(process.env.NOELCLAW_CONVEX_URL, builtIn.serviceUrl);
  const started = await startedBy(builtIn.name, readOnly ? ["--read-only"] : []);
  const server = {
    ...(name === "vscode" ? { type: "stdio" } : {}),
    ...started,
    ...(address === builtIn.serviceUrl ? {} : { env: { NOELCLAW_CONVEX_URL: address } }),
  };
  const entry = { [client.key]: { "market-research": server } };
  return `Add this to ${client.file}, and restart the client:\n\n${JSON.stringify(entry, null, 2)}`;
}

function optionsIn(words: readonly string[]) {
  try {
    const readOnly = { type: "boolean", default: false } as const;
    const options = { client: { type: "string", default: "" }, "read-only": readOnly } as const;
    return parseArgs({ args: [...words], options }).values;
  } catch (error) {
    throw new UsageError(
      error instanceof Error ? error.message.split(". ")[0] : "The options cannot be read",
    );
  }
}

/** The command that starts this program: npx, whose folders are temporary, or a permanent file. */
async function startedBy(
  name: string,
  more: readonly string[],
): Promise<{ command: string; args: string[] }> {
  const file = await realpath(fileURLToPath(import.meta.url));
  if (!/[\\/]_npx[\\/]/.test(file)) return { command: process.execPath, args: [file, ...more] };
  const npx = ["npx", "-y", name, ...more];
  // Windows starts npx by its shell alone.
  return process.platform === "win32"
    ? { command: "cmd", args: ["/c", ...npx] }
    : { command: "npx", args: npx.slice(1) };
}

const health = z.object({ status: z.string(), version: z.string(), reasons: z.array(z.string()) });

/** @returns 0 if tools will work, otherwise 1. */
async function check({ serviceUrl: builtIn }: BuiltIn): Promise<number> {
  try {
    const serviceUrl = serviceUrlOf(process.env.NOELCLAW_CONVEX_URL, builtIn);
    const { body } = await callService({
      ...({ serviceUrl, method: "GET", path: "/health", input: {}, idempotencyKey: null } as const),
      repeatable: true,
      timeoutMs: 15_000,
      signal: new AbortController().signal,
    });
    const parsed = health.safeParse(body);
    if (!parsed.success)
      throw new ServiceError(`${serviceUrl} answers, but is not this service`, false, false);
    const { status, version, reasons } = parsed.data;
    console.log(`The service at ${serviceUrl} answers: version ${version}, ${status}.`);
    for (const reason of reasons) console.log(`- ${reason}`);
    return 0;
  } catch (error) {
    if (!(error instanceof ServiceError) && !(error instanceof SettingsError)) throw error;
    const advice = error.message.includes("NOELCLAW_CONVEX_URL")
      ? ""
      : " Set NOELCLAW_CONVEX_URL to the service's address, which ends in .convex.site or .convex.site/http.";
    console.error(error.message.replace(/\w$/, "$&.") + advice.replace(" or .convex.site/http", ""));
    return 1;
  }
}
