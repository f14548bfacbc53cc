import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import * as z from "zod";
import { stdioTools } from "../../convex/tools/list";
import { buildToolSchemas } from "../reference/toolSchemas";
import { TITLE } from "../../convex/lib/version";
import { aboutShape, type About, type BuiltIn } from "./kit";

/**
 * Writes the proxy as one file that needs nothing but Node. What it can know beforehand, such as the tools' schemas, is
 * made from the service here, not in each process.
 */
export async function bundle(outfile: string): Promise<{ about: About; serviceUrl: string }> {
  const root = await toJson("../../package.json", z.object({ config: z.object({ serviceUrl: z.url() }) }));
  const about = await toJson("package.json", aboutShape);
  const builtIn: BuiltIn = {
    name: about.name,
    version: about.version,
    title: TITLE,
    serviceUrl: root.config.serviceUrl,
    schemas: buildToolSchemas(stdioTools),
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
  return { about, serviceUrl: builtIn.serviceUrl };
}

async function toJson<Shape extends z.ZodType>(file: string, shape: Shape): Promise<z.output<Shape>> {
  return shape.parse(JSON.parse(await readFile(new URL(file, import.meta.url), "utf8")));
}
