import { chmod, copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle";
import { mcpBundle, registryEntry } from "./kit";

/**
 * `npm run build`: makes `dist/proxy.js`, the command that `package.json` names, and beside it what clients' directories
 * ask for: `server.json`, the entry in the MCP registry, and `proxy.mcpb`, the bundle for desktop clients. The proxy's own
 * package gets the program, too. npm runs it after every install of the repository, and before it packs the proxy.
 */

if (process.argv.includes("--help")) {
  console.log(
    "Usage: npm run build\n\nMakes dist/proxy.js, the stdio proxy for AI clients, its server.json and proxy.mcpb.",
  );
  process.exit(0);
}

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const [own, packed, readOnly] = [at("../../dist/proxy.js"), at("dist/proxy.js"), at("dist/readOnly.js")];
const { about, builtIn } = await bundle(own);
await writeFile(at("../../dist/server.json"), `${JSON.stringify(registryEntry(about), null, 2)}\n`);
await writeFile(at("../../dist/proxy.mcpb"), mcpBundle(about, builtIn, new Uint8Array(await readFile(own))));
await mkdir(at("dist"), { recursive: true });
await copyFile(own, packed);
await writeFile(
  readOnly,
  '#!/usr/bin/env node\nprocess.argv.push("--read-only");\nawait import("./proxy.js");\n',
);
for (const file of [own, packed, readOnly]) await chmod(file, 0o755);
await copyFile(at("../../LICENSE"), at("LICENSE"));
