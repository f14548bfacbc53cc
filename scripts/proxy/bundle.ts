import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { ListToolsResult } from "@modelcontextprotocol/sdk/types.js";
import { Ajv } from "ajv";
import standalone from "ajv/dist/standalone";
import { build, type Plugin } from "esbuild";
import * as z from "zod";
import { endpoints } from "../../convex/endpoints";
import type { BuiltIn, ObjectSchema } from "./interface";
import { inputSchema, outputSchema } from "./schemas";
import type { Tool } from "./tool";
import { tools } from "./tools";

/**
 * Writes the proxy as one file that needs nothing but Node. The tools' schemas are made from the endpoints' here, and
 * those of the answers compiled, so that no process has to.
 */
export async function bundle(outfile: string): Promise<void> {
  const packageFile = new URL("../../package.json", import.meta.url);
  const { version, config } = packageShape.parse(JSON.parse(await readFile(packageFile, "utf8")));
  const builtIn: BuiltIn = { version, serviceUrl: config.serviceUrl };
  const operations = tools.map((tool) => ({ tool, ...operationOf(tool) }));
  const listing: ListToolsResult = { tools: operations.map(listed) };
  await build({
    entryPoints: [fileURLToPath(new URL("main.ts", import.meta.url))],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
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

const packageShape = z.object({ version: z.string(), config: z.object({ serviceUrl: z.url() }) });

type Operation = { tool: Tool; input: ObjectSchema; output: ObjectSchema };

/** @throws Error when the service has no such endpoint. */
function operationOf({ name, endpoint: { method, path } }: Tool): Omit<Operation, "tool"> {
  const found = endpoints.find((one) => one.path === path && one.methods.includes(method));
  if (found === undefined) throw new Error(`${name}: the service has no ${method} ${path}`);
  return { input: inputSchema(found.input), output: outputSchema(found.returns) };
}

function listed({ tool, input, output }: Operation): ListToolsResult["tools"][number] {
  const { name, title, description, hints, structured } = tool;
  const described = { name, title, description, inputSchema: input, annotations: hints };
  return structured ? { ...described, outputSchema: output } : described;
}

/**
 * Source of `built:operations`: clients hold structured answers against their schema, so the proxy does before. Formats
 * are the service's own affair.
 */
function operationsModule(operations: readonly Operation[]): string {
  const ajv = new Ajv({
    strict: false,
    validateFormats: false,
    validateSchema: false,
    code: { source: true, esm: true, lines: false },
  });
  const checked = operations.filter(({ tool }) => tool.structured);
  for (const { tool, output } of checked) ajv.addSchema(output, tool.name);
  const checks = standalone(ajv, Object.fromEntries(checked.map(({ tool: { name } }) => [name, name])));
  const entries = operations.map(({ tool, input }) => {
    const texts = Object.entries(input.properties).flatMap(([name, { type }]) =>
      type === "string" ? [name] : [],
    );
    return `${tool.name}: { check: ${tool.structured ? tool.name : null}, texts: ${JSON.stringify(texts)} }`;
  });
  return `${checks.replaceAll(UNREAD, "")}\nexport const operations = { ${entries.join(", ")} };`;
}

/** What a compiled check says of a fault beside its place and its words: nobody reads it, and it would be a quarter of the file. */
const UNREAD = /,schemaPath:"[^"]*",keyword:"\w+",params:\{[^{}]*\}/g;

/** Modules that are made here instead of read from files. */
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
