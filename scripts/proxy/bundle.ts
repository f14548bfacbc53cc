import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { ListToolsResult } from "@modelcontextprotocol/server";
import { build } from "esbuild";
import * as z from "zod";
import { endpoints } from "../../convex/endpoints";
import { inputSchema, outputSchema } from "./schemas";
import type { About } from "./kit";
import type { BuiltIn } from "./server";
import { tools, type Tool } from "./tools";

/**
 * Writes the proxy as one file that needs nothing but Node. The tools' schemas are made from the endpoints' here, not in
 * each process.
 */
export async function bundle(outfile: string): Promise<{ about: About; builtIn: BuiltIn }> {
  const root = await jsonOf("../../package.json", z.object({ config: z.object({ serviceUrl: z.url() }) }));
  const about = await jsonOf("package.json", aboutShape);
  const { name, version } = about;
  const builtIn: BuiltIn = { name, version, serviceUrl: root.config.serviceUrl, listing: toolList() };
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

const aboutShape = z.object({
  name: z.string(),
  version: z.string().regex(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/),
  // What the registry takes.
  description: z.string().max(100),
  license: z.string(),
  mcpName: z.string().regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
});

/** The answer to `tools/list`. */
function toolList(): ListToolsResult {
  return { tools: tools.map(listed) };
}

function listed(tool: Tool): ListToolsResult["tools"][number] {
  const { name, title, description, reads, destructive, open, repeats } = tool;
  const { method, path } = tool.endpoint;
  const found = endpoints.find((one) => one.path === path && one.methods.includes(method));
  if (found === undefined) throw new Error(`${name}: the service has no ${method} ${path}`);
  const annotations = reads
    ? { readOnlyHint: true, openWorldHint: open }
    : {
        readOnlyHint: false,
        destructiveHint: destructive,
        idempotentHint: repeats === "freely",
        openWorldHint: open,
      };
  return {
    ...{ name, title, description, annotations },
    inputSchema: inputSchema(found.input),
    outputSchema: outputSchema(found.returns),
  };
}

async function jsonOf<Shape extends z.ZodType>(file: string, shape: Shape): Promise<z.output<Shape>> {
  return shape.parse(JSON.parse(await readFile(new URL(file, import.meta.url), "utf8")));
}
