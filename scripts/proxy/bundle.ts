import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { ListToolsResult } from "@modelcontextprotocol/server";
import { build } from "esbuild";
import * as z from "zod";
import { endpoints } from "../../convex/endpoints";
import { WALLET_TOKENS } from "../../convex/wallets/tokens";
import { aboutShape, TITLE, type About } from "./kit";
import { inputSchema, outputSchema } from "./schemas";
import type { BuiltIn } from "./tools";
import { INSTRUCTIONS, tools, type Tool } from "./tools";

/**
 * Writes the proxy as one file that needs nothing but Node. What it can know beforehand, such as the tools' schemas, is
 * made from the service here, not in each process.
 */
export async function bundle(outfile: string): Promise<{ about: About; builtIn: BuiltIn }> {
  const root = await toJson("../../package.json", z.object({ config: z.object({ serviceUrl: z.url() }) }));
  const about = await toJson("package.json", aboutShape);
  const decimals = Object.entries(WALLET_TOKENS).map(([symbol, token]) => [symbol, token.decimals] as const);
  const builtIn: BuiltIn = {
    name: about.name,
    version: about.version,
    title: TITLE,
    serviceUrl: root.config.serviceUrl,
    instructions: INSTRUCTIONS,
    listing: { tools: tools.map(listTool) },
    calls: tools.map(({ name, title, method, path, repeats, list }) => ({
      name,
      title,
      method,
      path,
      repeats,
      ...(list === undefined ? {} : { list }),
    })),
    decimals: Object.fromEntries(decimals),
  };
  await build({
    entryPoints: [fileURLToPath(new URL("main.ts", import.meta.url))],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    // For packages with two forms, the one that can be bundled.
    mainFields: ["module", "main"],
    target: "node20",
    minify: true,
    legalComments: "eof",
    banner: {
      // Some packages of the SDK require Node's own modules.
      js: '#!/usr/bin/env node\nimport { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);',
    },
    // The SDK brings a validator of JSON schemas for what this server never asks its clients.
    alias: { "@modelcontextprotocol/server/_shims": fileURLToPath(new URL("shims.ts", import.meta.url)) },
    define: { BUILT_IN: JSON.stringify(builtIn) },
    logLevel: "warning",
  });
  return { about, builtIn };
}

/** A tool in the answer to `tools/list`. */
function listTool(tool: Tool): ListToolsResult["tools"][number] {
  const { name, title, description, method, path, reads, destructive, open, repeats } = tool;
  const found = endpoints.find((one) => one.path === path && one.methods.includes(method));
  if (found === undefined) throw new Error(`${name}: the service has no ${method} ${path}`);
  const changes = { destructiveHint: destructive, idempotentHint: repeats === "freely" };
  return {
    name,
    title,
    description,
    annotations: { title, readOnlyHint: reads, ...(reads ? {} : changes), openWorldHint: open },
    inputSchema: inputSchema(found.input),
    outputSchema: outputSchema(found.returns),
  };
}

async function toJson<Shape extends z.ZodType>(file: string, shape: Shape): Promise<z.output<Shape>> {
  return shape.parse(JSON.parse(await readFile(new URL(file, import.meta.url), "utf8")));
}
