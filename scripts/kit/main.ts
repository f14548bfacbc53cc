import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { strToU8, zipSync } from "fflate";
import { proxyPackage, toolList } from "../proxy/bundle";
import { bundleManifest, registryEntry } from "./registry";

/**
 * `npm run build:kit -- [FOLDER]`: everything for clients, in `dist/kit` or FOLDER: the proxy's tarball, its entry for
 * the MCP registry, and its bundle for desktop clients. A typed client is one line: npx openapi-typescript URL/openapi.json.
 */

if (process.argv.includes("--help")) {
  console.log(
    "Usage: npm run build:kit [-- FOLDER]\n\nWrites the files that clients are given into dist/kit, or into FOLDER.",
  );
  process.exit(0);
}

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const folder = resolve(process.argv[2] ?? at("../../dist/kit"));
const about = await proxyPackage();
const { name, version } = about;

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
await pack(at("../proxy"));

const [proxy, license] = await Promise.all([
  readFile(at("../proxy/dist/proxy.js")),
  readFile(at("../../LICENSE")),
]);
const manifest = bundleManifest(about, toolList().tools);
const bundle = zipSync({
  "manifest.json": strToU8(JSON.stringify(manifest, null, 2)),
  "server/proxy.js": new Uint8Array(proxy),
  "server/package.json": strToU8('{ "type": "module" }\n'),
  LICENSE: new Uint8Array(license),
});
await writeFile(join(folder, `${name}-${version}.mcpb`), bundle);
await writeJson("server.json", registryEntry(about));

console.log(`${folder} has the kit of ${name} ${version}`);
console.log(`sha256 of the .mcpb: ${createHash("sha256").update(bundle).digest("hex")}`);

async function pack(source: string): Promise<void> {
  await promisify(execFile)("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: source });
}

async function writeJson(file: string, value: unknown): Promise<void> {
  await writeFile(join(folder, file), `${JSON.stringify(value, null, 2)}\n`);
}
