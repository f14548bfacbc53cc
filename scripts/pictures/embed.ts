/**
 * `npx tsx scripts/pictures/embed.ts`: writes the renderer's WebAssembly and the pictures' font into modules of `convex/pictures`. A
 * deployment consists of modules only: at run time it has no files, neither of this repository nor of packages.
 */

import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { deflateSync } from "fflate";
import { command } from "../command";

const root = new URL("../..", import.meta.url);

/** The modules' content, by file. */
export async function embeddedModules(): Promise<Record<string, string>> {
  const wasm = await readFile(createRequire(import.meta.url).resolve("@resvg/resvg-wasm/index_bg.wasm"));
  const [regular, semibold] = await Promise.all(
    [400, 600].map((weight) => readFile(new URL(`assets/inter/inter-latin-${weight}-normal.woff2`, root))),
  );
  return {
    "convex/pictures/rendererBytes.ts": buildModule("WebAssembly of @resvg/resvg-wasm, deflated", {
      RENDERER: deflateSync(wasm, { level: 9 }),
    }),
    "convex/pictures/fontBytes.ts": buildModule("Inter (assets/inter/LICENSE) as WOFF2", {
      REGULAR: regular ?? Buffer.alloc(0),
      SEMIBOLD: semibold ?? Buffer.alloc(0),
    }),
  };
}

function buildModule(what: string, bytes: Record<string, Uint8Array>): string {
  const exported = Object.entries(bytes).map(
    ([name, value]) => `export const ${name}: string =\n  "${Buffer.from(value).toString("base64")}";\n`,
  );
  return `/** ${what}, in base64. Written by \`npx tsx scripts/pictures/embed.ts\`. */\n\n${exported.join("\n")}`;
}

const USAGE = `Usage: npx tsx scripts/pictures/embed.ts

Writes the renderer's WebAssembly and the font of the pictures into modules of convex/pictures.`;

if (process.argv[1] === fileURLToPath(import.meta.url))
  await command({ usage: USAGE, flags: {} }, async () => {
    for (const [file, source] of Object.entries(await embeddedModules())) {
      await writeFile(new URL(file, root), source);
      console.log(`${file}: ${source.length} characters`);
    }
  });
