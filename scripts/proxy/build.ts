import { chmod, copyFile, mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle";

/**
 * `npm run build`: makes `dist/proxy.js`, the command that `package.json` names, and the same for the proxy's own
 * package. npm runs it after every install of the repository, and before it packs the proxy.
 */

if (process.argv.includes("--help")) {
  console.log("Usage: npm run build\n\nMakes dist/proxy.js, the stdio proxy for AI clients.");
  process.exit(0);
}

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const [own, packed, readOnly] = [at("../../dist/proxy.js"), at("dist/proxy.js"), at("dist/readOnly.js")];
await bundle(own);
await mkdir(at("dist"), { recursive: true });
await copyFile(own, packed);
await writeFile(
  readOnly,
  '#!/usr/bin/env node\nprocess.argv.push("--read-only");\nawait import("./proxy.js");\n',
);
for (const file of [own, packed, readOnly]) await chmod(file, 0o755);
await copyFile(at("../../LICENSE"), at("LICENSE"));
