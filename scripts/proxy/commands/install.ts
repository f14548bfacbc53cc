import { readFile, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import * as z from "zod/mini";
import type { BuiltIn } from "../interface";
import { serviceUrlOf } from "../settings";
import { enter } from "./configuration";
import { UsageError } from "./usage";

/** Enters the proxy in a client's configuration, or prints the entry and its place. */

/** How a client starts a server. */
type Server = { type?: "stdio"; command: string; args: string[]; env?: Record<string, string> };

type Client = {
  file: () => string;
  /** The key of the file's list of servers. */
  key: "mcpServers" | "servers";
};

const CLIENTS: Readonly<Record<string, Client>> = {
  claude: { file: () => join(applicationData(), "Claude", "claude_desktop_config.json"), key: "mcpServers" },
  "claude-code": { file: () => resolve(".mcp.json"), key: "mcpServers" },
  cursor: { file: () => join(homedir(), ".cursor", "mcp.json"), key: "mcpServers" },
  vscode: { file: () => resolve(".vscode", "mcp.json"), key: "servers" },
  windsurf: { file: () => join(homedir(), ".codeium", "windsurf", "mcp_config.json"), key: "mcpServers" },
};

const SERVER_NAME = "market-research";

/** @throws UsageError if the arguments or the client's file cannot be read. */
export async function install(words: readonly string[], builtIn: BuiltIn): Promise<void> {
  const { client: name, write, "read-only": readOnly } = optionsIn(words);
  const client = Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : undefined;
  if (client === undefined) throw new UsageError(`--client is one of ${Object.keys(CLIENTS).join(", ")}`);
  const started = await startedBy(builtIn, readOnly);
  const server: Server = name === "vscode" ? { type: "stdio", ...started } : started;
  const file = client.file();
  if (!write) {
    console.log(
      `Add this to ${file}:\n\n${JSON.stringify({ [client.key]: { [SERVER_NAME]: server } }, null, 2)}`,
    );
    return;
  }
  const { changed, backup } = await enter({ file, key: client.key, name: SERVER_NAME }, server);
  if (!changed) {
    console.log(`${file} has ${SERVER_NAME} already: nothing was changed.`);
    return;
  }
  console.log(`${file} now has ${SERVER_NAME}.${backup === null ? "" : ` As it was before: ${backup}`}`);
  console.log("Restart the client to use it.");
}

function optionsIn(words: readonly string[]) {
  const flag = { type: "boolean", default: false } as const;
  try {
    const options = { client: { type: "string", default: "" }, write: flag, "read-only": flag } as const;
    return parseArgs({ args: [...words], options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : "The options cannot be read");
  }
}

function applicationData(): string {
  if (process.platform === "darwin") return join(homedir(), "Library", "Application Support");
  if (process.platform === "win32") return process.env.APPDATA ?? join(homedir(), "AppData", "Roaming");
  return process.env.XDG_CONFIG_HOME ?? join(homedir(), ".config");
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The command that started this process: npx, whose folders are temporary, or a permanent file. */
async function startedBy(
  { name, version, serviceUrl: builtIn }: BuiltIn,
  readOnly: boolean,
): Promise<Server> {
  const address = serviceUrlOf(process.env.NOELCLAW_CONVEX_URL, builtIn);
  const env = address === builtIn ? {} : { env: { NOELCLAW_CONVEX_URL: address } };
  const more = readOnly ? ["--read-only"] : [];
  const file = await realpath(fileURLToPath(import.meta.url));
  const [, cache] = /^(.*[\\/]_npx[\\/][^\\/]+)[\\/]/.exec(file) ?? [];
  if (cache === undefined) return { command: "node", args: [file, ...more], ...env };
  const source = (await sourceIn(cache, name)) ?? `${name}@${version}`;
  return { command: "npx", args: ["-y", "--package", source, name, ...more], ...env };
}

const manifest = z.object({ dependencies: z.record(z.string(), z.string()) });

/** The tarball that npx was given, if it was one. */
async function sourceIn(cache: string, name: string): Promise<string | null> {
  const text = await readFile(join(cache, "package.json"), "utf8").catch(() => "");
  const given = manifest.safeParse(jsonOf(text)).data?.dependencies[name] ?? "";
  return given.startsWith("file:") ? resolve(cache, given.slice("file:".length)) : null;
}
