import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { ListToolsResult } from "@modelcontextprotocol/sdk/types.js";
import { build, type Plugin } from "esbuild";
import * as z from "zod";
import { endpoints } from "../../convex/endpoints";
import type { BuiltIn, ObjectSchema } from "./interface";
import { inputSchema } from "./schemas";
import type { Tool } from "./tool";
import { tools } from "./tools";

/**
 * Writes the proxy as one file that needs nothing but Node. The tools' input schemas are made from the endpoints' here,
 * not in each process. Schemas of answers are only in the API document, because a model would pay for them at every
 * start of a chat.
 */
export async function bundle(outfile: string): Promise<void> {
  const { config } = packageShape.parse(JSON.parse(await readFile(ROOT_PACKAGE, "utf8")));
  const { name, version } = await proxyPackage();
  const builtIn: BuiltIn = { name, version, serviceUrl: config.serviceUrl };
  const operations = tools.map((tool) => ({ tool, input: inputOf(tool) }));
  const listing = toolList();
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
    banner: { js: "#!/usr/bin/env node" },
    define: { BUILT_IN: JSON.stringify(builtIn) },
    plugins: [
      written({
        "built:listing": `export const listing = ${JSON.stringify(listing)};`,
        "built:operations": operationsModule(operations),
      }),
    ],
    logLevel: "warning",
  });
}

export function toolList(): ListToolsResult {
  return { tools: tools.map((tool) => listed({ tool, input: inputOf(tool) })) };
}

const ROOT_PACKAGE = new URL("../../package.json", import.meta.url);
const packageShape = z.object({ config: z.object({ serviceUrl: z.url() }) });
const proxyShape = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  engines: z.object({ node: z.string() }),
  mcpName: z.string(),
});

/** The proxy's own package.json. */
export async function proxyPackage(): Promise<z.output<typeof proxyShape>> {
  return proxyShape.parse(JSON.parse(await readFile(new URL("package.json", import.meta.url), "utf8")));
}

type Operation = { tool: Tool; input: ObjectSchema };

/** @throws Error when the service has no such endpoint. */
function inputOf({ name, endpoint: { method, path } }: Tool): ObjectSchema {
  const found = endpoints.find((one) => one.path === path && one.methods.includes(method));
  if (found === undefined) throw new Error(`${name}: the service has no ${method} ${path}`);
  return inputSchema(found.input);
}

function listed({ tool, input }: Operation): ListToolsResult["tools"][number] {
  const { name, title, description, hints } = tool;
  const { readOnlyHint, openWorldHint } = hints;
  // The other two hints only mean something for a tool that changes something.
  const annotations = readOnlyHint ? { readOnlyHint, openWorldHint } : hints;
  return { name, title, description, inputSchema: input, annotations };
}

/** Source of `built:operations`. */
function operationsModule(operations: readonly Operation[]): string {
  const entries = operations.map(({ tool, input }) => {
    const texts = Object.entries(input.properties).flatMap(([name, { type }]) =>
      type === "string" ? [name] : [],
    );
    return `${tool.name}: { texts: ${JSON.stringify(texts)} }`;
  });
  return `export const operations = { ${entries.join(", ")} };`;
}

/** Modules that are generated here instead of read from files. */
function written(modules: Readonly<Record<string, string>>): Plugin {
  return {
    name: "written modules",
    setup(builds) {
      builds.onResolve({ filter: /^built:/ }, ({ path }) => ({ path, namespace: "written" }));
      builds.onLoad({ filter: /.*/, namespace: "written" }, ({ path }) => ({
        contents: modules[path] ?? "",
        resolveDir: fileURLToPath(new URL(".", import.meta.url)),
      }));
    },
  };
}
