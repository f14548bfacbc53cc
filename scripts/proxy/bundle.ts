import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import * as z from "zod";
import { endpoints } from "../../convex/http";
import type { BuiltIn, Operation } from "./interface";
import { inputSchema, outputSchema } from "./schemas";
import type { Tool } from "./tool";
import { tools } from "./tools";

/** Writes the proxy as one file that needs nothing but Node. The tools' schemas are made from the endpoints' here. */
export async function bundle(outfile: string): Promise<void> {
  const packageFile = new URL("../../package.json", import.meta.url);
  const { version, config } = packageShape.parse(JSON.parse(await readFile(packageFile, "utf8")));
  const builtIn: BuiltIn = {
    version,
    serviceUrl: config.serviceUrl,
    operations: Object.fromEntries(tools.map((tool) => [tool.name, operationOf(tool)])),
  };
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
    logLevel: "warning",
  });
}

const packageShape = z.object({ version: z.string(), config: z.object({ serviceUrl: z.url() }) });

/** @throws Error when the service has no such endpoint. */
function operationOf({ name, endpoint: { method, path } }: Tool): Operation {
  const found = endpoints.find((one) => one.path === path && one.methods.includes(method));
  if (found === undefined) throw new Error(`${name}: the service has no ${method} ${path}`);
  return { input: inputSchema(found.input), output: outputSchema(found.returns) };
}
