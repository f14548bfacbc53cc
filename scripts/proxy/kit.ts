import { strToU8, zipSync } from "fflate";
import * as z from "zod";
import { TITLE, TOOLS_PATH } from "../../convex/lib/version";
import { stdioTools, type ToolSchemas } from "../../convex/tools/list";

/**
 * Describes the proxy for the places where clients look for servers. The forms are those of the public documents:
 * https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json and, for the bundle,
 * https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md (0.3). Names, versions and the address are the
 * operator's: they stand in the two `package.json`.
 */

/** What the bundle knows beforehand. */
export type BuiltIn = {
  name: string;
  version: string;
  title: string;
  serviceUrl: string;
  schemas: ToolSchemas;
};

/** What the proxy's own `package.json` says, in the forms that the registry takes. */
export const aboutShape = z.object({
  name: z.string(),
  version: z.string().regex(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/),
  description: z.string().max(100),
  license: z.string(),
  mcpName: z.string().regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
});
export type About = z.output<typeof aboutShape>;

const SETTING = {
  name: "NOELCLAW_CONVEX_URL",
  description: "The service's address, if it differs from the built-in one",
  isRequired: false,
  isSecret: false,
  format: "string",
};

/** Its entry in the MCP registry, `server.json`. */
export function registryEntry({ name, version, mcpName, description }: About, serviceUrl: string): object {
  const transport = { type: "stdio" };
  const npm = { registryType: "npm", identifier: name, version, runtimeHint: "npx", transport };
  return {
    $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    ...{ name: mcpName, title: TITLE, description, version },
    packages: [{ ...npm, environmentVariables: [SETTING] }],
    remotes: [{ type: "streamable-http", url: `${serviceUrl}${TOOLS_PATH}` }],
  };
}

/** Its bundle for desktop clients, a zip file. */
export function mcpBundle({ name, version, description, license }: About, proxy: Uint8Array): Uint8Array {
  const program = "server/proxy.mjs";
  const env = { [SETTING.name]: "${user_config.service_url}" };
  const setting = { type: "string", title: "Service address", description: SETTING.description };
  const manifest = {
    manifest_version: "0.3",
    ...{ name, display_name: TITLE, version, description, license },
    author: { name: "The operator of this service" },
    server: {
      type: "node",
      entry_point: program,
      mcp_config: { command: "node", args: [`\${__dirname}/${program}`], env },
    },
    tools: stdioTools.map(({ name, title }) => ({ name, description: title })),
    compatibility: { platforms: ["darwin", "win32", "linux"], runtimes: { node: ">=20.19" } },
    // Empty stands for the built-in one.
    user_config: { service_url: { ...setting, required: false, default: "" } },
  };
  return zipSync({ "manifest.json": strToU8(JSON.stringify(manifest, null, 2)), [program]: proxy });
}
