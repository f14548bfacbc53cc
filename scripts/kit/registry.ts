import type { ListToolsResult } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import type { proxyPackage } from "../proxy/bundle";

/**
 * Describes the proxy for the places where clients look for servers. The shapes are those of the public documents:
 * https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json and, for the bundle,
 * https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md (0.3).
 */

type About = Awaited<ReturnType<typeof proxyPackage>>;

const SETTING = "NOELCLAW_CONVEX_URL";
const SETTING_MEANS = "The service's address, if it differs from the built-in one";

const exactVersion = z.string().regex(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/);

export const registryShape = z.strictObject({
  $schema: z.literal("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: exactVersion,
  packages: z
    .array(
      z.strictObject({
        registryType: z.literal("npm"),
        registryBaseUrl: z.literal("https://registry.npmjs.org"),
        identifier: z.string().min(1),
        version: exactVersion,
        runtimeHint: z.literal("npx"),
        transport: z.strictObject({ type: z.literal("stdio") }),
        environmentVariables: z.array(
          z.strictObject({
            name: z.string(),
            description: z.string(),
            isRequired: z.boolean(),
            isSecret: z.boolean(),
            format: z.enum(["string", "number", "boolean", "filepath"]),
          }),
        ),
      }),
    )
    .min(1),
});

/** Its entry in the MCP registry, `server.json`. @throws ZodError if the registry would refuse it. */
export function registryEntry({ name, version, mcpName }: About): z.output<typeof registryShape> {
  return registryShape.parse({
    $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    name: mcpName,
    title: "Market research, signals and wallets",
    description: "Crypto market data, research, trading signals and wallets on Base as 19 tools.",
    version,
    packages: [
      {
        registryType: "npm",
        registryBaseUrl: "https://registry.npmjs.org",
        identifier: name,
        version,
        runtimeHint: "npx",
        transport: { type: "stdio" },
        environmentVariables: [
          { name: SETTING, description: SETTING_MEANS, isRequired: false, isSecret: false, format: "string" },
        ],
      },
    ],
  });
}

export const manifestShape = z.strictObject({
  manifest_version: z.literal("0.3"),
  name: z.string().min(1),
  display_name: z.string(),
  version: exactVersion,
  description: z.string().min(1),
  author: z.strictObject({ name: z.string().min(1) }),
  license: z.string(),
  server: z.strictObject({
    type: z.literal("node"),
    entry_point: z.string(),
    mcp_config: z.strictObject({
      command: z.literal("node"),
      args: z.array(z.string()),
      env: z.record(z.string(), z.string()),
    }),
  }),
  tools: z.array(z.strictObject({ name: z.string(), description: z.string() })),
  compatibility: z.strictObject({
    platforms: z.array(z.enum(["darwin", "win32", "linux"])),
    runtimes: z.strictObject({ node: z.string() }),
  }),
  user_config: z.record(
    z.string(),
    z.strictObject({
      type: z.enum(["string", "number", "boolean", "directory", "file"]),
      title: z.string(),
      description: z.string(),
      required: z.boolean(),
      default: z.string(),
    }),
  ),
});

/** The manifest of its bundle for desktop clients. @throws ZodError if they would refuse it. */
export function bundleManifest(
  about: About,
  tools: ListToolsResult["tools"],
): z.output<typeof manifestShape> {
  const { name, version, description, license, engines } = about;
  return manifestShape.parse({
    manifest_version: "0.3",
    name,
    display_name: "Market research, signals and wallets",
    version,
    description,
    author: { name: "The operator of this service" },
    license,
    server: {
      type: "node",
      entry_point: "server/proxy.js",
      mcp_config: {
        command: "node",
        args: ["${__dirname}/server/proxy.js"],
        env: { [SETTING]: "${user_config.service_url}" },
      },
    },
    tools: tools.map(({ name: tool, title = tool }) => ({ name: tool, description: title })),
    compatibility: { platforms: ["darwin", "win32", "linux"], runtimes: { node: engines.node } },
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
  });
}
