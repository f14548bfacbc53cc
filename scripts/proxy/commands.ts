import { realpath } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { command, Misuse, OperatorError } from "../command";
import type { BuiltIn } from "./kit";

/** The commands for people, in contrast to calls by a client. */

/** The clients' files, and the key of their lists of servers. */
const CLIENTS: Readonly<Record<string, { file: string; key: string; isToml?: true }>> = {
  claude: { file: "claude_desktop_config.json (Settings, Developer, Edit Config)", key: "mcpServers" },
  "claude-code": { file: ".mcp.json of the project", key: "mcpServers" },
  codex: { file: "~/.codex/config.toml", key: "mcp_servers", isToml: true },
  cursor: { file: "~/.cursor/mcp.json", key: "mcpServers" },
  gemini: { file: "~/.gemini/settings.json", key: "mcpServers" },
  vscode: { file: ".vscode/mcp.json of the project", key: "servers" },
  windsurf: { file: "~/.codeium/windsurf/mcp_config.json", key: "mcpServers" },
  zed: { file: "~/.config/zed/settings.json", key: "context_servers" },
};

const formatUsage = ({ name, serviceUrl }: BuiltIn) =>
  `Offers crypto market data, research, signals and wallets to AI clients as tools (MCP over stdio).

Usage: ${name}             speaks to a client on stdin and stdout
       ${name} install --client ${Object.keys(CLIENTS).join("|")}
                 prints what to add to which file of the client
       ${name} --version

NOELCLAW_CONVEX_URL is the service's address, where it is another than ${serviceUrl}`;

const flags = {
  client: { type: "string", default: "" },
  version: { type: "boolean", default: false },
} as const;

export function run(builtIn: BuiltIn): Promise<void> {
  const about = { usage: formatUsage(builtIn), flags, most: 1 };
  return command(about, async ({ values: { client, version }, positionals: [word = ""] }) => {
    if (version) return console.log(builtIn.version);
    if (word !== "install") throw new Misuse(`'${word}' is not a command`);
    console.log(await snippet(client, builtIn));
  });
}

/** What a person adds to a client's file. @throws Misuse */
async function snippet(name: string, builtIn: BuiltIn): Promise<string> {
  const client = Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : undefined;
  if (client === undefined) throw new Misuse(`--client is one of ${Object.keys(CLIENTS).join(", ")}`);
  const address = getServiceUrl(process.env.NOELCLAW_CONVEX_URL, builtIn.serviceUrl);
  const server = {
    ...(name === "vscode" ? { type: "stdio" } : name === "zed" ? { source: "custom" } : {}),
    ...(await startedBy(builtIn.name)),
    ...(address === builtIn.serviceUrl ? {} : { env: { NOELCLAW_CONVEX_URL: address } }),
  };
  const entry = { [client.key]: { "market-research": server } };
  const text = client.isToml === true ? tomlOf(client.key, server) : JSON.stringify(entry, null, 2);
  return `Add this to ${client.file}, and restart the client:\n\n${text}`;
}

/** A server as a table; TOML's strings and lists are JSON's. */
function tomlOf(key: string, { env, ...server }: object & { env?: object }): string {
  const lines = (fields: object) =>
    Object.entries(fields).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const table = `${key}.market-research`;
  const variables = env === undefined ? [] : ["", `[${table}.env]`, ...lines(env)];
  return [`[${table}]`, ...lines(server), ...variables].join("\n");
}

/** The command that starts this program: npx, whose folders are temporary, or a permanent file. */
async function startedBy(name: string): Promise<{ command: string; args: string[] }> {
  const file = await realpath(fileURLToPath(import.meta.url));
  if (!/[\\/]_npx[\\/]/.test(file)) return { command: process.execPath, args: [file] };
  // Windows starts npx by its shell alone.
  return process.platform === "win32"
    ? { command: "cmd", args: ["/c", "npx", "-y", name] }
    : { command: "npx", args: ["-y", name] };
}

/** A placeholder, in the forms of clients and shells, that nobody has filled in. */
const PLACEHOLDER = /^(?:\$\{[^}]*\}|\$\w+|%\w+%|\{\{[^}]*\}\}|<[^>]*>)$/;

/**
 * The service's address: `NOELCLAW_CONVEX_URL` if it is set, otherwise the built-in one; without trailing slashes.
 * A placeholder that the client has not filled in counts as unset.
 * @throws OperatorError naming what is wrong with the setting.
 */
export function getServiceUrl(setting: string | undefined, builtIn: string): string {
  const given = setting?.trim() ?? "";
  const address = given === "" || PLACEHOLDER.test(given) ? builtIn : given;
  if (!URL.canParse(address)) refuse("is not an address such as https://example.convex.site");
  const url = new URL(address);
  if (!/^https?:$/.test(url.protocol)) refuse("must be an address that begins with http:// or https://");
  if (url.username !== "" || url.password !== "") refuse("must not hold a user name or password");
  if (url.search !== "" || url.hash !== "") refuse("must be an address without ? and #");
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

function refuse(problem: string): never {
  throw new OperatorError(`NOELCLAW_CONVEX_URL ${problem}`);
}
