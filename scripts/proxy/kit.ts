import { strToU8, zipSync } from "fflate";
import type { BuiltIn } from "./server";

/**
 * Describes the proxy for the places where clients look for servers. The forms are those of the public documents:
 * https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json and, for the bundle,
 * https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md (0.3). Names, versions and the address are the
 * operator's: they stand in the two `package.json`.
 */

/** What the proxy's own `package.json` says. */
export type About = {
  name: string;
  version: string;
  description: string;
  license: string;
  /** Its name in the MCP registry. */
  mcpName: string;
};

const TITLE = "Market research, signals and wallets";
const SETTING = "NOELCLAW_CONVEX_URL";
const SETTING_MEANS = "The service's address, if it differs from the built-in one";

/** Its entry in the MCP registry, `server.json`. */
export function registryEntry({ name, version, mcpName, description }: About): object {
  const setting = {
    name: SETTING,
    description: SETTING_MEANS,
    isRequired: false,
    isSecret: false,
    format: "string",
  };
  return {
    $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    name: mcpName,
    title: TITLE,
    description,
    version,
    packages: [
      {
        registryType: "npm",
        identifier: name,
        version,
        runtimeHint: "npx",
        transport: { type: "stdio" },
        environmentVariables: [setting],
      },
    ],
  };
}

/** Its bundle for desktop clients, a zip file. */
export function mcpBundle(
  { name, version, description, license }: About,
  { listing }: BuiltIn,
  proxy: Uint8Array,
): Uint8Array {
  const args = ["${__dirname}/server/proxy.mjs"];
  const manifest = {
    manifest_version: "0.3",
    ...{ name, display_name: TITLE, version, description, license },
    author: { name: "The operator of this service" },
    server: {
      type: "node",
      entry_point: "server/proxy.mjs",
      mcp_config: { command: "node", args, env: { [SETTING]: "${user_config.service_url}" } },
    },
    tools: listing.tools.map((tool) => ({ name: tool.name, description: tool.title ?? tool.name })),
    compatibility: { platforms: ["darwin", "win32", "linux"], runtimes: { node: ">=20.19" } },
    user_config: {
      // Empty stands for the built-in one.
      service_url: {
        type: "string",
        title: "Service address",
        description: SETTING_MEANS,
        required: false,
        default: "",
      },
    },
  };
  return zipSync({ "manifest.json": strToU8(JSON.stringify(manifest, null, 2)), "server/proxy.mjs": proxy });
}
